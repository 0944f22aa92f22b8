"""Verify receipts in the profile of CCF with the packages ccf and pyscitt, in their environment.

Read a JSON request from standard input, and write a JSON answer to standard output: for each
statement, whether each package accepts its receipt, or the error.
"""

import hashlib
import json
import sys

import cbor2
import ccf.receipt
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pyscitt.verify import TrustStore, verify_transparent_statement

REQUEST = json.load(sys.stdin)
KEY = load_pem_public_key(REQUEST["key"].encode())


class OneKey(TrustStore):
    """Trusts the key in the request."""

    @property
    def services(self):
        return {}

    def get_key(self, _):
        return KEY


def check_with_ccf(statement, transparent):
    (receipt,) = cbor2.loads(transparent).value[1][394]
    ccf.receipt.verify_cose(receipt, KEY, hashlib.sha256(statement).digest())


def check_with_pyscitt(statement, transparent):
    (details,) = verify_transparent_statement(transparent, OneKey(), statement)
    return details["regtxid"]


def find_outcome(check, *arguments):
    try:
        return check(*arguments) or True
    except Exception as error:  # noqa: BLE001 - any error of a package is its answer
        return {"error": f"{type(error).__name__}: {error}"}


answers = []
for item in REQUEST["all"]:
    arguments = bytes.fromhex(item["statement"]), bytes.fromhex(item["transparent"])
    answers.append(
        [find_outcome(check, *arguments) for check in (check_with_ccf, check_with_pyscitt)]
    )
json.dump(answers, sys.stdout)
