"""`vacr record`: native session → canonical record."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from vacr.cli import options, sealing
from vacr.cli.options import Voice, plural, size
from vacr.errors import UsageError, VacrError
from vacr.identity import identify
from vacr.sources import STDIN, Found, in_store, read

FINDINGS = 5
_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")


@dataclass
class Target:
    """Where records go: a file, a folder, or standard output."""

    output: str | None
    cbor: bool
    seal: bool
    overwrite: bool

    def __post_init__(self) -> None:
        """Tell a folder from a file."""
        self.stdout = self.output == STDIN
        self.folder: Path | None = None
        if self.output is None:
            self.folder = Path()
        elif not self.stdout and (self.output.endswith("/") or Path(self.output).is_dir()):
            self.folder = Path(self.output)

    def path(self, path: str, found: Found) -> Path:
        """Name the file of a record: after its source, and after the sub-agent where it is one."""
        suffix = ".acr.cbor" if self.cbor else ".acr.json"
        if self.folder is not None or self.output is None:
            stem, folder = _stem(found.name if path == STDIN else Path(path).name), self.folder or Path()
        else:
            chosen = Path(self.output)
            if not found.sub_agent:
                return chosen
            stem, folder = chosen.name.removesuffix(suffix), chosen.parent
        if found.sub_agent:
            agent = str(found.reading.record["session"]["session-id"]).rpartition("/")[2]
            stem = f"{stem}.{_UNSAFE.sub('-', agent)}"
        return folder / f"{stem}{suffix}"


@dataclass
class Summary:
    """What was done, for the result and the exit code."""

    records: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    exit_code: int = 0
    findings: int = 0


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("-o", "--output", metavar="FILE|FOLDER/|-", help="Where to write; a folder ends in /. Default: the current folder.")
@click.option("--cbor", is_flag=True, help="Write deterministic CBOR instead of canonical JSON.")
@click.option("--agent", metavar="NAME", help="Whose session it is, when its content does not tell.")
@click.option("--seal-source", is_flag=True, help="Keep the native bytes beside the record, for `vacr restore`.")
@click.option("--sub-agents/--no-sub-agents", default=True, help="Also record the sub-agents' own files.  [default: yes]")
@click.option("--overwrite", is_flag=True, help="Replace a record even if a signature stands beside it.")
@click.option("--strict", is_flag=True, help="Exit 5 when something was unknown or could not be decoded.")
@options.voice_options
def command(
    files: tuple[str, ...],
    output: str | None,
    cbor: bool,  # noqa: FBT001 - click passes flags so
    agent: str | None,
    seal_source: bool,  # noqa: FBT001
    sub_agents: bool,  # noqa: FBT001
    overwrite: bool,  # noqa: FBT001
    strict: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Turn native sessions into canonical records that lose nothing.

    FILE is a session as the agent wrote it, or - for standard input. The agent is recognised by the content. The record is
    reproducible: the same bytes from the same session, on any machine.

    \b
    Example:
      vacr record ~/.claude/projects/x/abc.jsonl           writes ./abc.acr.json
      vacr record *.jsonl -o records/ --seal-source
      vacr record abc.jsonl -o - | jq .session.entries[0]
    """
    target = Target(output, cbor, seal_source, overwrite)
    if len(files) > 1 and target.folder is None and not target.stdout:
        raise UsageError(f"several sessions cannot go into one file, {output}", hint="End the name in / for a folder.")
    if seal_source and target.stdout:
        raise UsageError("--seal-source has no place beside standard output", hint="Give a file or a folder with -o.")
    voice = Voice(format, quiet, verbose)
    summary = Summary()
    with options.progress(len(files), voice) as step:
        for path in files:
            try:
                for found in read(path, agent=agent, sub_agents=sub_agents, keep_source=seal_source):
                    _one(path, found, target, voice, summary)
            except VacrError as error:
                summary.errors.append({"source": path, "error": error.message, "where": error.where, "hint": error.hint})
                summary.exit_code = max(summary.exit_code, error.exit_code)
                voice.error(f"vacr: {error.diagnostics()}")
            step()
    if not target.stdout:
        voice.data({"records": summary.records, "errors": summary.errors})
    if strict and summary.findings and summary.exit_code == 0:
        return FINDINGS
    return summary.exit_code


