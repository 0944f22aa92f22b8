"""A TPM 2.0, through the programs of tpm2-tools.

The TPM derives the attestation key from its own seed and a fixed template, the same key each time.
So no file keeps it, and it stays the same for the life of the TPM. It is restricted: it signs only
data that the TPM created.

    >>> from vacr.errors import UsageError
    >>> from vacr.evidence import Tpm
    >>> Tpm("swtpm:path=/tmp/tpm.sock", pcrs=[0, 7]).pcrs
    [0, 7]
    >>> try:
    ...     Tpm(pcrs=[24])
    ... except UsageError as error:
    ...     print(error.hint)
    The registers are 0 to 23.

The programs find the TPM by `--tcti`, or by the variable TPM2TOOLS_TCTI.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vacr.errors import Unreachable, UsageError
from vacr.evidence.endorsement import EK_ECC, EK_RSA
from vacr.evidence.tpm_structures import SignedQuote
from vacr.files import make_absolute

DEFAULT_PCRS = (0, 1, 2, 3, 4, 5, 6, 7)
"""The registers of the boot: firmware, its configuration, the boot loader, secure boot."""

_TPM_TOOL = "tpm2"
_TCTI_VARIABLE = "TPM2TOOLS_TCTI"
_TCTI_PATH = re.compile(r"(^device:|\bpath=)([^/,][^,]*)")
_KEY_TEMPLATE = ("-C", "e", "-G", "ecc256:ecdsa-sha256:null", "-g", "sha256")
_KEY_ATTRIBUTES = ("-a", "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign")
_TIMEOUT_SECONDS = 120
"""Longer than any TPM takes."""
_LAST_PCR, _PCR_SIZE = 23, 32
_SIZE_PREFIX_LENGTH = 2
_EK_CERTIFICATE_INDICES = {EK_RSA: "0x1c00002", EK_ECC: "0x1c0000a"}
"""The places of the makers' certificates (EK credential profile, section 2.2.1.4)."""
_DER_SEQUENCE, _DER_TWO_BYTE_LENGTH = 0x30, 0x82
_IGNORED_MESSAGE = re.compile(r"^(?:WARNING|WARN)|src/tss2", re.IGNORECASE)

_TPM_HINT = (
    "Name the TPM with --tcti, such as device:/dev/tpmrm0, or swtpm:path=FILE for a running swtpm "
    "with its control channel at FILE.ctrl. You need permission to use the TPM."
)


