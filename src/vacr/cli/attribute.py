"""`vacr attribute`: records or sessions → records that say which lines the agent wrote."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, cast

import click

from vacr import codec
from vacr.attribution import Base, Wishes, attribute, replayed, unknown_tools
from vacr.attribution import history as told
from vacr.cli import options, outputs
from vacr.cli.options import PATH, Voice, plural
from vacr.cli.records import Given, distinct, given
from vacr.codec.canonical_json import encode
from vacr.errors import UsageError
from vacr.identity import identify, ours
from vacr.model import Record
from vacr.sources import STDIN
from vacr.sources.git import base_of

FAILED = 1


@click.command(no_args_is_help=True)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option("--base", metavar="REPOSITORY[@REVISION]", help="The files as they were before: a git repository, bare or not.")
@click.option("--history", is_flag=True, help="Print what each call made, a JSON line each, and write nothing.")
@click.option("--check", is_flag=True, help="Redo the attribution of records and compare; write nothing.")
@click.option("--url", metavar="URL", help="Where the conversation can be read.")
@click.option("--related", metavar="TYPE=URL", multiple=True, help="What the conversation is related to; may be given again.")
@options.writing_options
@options.voice_options
def command(
    files: tuple[str, ...],
    base: str | None,
    history: bool,  # noqa: FBT001 - click passes flags so
    check: bool,  # noqa: FBT001
    url: str | None,
    related: tuple[str, ...],
    output: str | None,
    overwrite: bool,  # noqa: FBT001
    format: str,  # noqa: A002 - the option's name
    quiet: bool,  # noqa: FBT001
    verbose: int,
) -> int:
    """Say which lines of which files an agent wrote, by replaying what it did: a new record with `file-attribution`.

    Files are records or native sessions; several are replayed together, in the order of time. A line is an agent's only when an
    entry proves it. Without a base, only what the session shows is known.

    \b
    Example:
      vacr attribute abc.acr.json                          writes ./abc.attributed.acr.json
      vacr attribute abc.jsonl --base ~/repo@HEAD~3
      vacr attribute abc.jsonl --history
      vacr attribute abc.attributed.acr.json --check
    """
    voice = Voice(format, quiet, verbose)
    if output == STDIN:
        voice = Voice("text", quiet, verbose)
    outputs.refuse_one_file_for_many(files, output)
    tree = base_of(base) if base is not None else None
    found = distinct([one for path in files for one in given(path)], voice)
    wishes = Wishes(url, tuple(map(_pair, related)))
    if history:
        replay, roots = replayed([one.record for one in found], tree)
        for number, one in enumerate(found):
            _tell(one, unknown_tools(replay, number), voice)
        outputs.write_stdout(encode(line) + b"\n" for line in told(replay, roots))
        return 0
    if check:
        return _check(found, tree, voice)
    for one in found:
        if not one.record["session"]["entries"] and "file-attribution" in one.record:
            hint = "A record of version 1 is the file attribution alone; make one of the session: vacr record FILE."
            raise UsageError(f"{one.path} holds an attribution and no session to make it of", hint=hint)
    done, targets = [], set()
    for one, record in zip(found, attribute([one.record for one in found], tree, wishes), strict=True):
        identify(cast("Record", record))
        _tell(one, record["vacr"]["attribution"].get("unknown-tools", {}), voice)
        data = codec.encode(record, one.form)
        if output == STDIN:
            outputs.write_stdout([data, b"\n" if one.form == "json" else b""])
            continue
        target = (
            Path(output or ".") / f"{one.stem}.attributed.acr.{one.form}" if outputs.is_folder(output) else Path(output or "")
        )
        if target in targets:
            raise UsageError(f"two results would be {target}", hint="Attribute them one after the other, into different folders.")
        targets.add(target)
        state = outputs.write_new(target, data, one.path, files, overwrite=overwrite)
        voice.result(f"{target}: {_summary(record)}{', unchanged' if state == 'unchanged' else ''}")
        done.append({"source": one.path, "output": str(target), "state": state, "id": record["id"], **_counts(record)})
    if output != STDIN:
        voice.data({"records": done})
    return 0


def _tell(one: Given, unknown: dict[str, int], voice: Voice) -> None:
    if unknown:
        named = ", ".join(f"{name} ({count})" for name, count in unknown.items())
        voice.notice(f"{one.path}: what these tools do to files is not known, so it is left out: {named}")


def _pair(text: str) -> tuple[str, str]:
    kind, equals, url = text.partition("=")
    if not kind or not equals or ":" not in url:
        raise UsageError(f"--related {text} is not TYPE=URL", hint="For example: --related issue=https://example.org/issues/7")
    return kind, url


def _counts(record: dict[str, Any]) -> dict[str, Any]:
    """Count files, and lines by contributor."""
    lines: Counter[str] = Counter()
    files = record["file-attribution"]["files"]
    for file in files:
        for conversation in file["conversations"]:
            for one in conversation["ranges"]:
                kind = one.get("contributor", conversation.get("contributor", {})).get("type", "unknown")
                lines[kind] += one["end-line"] - one["start-line"] + 1
    return {"files": len(files), "lines": dict(lines)}


def _summary(record: dict[str, Any]) -> str:
    counts = _counts(record)
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts["lines"].items()))
    return f"{plural(counts['files'], 'file')}, lines: {kinds or 'none'}"


def _check(found: list[Given], tree: Base | None, voice: Voice) -> int:
    """Compare the attributions that records hold with what they yield; give the exit code."""
    together = [one for one in found if _others(one.record)]
    made: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    results = []
    for one in found:
        others, base, wishes = len(_others(one.record)), _named_base(one.record), _wishes(one.record)
        group = [one] if not others else together if len(together) > others else found
        if "file-attribution" not in one.record:
            verdict = "it has no attribution"
        elif base is not None and (tree is None or tree.revision != base):
            verdict = f"it was made with the base {base}, which --base has to give"
        elif len(group) <= others:
            verdict = "it was made together with other records, which have to be named too"
        else:
            names = [id(each) for each in group]
            key = (*names, base is not None, wishes)
            if key not in made:
                made[key] = attribute([_before(each.record) for each in group], tree if base is not None else None, wishes)
            again = made[key][names.index(id(one))]
            verdict = "" if _same(again, one.record) else "its attribution is not what the record yields"
        voice.result(f"{one.path}: {verdict or 'attributed as the record yields'}")
        results.append({"source": one.path, "same": not verdict, "reason": verdict})
    voice.data({"results": results})
    return 0 if results and all(result["same"] for result in results) else FAILED


def _same(again: dict[str, Any], record: dict[str, Any]) -> bool:
    """Tell whether a record holds just the attribution that was made anew."""
    pairs = [(again.get(name), record.get(name)) for name in ("file-attribution", "vcs")]
    pairs.append((ours(again).get("attribution"), ours(record).get("attribution")))
    # In bytes, because to Python 1 is the same as true.
    return all(encode(left) == encode(right) for left, right in pairs)


def _others(record: dict[str, Any]) -> list[Any]:
    """Give the names of the records that a record was attributed together with."""
    named = _inputs(record).get("records")
    return named if isinstance(named, list) else []


def _named_base(record: dict[str, Any]) -> Any:
    base = _inputs(record).get("base")
    return base.get("revision") if isinstance(base, dict) else None


def _wishes(record: dict[str, Any]) -> Wishes:
    inputs = _inputs(record)
    related = inputs.get("related")
    pairs = [(one.get("type"), one.get("url")) for one in related if isinstance(one, dict)] if isinstance(related, list) else []
    url = inputs.get("url")
    return Wishes(url if isinstance(url, str) else None, tuple((str(kind), str(place)) for kind, place in pairs))


def _inputs(record: dict[str, Any]) -> dict[str, Any]:
    inputs = ours(record).get("inputs")
    return inputs if isinstance(inputs, dict) else {}


def _before(record: dict[str, Any]) -> dict[str, Any]:
    """Give a record as it was before it was attributed."""
    left = {name: value for name, value in ours(record).items() if name not in ("attribution", "inputs")}
    return {**{name: value for name, value in record.items() if name != "file-attribution"}, "vacr": left}
