"""A log in memory: a real tree that signs its roots."""

from vacr.signing.cose import parse_sign1
from vacr.signing.keys import KeySigner, generate_key
from vacr.transparency.receipt import (
    ENTRY_RULE_STATEMENT,
    build_log_entry,
    encode_receipt_header,
    sign_tree_head,
)
from vacr.transparency.tree import (
    GrowingTree,
    Tile,
    build_inclusion_path,
    compute_right_edge,
    hash_leaf,
)


class Log:
    """Adds entries, and writes receipts for them."""

    def __init__(
        self,
        name="https://log.example",
        *,
        kind="es256",
        rule=ENTRY_RULE_STATEMENT,
        began=1_700_000_000,
        genesis=True,
    ):
        self.name, self.rule, self.time = name, rule, began
        self.signer = KeySigner(generate_key(kind))
        self.tiles = {}
        self.tree = GrowingTree(0, [], lambda level, number: Tile(self.tiles[level, number]))
        self.places = {}
        if genesis:
            self.tree.add(hash_leaf(b"the first entry"))

    @property
    def key(self):
        return self.signer.public_key

    def add(self, statement):
        """Add a statement unless it is in the log, and return its index."""
        entry = build_log_entry(parse_sign1(statement), self.rule)
        if entry not in self.places:
            self.places[entry] = self.tree.add(hash_leaf(entry))
            self.tiles.update({place: tile.encode() for place, tile in self.tree.settle().items()})
        return self.places[entry]

    def fill(self, count):
        for number in range(count):
            self.tree.add(hash_leaf(b"another %d" % number))
        self.tiles.update({place: tile.encode() for place, tile in self.tree.settle().items()})

    def head(self, **claims):
        protected = encode_receipt_header(
            self.signer,
            claims.get("issuer", self.name),
            claims.get("subject", "log.example"),
            claims.get("time", self.time),
        )
        return sign_tree_head(self.signer, protected, self.tree.size, self.tree.root())

    def path(self, index):
        return build_inclusion_path(
            self.tree.find_node,
            compute_right_edge(self.tree.find_node, self.tree.size),
            index,
            self.tree.size,
        )

    def receipt(self, statement, **claims):
        """Register a statement, and write its receipt."""
        index = self.add(statement)
        return self.head(**claims).inclusion(index, self.path(index))
