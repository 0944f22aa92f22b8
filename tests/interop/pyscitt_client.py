"""Send a request to a service with pyscitt's client, in a separate environment.

Read a JSON request from standard input, and write a JSON answer to standard output.
"""

import json
import sys

from pyscitt import crypto
from pyscitt.client import Client

request = json.load(sys.stdin)
client = Client(request["url"], development=True)
if "sign" in request:
    signer = crypto.Signer(
        request["sign"]["key"], request["sign"]["issuer"], x5c=[request["sign"]["certificate"]]
    )
    statement = crypto.sign_statement(
        signer, b"signed by pyscitt", "text/plain", request["sign"]["subject"], cwt=True
    )
else:
    statement = bytes.fromhex(request["statement"])
receipt = client.submit_signed_statement_and_wait_for_receipt(statement)
transparent = client.submit_signed_statement_and_wait(statement)
json.dump(
    {
        "statement": statement.hex(),
        "receipt": receipt.response_bytes.hex(),
        "transparent": transparent.response_bytes.hex(),
        "keys": len(client.get_scitt_keys()),
    },
    sys.stdout,
)
