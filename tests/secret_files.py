"""Files with secrets, such as tokens and passphrases, as a careful user stores them."""

from pathlib import Path


def write_secret(path: Path, content: bytes) -> Path:
    """Write a file that only its owner can read, and return its path."""
    path.touch(mode=0o600)
    path.chmod(0o600)
    path.write_bytes(content)
    return path
