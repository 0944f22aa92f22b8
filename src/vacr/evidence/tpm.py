"""A TPM 2.0, through the programs of tpm2-tools. It is found as those find it: by `--tcti`, or by
TPM2TOOLS_TCTI.

The attestation key is made by the TPM from its own seed and a fixed template, each time the same:
nothing of it is kept in a file, and it stays the same for the life of the TPM. It is restricted, so
that it signs nothing but what the TPM made itself.
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

DEFAULT_PCRS = (0, 1, 2, 3, 4, 5, 6, 7)
"""The registers of the boot: firmware, its configuration, the boot loader, secure boot."""

_TPM_TOOL = "tpm2"
_TCTI_VARIABLE = "TPM2TOOLS_TCTI"
_TCTI_PATH = re.compile(r"(^device:|\bpath=)([^/,][^,]*)")
_KEY_TEMPLATE = ("-C", "e", "-G", "ecc256:ecdsa-sha256:null", "-g", "sha256")
_KEY_ATTRIBUTES = ("-a", "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign")
_TIMEOUT_SECONDS = 120
"""A TPM is slow, and never that slow."""
_LAST_PCR, _PCR_SIZE = 23, 32
_SIZE_PREFIX_LENGTH = 2
_EK_CERTIFICATE_INDICES = {EK_RSA: "0x1c00002", EK_ECC: "0x1c0000a"}
"""Where makers of TPMs put the certificates of their keys; EK credential profile, section 2.2.1.4.
"""
_DER_SEQUENCE, _DER_TWO_BYTE_LENGTH = 0x30, 0x82
_IGNORED_MESSAGE = re.compile(r"^(?:WARNING|WARN)|src/tss2", re.IGNORECASE)


@dataclass(frozen=True)
class Tpm:
    """A TPM that can be asked for quotes."""

    tcti: str | None = None
    pcrs: Sequence[int] = DEFAULT_PCRS

    def __post_init__(self) -> None:
        """Check that there are such registers.

        Raises:
            UsageError: there are not.
        """
        for at in self.pcrs:
            if not 0 <= at <= _LAST_PCR:
                raise UsageError(
                    f"a TPM has no register {at}", hint=f"The registers are 0 to {_LAST_PCR}."
                )
        if not self.pcrs:
            raise UsageError("no registers to quote", hint="For example: --pcrs 0,1,7")

    def attestation_key(self) -> bytes:
        """Give the public part of the attestation key (`TPMT_PUBLIC`).

        Raises:
            Unreachable: the TPM does not answer.
        """
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as folder:
            return self._make_key(Path(folder))

    def quote(self, qualifying_data: bytes) -> SignedQuote:
        """Ask for a quote.

        Raises:
            Unreachable: the TPM gives none.
        """
        chosen = sorted(set(self.pcrs))
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as name:
            folder = Path(name)
            key = self._make_key(folder)
            selection = "sha256:" + ",".join(map(str, chosen))
            written = ("-m", "quote", "-s", "signature", "-f", "tss", "-o", "pcrs", "-F", "values")
            try:
                self._run(
                    folder,
                    "quote",
                    "-c",
                    "key",
                    "-l",
                    selection,
                    "-q",
                    qualifying_data.hex(),
                    "-g",
                    "sha256",
                    *written,
                )
            finally:
                self._forget(folder)
            pcrs = (folder / "pcrs").read_bytes()
            if len(pcrs) != _PCR_SIZE * len(chosen):
                raise Unreachable(
                    "the TPM has no SHA-256 registers", hint="tpm2 pcrread shows which it has."
                )
            values = {
                at: pcrs[_PCR_SIZE * place : _PCR_SIZE * (place + 1)]
                for place, at in enumerate(chosen)
            }
            return SignedQuote(
                (folder / "quote").read_bytes(), (folder / "signature").read_bytes(), key, values
            )

    def ek_certificate(self) -> bytes:
        """Give the certificate of the endorsement key, which the TPM's maker put into it.

        Raises:
            Unreachable: there is none.
        """
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as name:
            folder, said = Path(name), ""
            for place in _EK_CERTIFICATE_INDICES.values():
                try:
                    self._run(folder, "nvread", place, "-o", "certificate")
                except Unreachable as error:
                    said = said or error.message
                    continue
                return _strip_padding((folder / "certificate").read_bytes())
        told = (
            "the TPM has no certificate from its maker, neither of an RSA key nor of one on "
            f"P-256 ({said})"
        )
        raise Unreachable(
            told, hint="Have its attestation key trusted by itself: vacr attest --attestation-key."
        )

    def activate(self, credential: bytes, ek: str = EK_RSA) -> bytes:
        """Read the secret of a credential, which only this TPM can do, with the endorsement key
        that it is for.

        Raises:
            Unreachable: it does not, as for a credential that is for another TPM or another key.
        """
        with tempfile.TemporaryDirectory(prefix="vacr-tpm-") as name:
            folder = Path(name)
            (folder / "credential").write_bytes(credential)
            self._make_key(folder)
            try:
                self._run(folder, "createek", "-G", ek, "-c", "ek")
                self._forget(folder)
                self._run(folder, "startauthsession", "--policy-session", "-S", "session")
                self._run(folder, "policysecret", "-S", "session", "-c", "e")
                told = (
                    "-c",
                    "key",
                    "-C",
                    "ek",
                    "-P",
                    "session:session",
                    "-i",
                    "credential",
                    "-o",
                    "secret",
                )
                self._run(folder, "activatecredential", *told)
            finally:
                self._forget(folder)
                if (folder / "session").exists():
                    self._run(folder, "flushcontext", "session")
            return (folder / "secret").read_bytes()

    def _make_key(self, folder: Path) -> bytes:
        self._run(folder, "createprimary", *_KEY_TEMPLATE, *_KEY_ATTRIBUTES, "-c", "key")
        try:
            self._run(folder, "readpublic", "-c", "key", "-o", "public", "-f", "tss")
        finally:
            self._forget(folder)
        return (folder / "public").read_bytes()[_SIZE_PREFIX_LENGTH:]

    def _forget(self, folder: Path) -> None:
        """Have the TPM forget what it loaded: without a resource manager it has room for three
        keys.
        """
        self._run(folder, "flushcontext", "--transient-object")

    def _run(self, folder: Path, *arguments: str) -> None:
        """Run one of the programs in a folder.

        Raises:
            UsageError: they are not installed.
            Unreachable: it fails.
        """
        tool = shutil.which(_TPM_TOOL)
        if tool is None:
            hint = (
                "Install tpm2-tools, for example by apt install tpm2-tools, or give "
                "--attester software."
            )
            raise UsageError(
                "a TPM is asked through tpm2-tools, which are not installed", hint=hint
            )
        tcti = self.tcti or os.environ.get(_TCTI_VARIABLE)
        environment = os.environ | ({_TCTI_VARIABLE: _make_tcti_absolute(tcti)} if tcti else {})
        try:
            done = subprocess.run(  # noqa: S603 - a program of the system, by fixed arguments
                [tool, *arguments],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=_TIMEOUT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unreachable(
                f"the TPM does not answer: {type(error).__name__}", hint=_TPM_HINT
            ) from error
        if done.returncode:
            said = [
                line
                for line in done.stderr.decode("utf-8", "replace").splitlines()
                if line and not _IGNORED_MESSAGE.search(line)
            ]
            told = said[0] if said else f"{arguments[0]} ended with {done.returncode}"
            raise Unreachable(f"the TPM does not do it: {told}", hint=_TPM_HINT)


_TPM_HINT = (
    "Name the TPM by --tcti, such as device:/dev/tpmrm0, or swtpm:path=FILE for a swtpm that "
    "runs, with its control channel at "
    "FILE.ctrl; whoever asks has to be allowed to use it."
)


def _make_tcti_absolute(tcti: str) -> str:
    """Name a TPM so that it is found from every folder: the programs run in one of their own."""
    return _TCTI_PATH.sub(lambda found: found[1] + os.path.abspath(found[2]), tcti)  # noqa: PTH100 - links stay as they are


def _strip_padding(der: bytes) -> bytes:
    """Take off what fills up the room that a certificate has in a TPM."""
    if der[:2] == bytes((_DER_SEQUENCE, _DER_TWO_BYTE_LENGTH)):
        return der[: 4 + int.from_bytes(der[2:4], "big")]
    return der
