"""A log in memory: a real tree that signs its roots."""

from vacr.receipts import receipt, tree
from vacr.receipts.entries import STATEMENT, entry_of
from vacr.receipts.tiles import Growing, Tile
from vacr.signing import KeySigner, keys
from vacr.signing.sign1 import parse


class Log:
    """Adds entries, and writes receipts for them."""

    def __init__(
        self,
        name="https://log.example",
        *,
        kind="es256",
        rule=STATEMENT,
        began=1_700_000_000,
        genesis=True,
    ):
        self.name, self.rule, self.time = name, rule, began
        self.signer = KeySigner(keys.generate(kind))
        self.tiles = {}
        self.tree = Growing(0, [], lambda level, number: Tile(self.tiles[level, number]))
        self.places = {}
        if genesis:
            self.tree.add(tree.leaf_hash(b"the first entry"))

    @property
    def key(self):
        return self.signer.public_key

    def add(self, statement):
        """Add a statement, unless it is there; give its place."""
        entry = entry_of(parse(statement), self.rule)
        if entry not in self.places:
            self.places[entry] = self.tree.add(tree.leaf_hash(entry))
            self.tiles.update({place: tile.encode() for place, tile in self.tree.settle().items()})
        return self.places[entry]

    def fill(self, count):
        for number in range(count):
            self.tree.add(tree.leaf_hash(b"another %d" % number))
        self.tiles.update({place: tile.encode() for place, tile in self.tree.settle().items()})

    def head(self, **claims):
        protected = receipt.protected_header(
            self.signer,
            claims.get("issuer", self.name),
            claims.get("subject", "log.example"),
            claims.get("time", self.time),
        )
        return receipt.sign_head(self.signer, protected, self.tree.size, self.tree.root())

    def path(self, index):
        return tree.inclusion_path(
            self.tree.node, tree.edge(self.tree.node, self.tree.size), index, self.tree.size
        )

    def receipt(self, statement, **claims):
        """Register a statement, and write its receipt."""
        index = self.add(statement)
        return self.head(**claims).inclusion(index, self.path(index))
