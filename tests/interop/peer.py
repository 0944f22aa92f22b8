"""Sign and verify COSE_Sign1 with other Python libraries, in a separate environment.

Read a JSON request from standard input, and write a JSON answer to standard output.
"""

import json
import sys

REQUEST = json.load(sys.stdin)
PAYLOAD = bytes.fromhex(REQUEST.get("payload", ""))


def load_pycose_key(pem):
    from cryptography.hazmat.primitives import serialization
    from pycose.keys import EC2Key, OKPKey

    if REQUEST["op"] == "sign":
        private = serialization.load_pem_private_key(pem, None)
        public = private.public_key()
    else:
        private, public = None, serialization.load_pem_public_key(pem)
    if REQUEST["alg"] == "ES256":
        numbers = public.public_numbers()
        d = private.private_numbers().private_value.to_bytes(32, "big") if private else b""
        return EC2Key(
            crv="P_256", x=numbers.x.to_bytes(32, "big"), y=numbers.y.to_bytes(32, "big"), d=d
        )
    return OKPKey(
        crv="ED25519",
        x=public.public_bytes_raw(),
        d=private.private_bytes_raw() if private else b"",
    )


def sign_with_pycose():
    from pycose.algorithms import EdDSA, Es256
    from pycose.headers import Algorithm
    from pycose.messages import Sign1Message

    message = Sign1Message(phdr={Algorithm: EdDSA if REQUEST["alg"] == "EdDSA" else Es256})
    message.key = load_pycose_key(REQUEST["key"].encode())
    if REQUEST["form"] == "detached":
        return message.encode(detached_payload=PAYLOAD).hex()
    message.payload = PAYLOAD
    return message.encode().hex()


def verify_with_pycose():
    from pycose.messages import CoseMessage

    message = CoseMessage.decode(bytes.fromhex(REQUEST["statement"]))
    message.key = load_pycose_key(REQUEST["key"].encode())
    detached = (
        {"detached_payload": bytes.fromhex(REQUEST["detached"])} if "detached" in REQUEST else {}
    )
    if not message.verify_signature(**detached):
        raise ValueError("not signed by this key")
    return True


def sign_with_cwt():
    from cwt import COSE, COSEKey

    key = COSEKey.from_pem(REQUEST["key"], alg=REQUEST["alg"])
    return (
        COSE.new()
        .encode(
            PAYLOAD, key, protected={1: {"EdDSA": -8, "ES256": -7}[REQUEST["alg"]]}, unprotected={}
        )
        .hex()
    )


def verify_with_cwt():
    from cwt import COSE, COSEKey

    key = COSEKey.from_pem(
        REQUEST["key"], alg=REQUEST["alg"], kid=bytes.fromhex(REQUEST["kid"])
    )  # The library finds the key by its id.
    detached = (
        {"detached_payload": bytes.fromhex(REQUEST["detached"])} if "detached" in REQUEST else {}
    )
    COSE.new().decode(bytes.fromhex(REQUEST["statement"]), key, **detached)
    return True


def verify_token_with_cwt():
    """Verify a CWT, and return some of its claims."""
    import cwt

    key = cwt.COSEKey.from_pem(
        REQUEST["key"], alg=REQUEST["alg"], kid=bytes.fromhex(REQUEST["kid"])
    )
    claims = cwt.decode(bytes.fromhex(REQUEST["statement"]), key)
    return {
        "profile": claims[265],
        "nonce": claims.get(10, b"").hex(),
        "modules": sorted(claims.get(266, {})),
    }


def sign_with_scitt_cose():
    from scitt_cose import build_signed_statement

    return build_signed_statement(
        PAYLOAD,
        alg=REQUEST["alg"],
        private_key_pem=REQUEST["key"],
        issuer="https://example.org",
        subject="urn:example:it",
        content_type="application/json",
        kid=bytes.fromhex(REQUEST["kid"]),
    ).hex()


def verify_with_scitt_cose():
    from scitt_cose import verify_sign1

    detached = (
        {"detached_payload": bytes.fromhex(REQUEST["detached"])} if "detached" in REQUEST else {}
    )
    verify_sign1(bytes.fromhex(REQUEST["statement"]), public_key_pem=REQUEST["key"], **detached)
    return True


def check_receipts_with_scitt_cose():
    """Verify the receipt in each statement; `entry` is the log entry of the statement."""
    from scitt_cose import extract_receipts, verify_receipt

    answers = []
    for item in REQUEST["all"]:
        (receipt,) = extract_receipts(bytes.fromhex(item["statement"]))
        result = verify_receipt(
            receipt, leaf_entry_hex=item["entry"], log_public_key_pem=REQUEST["key"]
        )
        answers.append(result.ok or "; ".join(result.errors))
    return answers


def check_consistency_with_scitt_cose():
    """Verify consistency receipts.

    The library has no function for a whole receipt, so check the signature over the root and the
    proof separately.
    """
    import cbor2
    from scitt_cose import CoseError, verify_consistency, verify_sign1

    answers = []
    for item in REQUEST["all"]:
        receipt = bytes.fromhex(item["receipt"])
        try:
            verify_sign1(
                receipt,
                public_key_pem=REQUEST["key"],
                detached_payload=bytes.fromhex(item["newer"]),
            )
        except CoseError as error:
            answers.append(str(error))
            continue
        (proof,) = cbor2.loads(receipt).value[1][396][-2]
        older, newer, path = cbor2.loads(proof)
        answers.append(
            verify_consistency(
                item["older"], item["newer"], older, newer, [node.hex() for node in path]
            )
        )
    return answers


def issue_receipts_with_scitt_cose():
    """Return statements with receipts; each receipt is for a tree of log entries."""
    from scitt_cose import attach_receipts, build_receipt

    statements = []
    for item in REQUEST["all"]:
        receipt = build_receipt(
            leaf_entry_hex=item["entries"][item["index"]],
            leaf_index=item["index"],
            tree_entries_hex=item["entries"],
            alg=REQUEST["alg"],
            log_private_key_pem=REQUEST["key"],
            iss="https://log.example",
            sub="log.example",
            kid=bytes.fromhex(REQUEST["kid"]),
            iat=1_700_000_000,
        )
        statements.append(
            attach_receipts(bytes.fromhex(item["statements"][item["index"]]), [receipt]).hex()
        )
    return statements


OPERATIONS = {
    ("pycose", "sign"): sign_with_pycose,
    ("pycose", "verify"): verify_with_pycose,
    ("cwt", "sign"): sign_with_cwt,
    ("cwt", "verify"): verify_with_cwt,
    ("cwt", "token"): verify_token_with_cwt,
    ("scitt_cose", "sign"): sign_with_scitt_cose,
    ("scitt_cose", "verify"): verify_with_scitt_cose,
    ("scitt_cose", "check"): check_receipts_with_scitt_cose,
    ("scitt_cose", "check_consistency"): check_consistency_with_scitt_cose,
    ("scitt_cose", "issue"): issue_receipts_with_scitt_cose,
}

try:
    operation = OPERATIONS[REQUEST["peer"], REQUEST["op"]]
    print(json.dumps({"result": operation()}))
except Exception as error:  # noqa: BLE001 - any error of a library is its answer
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
