"""What makes a signature: a key at hand, or one that another device keeps. Step: sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vacr.errors import UsageError
from vacr.signing.algorithms import ALGORITHMS, PrivateKey, PublicKey, default_for


class Signer(Protocol):
    """What `sign` asks for a signature."""

    @property
    def algorithm(self) -> int:
        """The COSE number of the algorithm."""
        ...

    @property
    def public_key(self) -> PublicKey:
        """The key that verifies."""
        ...

    def sign(self, data: bytes) -> bytes:
        """Sign bytes, in the form that COSE has for the algorithm."""
        ...


@dataclass(frozen=True)
class KeySigner:
    """Signs with a private key; its algorithm is the usual one of the key unless it is named."""

    key: PrivateKey
    number: int | None = None

    def __post_init__(self) -> None:
        """Check that the algorithm takes the key.

        Raises:
            UsageError: it does not.
        """
        if self.number is not None and not ALGORITHMS[self.number].fits(self.public_key):
            raise UsageError(f"{ALGORITHMS[self.number].name} takes no key of this kind")

    def __repr__(self) -> str:
        """Say nothing about the key."""
        return f"KeySigner({ALGORITHMS[self.algorithm].name})"

    @property
    def algorithm(self) -> int:
        """The COSE number of the algorithm."""
        return default_for(self.public_key) if self.number is None else self.number

    @property
    def public_key(self) -> PublicKey:
        """The key that verifies."""
        return self.key.public_key()

    def sign(self, data: bytes) -> bytes:
        """Sign bytes."""
        return ALGORITHMS[self.algorithm].sign(self.key, data)
