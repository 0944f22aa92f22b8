"""Check exports with other libraries, in a separate environment.

Read one JSON request per line, and write one JSON answer per line.
"""

import json
import sys


def check_json_schema(request):
    """Check a document against a JSON Schema, and return the errors, or None."""
    from jsonschema import Draft202012Validator

    errors = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(request["schema"]).iter_errors(request["document"])
    ]
    return errors or None


def summarise_otlp(request):
    """Parse a trace with the protocol's own message types, and return a summary of each span."""
    from base64 import b64encode

    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    document = request["document"]
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                # OTLP writes ids in hexadecimal; the usual JSON mapping expects base64.
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = b64encode(bytes.fromhex(span[name])).decode()
    traces = ParseDict(document, TracesData())
    spans = [
        span
        for resource in traces.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]
    return [
        [
            span.name,
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            span.status.code,
        ]
        for span in spans
    ]


def verify_dsse(request):
    """Verify an envelope with a public key, and return its payload, or None."""
    from base64 import b64decode

    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey

    envelope = request["envelope"]
    key = SSlibKey.from_crypto(
        load_pem_public_key(request["key"].encode()), keyid=envelope["signatures"][0]["keyid"]
    )
    payload = b64decode(envelope["payload"], validate=True).decode()
    try:
        Envelope.from_dict(envelope).verify([key], 1)
    except VerificationError:
        return None
    return payload


OPERATIONS = {"json_schema": check_json_schema, "otlp": summarise_otlp, "dsse": verify_dsse}

for line in sys.stdin:
    request = json.loads(line)
    answer = OPERATIONS[request.pop("op")](request)
    print(json.dumps(answer))