@dataclass(frozen=True)
class Tpm:
    """A TPM that returns quotes over some of its registers."""

    tcti: str | None = None
    """The connection to the TPM, such as `device:/dev/tpmrm0`; if None, TPM2TOOLS_TCTI."""
    pcrs: Sequence[int] = DEFAULT_PCRS
    """The numbers of the registers to quote."""

    def __post_init__(self) -> None:
        """Check the numbers of the registers.

        Raises:
            UsageError: a TPM has no such register, or the list is empty.
        """
        for register in self.pcrs:
            if not 0 <= register <= _LAST_PCR:
                raise UsageError(
                    f"a TPM has no register {register}", hint=f"The registers are 0 to {_LAST_PCR}."
                )
        if not self.pcrs:
            raise UsageError("no registers to quote", hint="For example: --pcrs 0,1,7")

    def attestation_key(self) -> bytes:
        """Return the public part of the attestation key (`TPMT_PUBLIC`).

        Raises:
            Unreachable: the TPM does not answer.
        """
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as folder:
            return self._make_key(Path(folder))

    def quote(self, qualifying_data: bytes) -> SignedQuote:
        """Return a quote: the TPM's signature over its registers and some qualifying data.

        Raises:
            Unreachable: the TPM does not return a quote.
        """
        registers = sorted(set(self.pcrs))
        selection = "sha256:" + ",".join(map(str, registers))
        inputs = ("-c", "key", "-l", selection, "-q", qualifying_data.hex(), "-g", "sha256")
        outputs = ("-m", "quote", "-s", "signature", "-f", "tss", "-o", "pcrs", "-F", "values")
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as name:
            folder = Path(name)
            key = self._make_key(folder)
            try:
                self._run(folder, "quote", *inputs, *outputs)
            finally:
                self._unload_keys(folder)
            pcrs = (folder / "pcrs").read_bytes()
            if len(pcrs) != _PCR_SIZE * len(registers):
                raise Unreachable(
                    "the TPM has no SHA-256 registers", hint="To see its registers: tpm2 pcrread"
                )
            values = {
                register: pcrs[_PCR_SIZE * place : _PCR_SIZE * (place + 1)]
                for place, register in enumerate(registers)
            }
            return SignedQuote(
                (folder / "quote").read_bytes(), (folder / "signature").read_bytes(), key, values
            )

    def ek_certificate(self) -> bytes:
        """Return the certificate of the endorsement key, in DER, that the maker stored in the TPM.

        Raises:
            Unreachable: the TPM has no such certificate, or it cannot be read.
        """
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as name:
            folder, first_problem = Path(name), ""
            for index in _EK_CERTIFICATE_INDICES.values():
                try:
                    self._run(folder, "nvread", index, "-o", "certificate")
                except Unreachable as error:
                    first_problem = first_problem or error.message
                    continue
                return _strip_padding((folder / "certificate").read_bytes())
        raise Unreachable(
            "cannot read a maker's certificate from the TPM, for RSA or for P-256 "
            f"({first_problem})",
            hint="Write its key with vacr evidence attest --attestation-key -o ak.pub.pem, and "
            "list it under attestation-keys in the verifier's policy.",
        )

    def activate(self, credential: bytes, ek: str = EK_RSA) -> bytes:
        """Return the secret in a credential, decrypted by the TPM (`ActivateCredential`).

        `ek` is the type of the endorsement key that the credential is for, `rsa` or `ecc`.

        Raises:
            Unreachable: the credential is for another TPM or another attestation key.
        """
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as name:
            folder = Path(name)
            (folder / "credential").write_bytes(credential)
            self._make_key(folder)
            keys = ("-c", "key", "-C", "ek", "-P", "session:session")
            files = ("-i", "credential", "-o", "secret")
            try:
                self._run(folder, "createek", "-G", ek, "-c", "ek")
                self._unload_keys(folder)
                self._run(folder, "startauthsession", "--policy-session", "-S", "session")
                self._run(folder, "policysecret", "-S", "session", "-c", "e")
                self._run(folder, "activatecredential", *keys, *files)
            finally:
                self._unload_keys(folder)
                if (folder / "session").exists():
                    self._run(folder, "flushcontext", "session")
            return (folder / "secret").read_bytes()

    def _make_key(self, folder: Path) -> bytes:
        """Create the attestation key as the file `key` in a folder, and return its public part."""
        self._run(folder, "createprimary", *_KEY_TEMPLATE, *_KEY_ATTRIBUTES, "-c", "key")
        try:
            self._run(folder, "readpublic", "-c", "key", "-o", "public", "-f", "tss")
        finally:
            self._unload_keys(folder)
        return (folder / "public").read_bytes()[_SIZE_PREFIX_LENGTH:]

    def _unload_keys(self, folder: Path) -> None:
        """Unload all keys: without a resource manager, a TPM has room for three."""
        self._run(folder, "flushcontext", "--transient-object")

    def _run(self, folder: Path, *arguments: str) -> None:
        """Run a command of tpm2-tools, such as `quote`, in a folder that has its files.

        Raises:
            UsageError: tpm2-tools are not installed.
            Unreachable: the program cannot be run, fails, or takes too long.
        """
        tool = shutil.which(_TPM_TOOL)
        if tool is None:
            hint = (
                "Install tpm2-tools (apt install tpm2-tools). Without a TPM: vacr evidence attest "
                "--attester software"
            )
            raise UsageError(
                "cannot use a TPM: the program tpm2 of tpm2-tools is not installed", hint=hint
            )
        tcti = self.tcti or os.environ.get(_TCTI_VARIABLE)
        environment = os.environ | ({_TCTI_VARIABLE: _make_tcti_absolute(tcti)} if tcti else {})
        try:
            process = subprocess.run(
                [tool, *arguments],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except OSError as error:
            raise Unreachable(
                f"cannot run {tool}: {error.strerror or error}",
                hint="Install tpm2-tools again (apt install --reinstall tpm2-tools).",
            ) from error
        except subprocess.TimeoutExpired as error:
            raise Unreachable(
                f"the TPM did not answer within {_TIMEOUT_SECONDS} seconds", hint=_TPM_HINT
            ) from error
        if process.returncode:
            lines = [
                line
                for line in process.stderr.decode("utf-8", "replace").splitlines()
                if line and not _IGNORED_MESSAGE.search(line)
            ]
            problem = lines[0] if lines else f"{arguments[0]} ended with {process.returncode}"
            raise Unreachable(
                f"tpm2-tools failed: {problem.removeprefix('ERROR: ')}", hint=_TPM_HINT
            )


def _make_tcti_absolute(tcti: str) -> str:
    """Make the path in a TCTI absolute, because the programs run in another folder.

    For example, `swtpm:path=tpm.sock` becomes `swtpm:path=/home/me/tpm.sock`. A TCTI without a
    path, or with an absolute one, stays the same.
    """
    return _TCTI_PATH.sub(lambda match: match[1] + make_absolute(match[2]), tcti)


def _strip_padding(der: bytes) -> bytes:
    """Return a DER certificate without the padding that follows it in a TPM."""
    if der[:2] == bytes((_DER_SEQUENCE, _DER_TWO_BYTE_LENGTH)):
        return der[: 4 + int.from_bytes(der[2:4], "big")]
    return der
