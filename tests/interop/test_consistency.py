"""Other implementations verify consistency receipts, and all receipts of a running service."""

from contextlib import closing
from types import SimpleNamespace

import pytest

from tests.interop.test_peers import ask_peer
from tests.log.commands import vacr
from tests.log.running import Running
from tests.log.statements import statements
from vacr.log.folder import create_log
from vacr.log.ledger import TileCache, build_consistency_receipt
from vacr.signing.cose import parse_sign1
from vacr.signing.keys import parse_public_keys
from vacr.transparency.receipt import add_receipt, build_log_entry
from vacr.transparency.tree import compute_root, make_node_lookup

SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 12)
PEERS = ("transmute", "scitt_cose")
STATEMENTS = statements(max(SIZES) - 1)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Register statements one by one in a service; return the log and its responses."""
    log = create_log(str(tmp_path_factory.mktemp("served") / "log"))
    with Running(log.path) as service:
        at_once = [add_receipt(statement, service.post(statement)[2]) for statement in STATEMENTS]
        later = [service.get(f"/entries/{number}/statement")[2] for number in range(max(SIZES))]
    return log, at_once, later


def make_log_verifier(log):
    """Return the log's key in the form that `ask_peer` needs."""
    (key,) = parse_public_keys((log.path / "receipt-keys.pem").read_bytes())
    return SimpleNamespace(algorithm=-7, public_key=key)


@pytest.mark.parametrize("peer", PEERS)
def test_peers_verify_the_receipts_of_a_service(served, peer):
    log, at_once, later = served
    good = [*at_once, *later]
    bad = [
        add_receipt(STATEMENTS[number - 1], parse_sign1(transparent).unprotected[394][0])
        for number, transparent in enumerate(at_once)
    ]

    def check_receipts(statements):
        items = [
            {"statement": statement.hex(), "entry": build_log_entry(parse_sign1(statement)).hex()}
            for statement in statements
        ]
        return ask_peer(peer, "check", make_log_verifier(log), all=items)["result"]

    assert check_receipts(good) == [True] * len(good)
    assert True not in check_receipts(bad)


@pytest.mark.parametrize("peer", PEERS)
def test_peers_verify_that_a_log_only_grew(served, peer):
    log, _, _ = served
    good, bad = [], []
    with closing(log.reader()) as reading:
        find_node = make_node_lookup(TileCache(reading))
        roots = {size: compute_root(find_node, size).hex() for size in SIZES}
        for older, newer in ((older, newer) for older in SIZES for newer in SIZES if older < newer):
            if peer == "transmute" and older & (older - 1) == 0:
                continue  # It omits a step of RFC 9162, section 2.1.4.2: prepend the older root.
            receipt = build_consistency_receipt(reading, log.keyring, older, newer).hex()
            good.append({"older": roots[older], "newer": roots[newer], "receipt": receipt})
            bad.append({"older": roots[newer], "newer": roots[newer], "receipt": receipt})
            bad.append({"older": roots[older], "newer": roots[older], "receipt": receipt})
    assert ask_peer(peer, "check_consistency", make_log_verifier(log), all=good) == {
        "result": [True] * len(good)
    }
    assert (
        True not in ask_peer(peer, "check_consistency", make_log_verifier(log), all=bad)["result"]
    )


def test_peers_verify_the_receipt_of_log_prove(served, tmp_path):
    log, _, _ = served
    done = vacr("log", "prove", log.path, "--consistency", 3, 9, "-o", "3-9.cose", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with closing(log.reader()) as reading:
        find_node = make_node_lookup(TileCache(reading))
        older, newer = (compute_root(find_node, size).hex() for size in (3, 9))
    items = [
        {"older": older, "newer": newer, "receipt": (tmp_path / "3-9.cose").read_bytes().hex()}
    ]
    for peer in PEERS:
        assert ask_peer(peer, "check_consistency", make_log_verifier(log), all=items) == {
            "result": [True]
        }