def _one(path: str, found: Found, target: Target, voice: Voice, summary: Summary) -> None:
    """Write one record and say so."""
    record, notices = found.reading.record, found.reading.notices
    name = found.name if path == STDIN or found.sub_agent else path
    pieces = _encoded(found, target)
    written = None if target.stdout else target.path(path, found)
    for notice in notices:
        voice.notice(f"vacr: {name}{f':{notice.line}' if notice.line else ''}: {notice.message}")
    drift = record["vacr"].get("drift", {})
    if drift:
        voice.notice(f"vacr: {name}: {_told(drift)}; kept as they are")
    summary.findings += len(notices) + len(drift)
    if written is None:
        options.write_stdout([*pieces, b"" if target.cbor else b"\n"])
        return
    if target.output is None and in_store(Path(), found.reader):
        raise UsageError("the current folder is the agent's own store", hint="Say where to write with -o.")
    state = _write(written, pieces, target)
    if found.source is not None:
        sealing.seal(sealing.sealed_path(written), found.source)
    length = sum(len(piece) for piece in pieces)
    meta, entries = record["session"]["agent-meta"], len(record["session"]["entries"])
    voice.result(
        f"{written}: {meta['cli-name']} {meta.get('cli-version', '')}".rstrip()
        + f", {plural(entries, 'entry')}, {size(length)}{state}"
    )
    summary.records.append(
        {
            "source": name,
            "output": str(written),
            "id": record["id"],
            "session-id": record["session"]["session-id"],
            "agent": meta["cli-name"],
            "models": meta.get("models", []),
            "entries": entries,
            "bytes": length,
            "sha-256": _digest(pieces),
            "sealed": str(sealing.sealed_path(written)) if target.seal else None,
            "notices": [{"line": notice.line, "message": notice.message} for notice in notices],
            "drift": drift,
        }
    )


def _encoded(found: Found, target: Target) -> list[bytes | memoryview]:
    pieces: list[bytes | memoryview] = list(identify(found.reading.record))
    if target.cbor:
        from vacr.codec import deterministic_cbor

        pieces = [deterministic_cbor.encode(found.reading.record)]
    return pieces


def _write(path: Path, pieces: list[bytes | memoryview], target: Target) -> str:
    """Write a record unless it is there already; tell what became of an older one.

    Raises:
        UsageError: an older record there is signed, and would no longer match.
    """
    if path.is_file():
        if _same(path, pieces):
            return ", unchanged"
        signature = path.with_name(f"{path.name}.cose")
        if signature.exists() and not target.overwrite:
            raise UsageError(
                f"{path} is signed by {signature.name}, and this session has grown or changed since",
                hint="Write elsewhere with -o, or give --overwrite.",
            )
        options.write_file(path, pieces)
        return ", replaced an older record"
    options.write_file(path, pieces)
    return ""


def _same(path: Path, pieces: list[bytes | memoryview]) -> bool:
    if path.stat().st_size != sum(len(piece) for piece in pieces):
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == _digest(pieces)


def _digest(pieces: list[bytes | memoryview]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


def _told(drift: dict[str, dict[str, int]]) -> str:
    """Say what is unknown, the most frequent first."""
    return "; ".join(_few(kind, counts) for kind, counts in sorted(drift.items(), reverse=True))


def _few(kind: str, counts: dict[str, int]) -> str:
    shown: Iterator[str] = (f"{name} ({count})" for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    names = [text for text, _ in zip(shown, range(5), strict=False)]
    more = f" and {len(counts) - len(names)} more" if len(counts) > len(names) else ""
    return f"{plural(len(counts), kind[:-1])} unknown to this version: {', '.join(names)}{more}"


def _stem(name: str) -> str:
    for suffix in (".jsonl", ".json", ".ndjson", ".txt"):
        if name.endswith(suffix) and name != suffix:
            return name.removesuffix(suffix)
    return name
