"""A TPM in software that the tests of this folder share."""

import tempfile
from pathlib import Path

import pytest

from tests.evidence.software_tpm import running


@pytest.fixture(scope="session")
def software_tpm():
    """Run a TPM; gives how it is reached, and the folder in which its maker's certificates are."""
    # The path of a socket has no more than some hundred characters, which pytest's own folders may
    # have.
    with tempfile.TemporaryDirectory(prefix="tpm-") as folder, running(Path(folder)) as tcti:
        yield tcti, Path(folder)
