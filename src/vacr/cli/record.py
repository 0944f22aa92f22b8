"""`vacr record`: native session → canonical record."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from vacr import codec
from vacr.cli import options, outputs, sealing
from vacr.cli.options import FINDINGS, PATH, Voice, plural, size, text_of
from vacr.errors import UnreadableInput, UsageError, VacrError
from vacr.identity import identify
from vacr.sources import STDIN, Found, in_store, read

_UNSAFE = re.compile(r"[^A-Za-z0-9._@+-]+")
_NOTICES = 20


@dataclass
class Target:
    """Where records go, and in which form."""

    files: tuple[str, ...]
    output: str | None
    cbor: bool
    overwrite: bool
    written: set[Path] = field(default_factory=set)
    printed: int = 0

    @property
    def suffix(self) -> str:
        """The ending of a record's file name."""
        return ".acr.cbor" if self.cbor else ".acr.json"

    def path(self, path: str, found: Found) -> Path:
        """Name the file of a record: after its source, and after the sub-agent where it is one."""
        if outputs.is_folder(self.output):
            stem, folder = _stem(found.name if path == STDIN else Path(path).name), Path(self.output or ".")
        else:
            chosen = Path(self.output or "")
            if not found.sub_agent:
                return chosen
            stem, folder = chosen.name.removesuffix(chosen.suffix).removesuffix(".acr"), chosen.parent
        if found.sub_agent:
            stem = f"{stem}.{_UNSAFE.sub('-', _stem(found.name).removeprefix('agent-'))}"
        return folder / f"{stem}{self.suffix}"


