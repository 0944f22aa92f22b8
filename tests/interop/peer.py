"""Sign and verify COSE_Sign1 with other Python libraries, in an environment of their own.

Read a JSON request from standard input, and write a JSON answer to standard output.
"""

import json
import sys

ASK = json.load(sys.stdin)
PAYLOAD = bytes.fromhex(ASK.get("payload", ""))


def _pycose_key(pem):
    from cryptography.hazmat.primitives import serialization
    from pycose.keys import EC2Key, OKPKey

    if ASK["op"] == "sign":
        private = serialization.load_pem_private_key(pem, None)
        public = private.public_key()
    else:
        private, public = None, serialization.load_pem_public_key(pem)
    if ASK["alg"] == "ES256":
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


def pycose_sign():
    from pycose.algorithms import EdDSA, Es256
    from pycose.headers import Algorithm
    from pycose.messages import Sign1Message

    message = Sign1Message(phdr={Algorithm: EdDSA if ASK["alg"] == "EdDSA" else Es256})
    message.key = _pycose_key(ASK["key"].encode())
    if ASK["form"] == "detached":
        return message.encode(detached_payload=PAYLOAD).hex()
    message.payload = PAYLOAD
    return message.encode().hex()


def pycose_verify():
    from pycose.messages import CoseMessage

    message = CoseMessage.decode(bytes.fromhex(ASK["statement"]))
    message.key = _pycose_key(ASK["key"].encode())
    detached = {"detached_payload": bytes.fromhex(ASK["detached"])} if "detached" in ASK else {}
    if not message.verify_signature(**detached):
        raise ValueError("not this key's")
    return True


def cwt_sign():
    from cwt import COSE, COSEKey

    key = COSEKey.from_pem(ASK["key"], alg=ASK["alg"])
    return (
        COSE.new()
        .encode(PAYLOAD, key, protected={1: {"EdDSA": -8, "ES256": -7}[ASK["alg"]]}, unprotected={})
        .hex()
    )


def cwt_verify():
    from cwt import COSE, COSEKey

    key = COSEKey.from_pem(
        ASK["key"], alg=ASK["alg"], kid=bytes.fromhex(ASK["kid"])
    )  # it looks for the key by its name
    detached = {"detached_payload": bytes.fromhex(ASK["detached"])} if "detached" in ASK else {}
    COSE.new().decode(bytes.fromhex(ASK["statement"]), key, **detached)
    return True


def cwt_token():
    """Verify a CWT, and return some of its claims."""
    import cwt

    key = cwt.COSEKey.from_pem(ASK["key"], alg=ASK["alg"], kid=bytes.fromhex(ASK["kid"]))
    claims = cwt.decode(bytes.fromhex(ASK["statement"]), key)
    return {
        "profile": claims[265],
        "nonce": claims.get(10, b"").hex(),
        "modules": sorted(claims.get(266, {})),
    }


def scitt_cose_check():
    """Verify receipts, each in a statement; `entry` is the statement's log entry."""
    from scitt_cose import extract_receipts, verify_receipt

    answers = []
    for one in ASK["all"]:
        (receipt,) = extract_receipts(bytes.fromhex(one["statement"]))
        found = verify_receipt(receipt, leaf_entry_hex=one["entry"], log_public_key_pem=ASK["key"])
        answers.append(found.ok or "; ".join(found.errors))
    return answers


def scitt_cose_check_consistency():
    """Verify consistency receipts, by their parts: a signature over a root, and a proof.

    The library has no function for the whole.
    """
    import cbor2
    from scitt_cose import CoseError, verify_consistency, verify_sign1

    answers = []
    for one in ASK["all"]:
        receipt = bytes.fromhex(one["receipt"])
        try:
            verify_sign1(
                receipt, public_key_pem=ASK["key"], detached_payload=bytes.fromhex(one["newer"])
            )
        except CoseError as error:
            answers.append(str(error))
            continue
        (proof,) = cbor2.loads(receipt).value[1][396][-2]
        older, newer, path = cbor2.loads(proof)
        answers.append(
            verify_consistency(
                one["older"], one["newer"], older, newer, [node.hex() for node in path]
            )
        )
    return answers


def scitt_cose_issue():
    """Make statements with receipts, for trees of the entries of statements."""
    from scitt_cose import attach_receipts, build_receipt

    made = []
    for one in ASK["all"]:
        receipt = build_receipt(
            leaf_entry_hex=one["entries"][one["index"]],
            leaf_index=one["index"],
            tree_entries_hex=one["entries"],
            alg=ASK["alg"],
            log_private_key_pem=ASK["key"],
            iss="https://log.example",
            sub="log.example",
            kid=bytes.fromhex(ASK["kid"]),
            iat=1_700_000_000,
        )
        made.append(
            attach_receipts(bytes.fromhex(one["statements"][one["index"]]), [receipt]).hex()
        )
    return made


try:
    print(json.dumps({"result": globals()[f"{ASK['peer']}_{ASK['op']}"]()}))
except Exception as error:  # noqa: BLE001 - whatever they raise is their answer
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
