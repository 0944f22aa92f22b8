"""A TPM in software that the tests of this folder share."""

import tempfile
from pathlib import Path

import pytest

from tests.evidence.software_tpm import running


@pytest.fixture(scope="session")
def software_tpm():
    """Run a TPM, and yield its TCTI and the folder with its maker's certificates."""
    # The path of a socket is limited to about a hundred characters; pytest's folders are longer.
    with tempfile.TemporaryDirectory(prefix="tpm-") as folder, running(Path(folder)) as tcti:
        yield tcti, Path(folder)