@dataclass
class Summary:
    """What was done, for the result and the exit code."""

    records: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    exit_code: int = 0
    findings: int = 0


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option(
    "-o", "--output", metavar="FILE|FOLDER/|-", type=PATH, help="Where to write; a folder ends in /. Default: the current folder."
)
@click.option("--cbor", is_flag=True, help="Write deterministic CBOR instead of canonical JSON.")
@click.option(
    "--agent", metavar="NAME", shell_complete=options.complete_agent, help="Whose session it is, when its content does not tell."
)
@click.option("--seal-source", is_flag=True, help="Keep the native bytes beside the record, for `vacr restore`.")
@click.option("--sub-agents/--no-sub-agents", default=True, help="Also record the sub-agents' own files.  [default: yes]")
@click.option(
    "--overwrite", is_flag=True, help="Replace any file that is there, also a record with a signature (.cose) beside it."
)
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
    reproducible: the same bytes from the same session, on any machine. With -o - the records themselves are the output, one a
    line.

    \b
    Example:
      vacr record ~/.claude/projects/x/abc.jsonl           writes ./abc.acr.json
      vacr record *.jsonl -o records/ --seal-source
      vacr record abc.jsonl -o - | jq .session.entries[0]
    """
    outputs.refuse_one_file_for_many(files, output)
    if seal_source and output == STDIN:
        raise UsageError("--seal-source has no place beside standard output", hint="Give a file or a folder with -o.")
    target = Target(files, output, cbor, overwrite)
    voice = Voice(format, quiet, verbose)
    summary = Summary()
    with options.progress(len(files), voice) as step:
        for path in files:
            try:
                for found in read(path, agent=agent, sub_agents=sub_agents, keep_source=seal_source, named=files):
                    _one(path, found, target, voice, summary)
            except BrokenPipeError:
                raise
            except (VacrError, OSError) as caught:
                error = caught if isinstance(caught, VacrError) else UnreadableInput(caught.strerror or str(caught), where=path)
                summary.errors.append(
                    {"source": text_of(path), "error": error.message, "where": text_of(error.where), "hint": error.hint}
                )
                summary.exit_code = max(summary.exit_code, error.exit_code)
                voice.error(f"vacr: {error.diagnostics()}")
            step()
    if output == STDIN and not cbor and sys.stdout.isatty():
        outputs.write_stdout([b"\n"])
    if output != STDIN:
        voice.data({"records": summary.records, "errors": summary.errors})
    if strict and summary.findings and summary.exit_code == 0:
        return FINDINGS
    return summary.exit_code


def _one(path: str, found: Found, target: Target, voice: Voice, summary: Summary) -> None:
    """Write one record and say so."""
    record, notices = found.reading.record, found.reading.notices
    name = found.name if path == STDIN or found.sub_agent else path
    pieces: list[bytes | memoryview] = list(identify(record))
    if target.cbor:
        pieces = [codec.encode(record, "cbor")]
    for notice in notices[:_NOTICES]:
        voice.notice(f"vacr: {name}{f':{notice.line}' if notice.line else ''}: {notice.message}")
    if len(notices) > _NOTICES:
        voice.notice(f"vacr: {name}: and {plural(len(notices) - _NOTICES, 'more line')} like these; --format json lists them all")
    for error in found.left_out:
        voice.notice(f"vacr: left out: {error}")
    drift = record["vacr"].get("drift", {})
    if drift:
        voice.notice(f"vacr: {name}: {_told(drift)}; kept as they are")
    summary.findings += len(notices) + len(drift) + len(found.left_out)
    if target.output == STDIN:
        outputs.write_stdout([*([b"\n"] if target.printed and not target.cbor else []), *pieces])
        target.printed += 1
        return
    if target.output is None and in_store(Path(), found.reader):
        raise UsageError("the current folder is the agent's own store", hint="Say where to write with -o.")
    written = target.path(path, found)
    state = _write(written, pieces, found, target, voice)
    described = _described(name, written, state, found) | {"bytes": sum(map(len, pieces))}
    if voice.json:
        described["sha-256"] = outputs.digest(pieces)
    summary.records.append(described)
    agent = f"{described['agent']} {described['cli-version'] or ''}".rstrip()
    told = "" if state == "written" else ", unchanged" if state == "unchanged" else ", replaced an older record"
    voice.result(f"{written}: {agent}, {plural(described['entries'], 'entry')}, {size(described['bytes'])}{told}")
    voice.notice(
        f"  session {described['session-id']}, models {', '.join(described['models']) or 'unknown'}, id {record['id']}", 1
    )


def _described(name: str, written: Path, state: str, found: Found) -> dict[str, Any]:
    """Describe what was written, for programs."""
    record = found.reading.record
    session, meta = record["session"], record["session"]["agent-meta"]
    sealed = sealing.sealed_path(written)
    return {
        "source": text_of(name),
        "output": text_of(str(written)),
        "state": state,
        "id": record["id"],
        "session-id": session["session-id"],
        "parent": record["vacr"].get("parent", {}).get("session-id"),
        "agent": meta["cli-name"],
        "cli-version": meta.get("cli-version"),
        "models": meta.get("models", []),
        "entries": len(session["entries"]),
        "sealed": text_of(str(sealed)) if found.source is not None else None,
        "notices": [{"line": notice.line, "message": notice.message} for notice in found.reading.notices],
        "left-out": [{"file": text_of(error.where), "reason": error.message} for error in found.left_out],
        "drift": record["vacr"].get("drift", {}),
    }


def _write(path: Path, pieces: list[bytes | memoryview], found: Found, target: Target, voice: Voice) -> str:
    """Write a record unless it is there already, its sealed source first; tell what became of what was there.

    Raises:
        UsageError: what is there is no older record of this session, or a signature stands beside it.
    """
    outputs.refuse_input(path, target.files)
    if path in target.written and not path.is_fifo():
        raise UsageError(f"{path} has just been written for another session", hint="Record them into different folders.")
    target.written.add(path)
    state = "written"
    if path.is_file():
        state = "unchanged" if outputs.same(path, pieces) else "replaced"
        if state == "replaced" and not target.overwrite:
            _refuse_loss(path, found)
    sealed = sealing.sealed_path(path)
    if found.source is not None:
        if sealed.exists() and state == "written" and not target.overwrite and not sealing.holds(sealed, found.source):
            raise UsageError(f"{sealed} is there, and holds another source", hint="Write elsewhere with -o, or give --overwrite.")
        sealing.seal(sealed, found.source)
    elif state == "replaced" and sealed.exists():
        voice.notice(f"vacr: {sealed} holds the source of the older record; record with --seal-source to renew it")
    if state != "unchanged":
        outputs.write(path, pieces)
    return state


def _refuse_loss(path: Path, found: Found) -> None:
    """Refuse to replace what is not an older record of the same session, or what is signed."""
    try:
        there = codec.decode(path.read_bytes())
        same_session = there["session"]["session-id"] == found.reading.record["session"]["session-id"]
    except (VacrError, TypeError, KeyError, IndexError):
        same_session = False
    if not same_session:
        raise UsageError(
            f"{path} is there, and is not an older record of this session",
            hint="Write elsewhere with -o, or give --overwrite.",
        )
    signature = path.with_name(f"{path.name}.cose")
    if signature.exists():
        raise UsageError(
            f"{path} is signed by {signature.name}, and this session has grown or changed since",
            hint="Write elsewhere with -o, or give --overwrite.",
        )


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
