"""Check exports with other libraries, in an environment of their own.

Read one JSON request per line, and write one JSON answer per line.
"""

import json
import sys


def json_schema(asked):
    """Check a document against a JSON Schema, and return the errors, or None."""
    from jsonschema import Draft202012Validator

    found = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(asked["schema"]).iter_errors(asked["document"])
    ]
    return found or None


def otlp(asked):
    """Read a trace by the protocol's own message types, and summarise its spans."""
    from base64 import b64encode

    from google.protobuf.json_format import ParseDict
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    document = asked["document"]
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                # OTLP writes ids in hexadecimal, where the usual mapping to JSON has base64.
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = b64encode(bytes.fromhex(span[name])).decode()
    found = ParseDict(document, TracesData())
    spans = [
        span
        for resource in found.resource_spans
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


def dsse(asked):
    """Verify an envelope by a public key, and return its payload, or None."""
    from base64 import b64decode

    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import VerificationError
    from securesystemslib.signer import SSlibKey

    envelope = asked["envelope"]
    key = SSlibKey.from_crypto(
        load_pem_public_key(asked["key"].encode()), keyid=envelope["signatures"][0]["keyid"]
    )
    payload = b64decode(envelope["payload"], validate=True).decode()
    try:
        Envelope.from_dict(envelope).verify([key], 1)
    except VerificationError:
        return None
    return payload


for line in sys.stdin:
    request = json.loads(line)
    print(json.dumps(globals()[request.pop("op")](request)))
