"""A ledger in memory that writes receipts in the profile of CCF, for tests only."""

import hashlib

import cbor2

from vacr.signing.cose import encode_sig_structure, parse_sign1
from vacr.signing.keys import KeySigner, compute_fingerprint, generate_key
from vacr.transparency.receipt import build_log_entry


def sha256(*pieces):
    return hashlib.sha256(b"".join(pieces)).digest()


class CcfLedger:
    """Adds statements as transactions, and writes receipts for them."""

    def __init__(self, name="ledger.example", *, kind="es384", began=1_700_000_000):
        self.name, self.time = name, began
        self.signer = KeySigner(generate_key(kind))
        self.transactions = []

    @property
    def key(self):
        return self.signer.public_key

    @property
    def kid(self):
        """The fingerprint of the key as hexadecimal text, in bytes."""
        return compute_fingerprint(self.key).hex().encode()

    def add(self, statement):
        """Add a statement, and return the index of its transaction."""
        return self.add_digest(sha256(build_log_entry(parse_sign1(statement))))

    def add_digest(self, digest):
        number = len(self.transactions)
        evidence = f"ce:2.{number + 1}:{sha256(b'%d' % number).hex()}"
        self.transactions.append((sha256(b"write set %d" % number), evidence, digest))
        return number

    def fill(self, count):
        for number in range(count):
            self.add_digest(sha256(b"another %d" % number))

    def leaf(self, index):
        """Return the leaf of a transaction, as it is in a proof."""
        return list(self.transactions[index])

    def path(self, index):
        """Return the path of a transaction: for each level, the side and the other hash."""
        path = []
        nodes = self._leaves()
        while len(nodes) > 1:
            sibling = index ^ 1
            if sibling < len(nodes):
                path.append([sibling < index, nodes[sibling]])
            nodes, index = _pair_up(nodes), index // 2
        return path

    def root(self):
        nodes = self._leaves()
        while len(nodes) > 1:
            nodes = _pair_up(nodes)
        return nodes[0]

    def _leaves(self):
        return [
            sha256(write_set, sha256(evidence.encode()), digest)
            for write_set, evidence, digest in self.transactions
        ]

    def header(self, **claims):
        """Return the protected header; `claims` replace the default ones, and None removes one."""
        labels = {"iss": 1, "sub": 2, "iat": 6}
        named = {1: self.name, 2: "scitt.ccf.signature.v1", 6: self.time}
        named |= {labels[name]: value for name, value in claims.items()}
        kept = {label: value for label, value in named.items() if value is not None}
        header = {1: self.signer.algorithm, 4: self.kid, 395: 2}
        if kept:
            header[15] = kept
        return header | {"ccf.v1": {"txid": f"2.{len(self.transactions) + 1}"}}

    def proof(self, index):
        return {1: self.leaf(index), 2: self.path(index)}

    def receipt(self, index, *, header=None, proofs=None, root=None, unprotected=None, signer=None):
        """Encode the receipt of a transaction; it is valid except for the arguments."""
        protected = cbor2.dumps(self.header() if header is None else header)
        encoded = [cbor2.dumps(self.proof(index))] if proofs is None else proofs
        data = encode_sig_structure(protected, self.root() if root is None else root)
        signature = (signer or self.signer).sign(data)
        unprotected = {396: {-1: encoded}} if unprotected is None else unprotected
        return cbor2.dumps(cbor2.CBORTag(18, [protected, unprotected, None, signature]))


def _pair_up(nodes):
    """Return the nodes of the next level; a node without a partner moves up."""
    return [
        sha256(*nodes[start : start + 2]) if start + 1 < len(nodes) else nodes[start]
        for start in range(0, len(nodes), 2)
    ]
