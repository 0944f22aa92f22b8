"""Write docs/mapping/<agent>.md from the readers' own tables, or check that they are current (--check)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from vacr.content import VIEWS
from vacr.model import CANONICAL_MEMBERS
from vacr.readers import claude_code, claude_known, codex_cli, codex_items, codex_known, codex_session
from vacr.readers.lift import Lift

FOLDER = Path(__file__).parent

HEAD = """# {title}

Made from the tables of the reader by `make docs`; do not edit. Trace format id: {formats}.

A native member that no table below names stays in its entry, under its native name, at its native place. A member whose
name has another meaning in an entry ({canonical}) stays in `vacr.native`, and so does a timestamp outside the schema's
pattern. Members that are null are left out, but never inside content, input, output or data. Bytes that cannot be decoded
become an event of type `undecodable` that holds them in base64; a line that could be read but for something in it is
marked `vacr.repaired` and followed by such an event.
"""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a Markdown table."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines) + "\n"


def code(*names: str) -> str:
    """Write names as code."""
    return ", ".join(f"`{name}`" for name in names)


def moves(lift: Lift, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Give the rows of a table of moves."""
    for move in lift.moves:
        yield code(f"{place}{move.native}"), code(move.canonical), "any" if move.kind is None else "text"


def views() -> str:
    """Describe how content blocks are seen."""
    rows = (
        (code(kind), code(view.entry_type), ", ".join(f"{code(name)} ← {code(native)}" for name, native, _ in view.members))
        for kind, view in VIEWS.items()
    )
    return table(("block type", "child", "members"), rows)


def head(reader: object, title: str) -> str:
    """Open a page."""
    return HEAD.format(
        title=title,
        formats=code(*reader.formats),  # type: ignore[attr-defined]
        canonical=code(*sorted(CANONICAL_MEMBERS)),
    )


def claude() -> str:
    """Describe the reader of Claude Code."""
    usage = [
        ("`input`", " + ".join(map(code, claude_known.INPUT_COUNTERS))),
        ("`cached`", code("cache_read_input_tokens")),
        ("`output`", code("output_tokens")),
        ("`reasoning`", code("output_tokens_details.thinking_tokens", "output_tokens_details.reasoning_tokens")),
    ]
    events = (
        (code(kind), code(claude_code.EVENT_NAMES.get(kind, kind)), code(*sorted(members)))
        for kind, members in sorted(claude_known.OWN.items())
    )
    return "\n".join(
        (
            head(claude_code, "Claude Code"),
            "## Lines of type user and assistant: message entries\n",
            table(
                ("native", "canonical", "takes"),
                [
                    (code("type"), code("type"), "text"),
                    (code("timestamp"), code("timestamp"), "timestamp"),
                    *moves(claude_code.LINE),
                    *moves(claude_code.MESSAGE, "message."),
                    (code("message.usage"), code("token-usage"), "map"),
                ],
            ),
            f"A message of model `{claude_code.SYNTHETIC}` was made by the client and is marked `vacr.synthetic`; neither model nor usage count.\n",
            "## Token usage\n",
            "The lines of one API message (`message.id`) repeat its usage; only the one with the most output counts, and its native "
            "counters stay beside the canonical ones.\n",
            table(("canonical", "native"), usage),
            "## Content blocks: children\n",
            views(),
            "## Other lines: events\n",
            f"What says where a line belongs stays on the entry ({code(*sorted(claude_code.ENVELOPE))}); the rest is its `data`. A "
            "`progress` line that holds a sub-agent's message gives it as a child of the event. Lines of type "
            f"{code(*claude_code.LINES_AS_ENTRIES)} are calls and results of their own.\n",
            table(("line type", "event type", "members in data"), events),
            "## The session\n",
            table(
                ("canonical", "from"),
                [
                    (code("session-id"), "the first `sessionId`; in a sub-agent's own file `sessionId`/`agentId`"),
                    (code("session-start", "session-end"), "the earliest and the latest timestamp"),
                    (
                        code("format"),
                        f"`interactive` for `entrypoint` {code(*sorted(claude_code.INTERACTIVE))}, `autonomous` for "
                        f"{code(*sorted(claude_code.AUTONOMOUS))} and in a sub-agent's own file, else left out",
                    ),
                    (code("agent-meta.model-provider"), "`anthropic`, or `unknown` where no model is one of theirs"),
                    (code("agent-meta.models"), "`message.model`, in order of appearance; `model-id` is the most frequent"),
                    (code("agent-meta.model-id"), "`unknown` where no message names a model"),
                    (code("agent-meta.cli-version"), "the first `version`; each entry keeps its own"),
                    (code("environment.working-dir"), "the first `cwd`"),
                    (code("vcs.branch"), "the first `gitBranch`"),
                ],
            ),
        )
    )


def codex() -> str:
    """Describe the reader of Codex CLI."""
    rows = (
        (
            code(kind),
            code(item.entry_type),
            ", ".join(f"{code(move.canonical)} ← {code(move.native)}" for move in item.lift.moves)
            + (f", {code('name')} = {code(item.tool)}" if item.tool else ""),
        )
        for kind, item in codex_items.ITEMS.items()
    )
    return "\n".join(
        (
            head(codex_cli, "Codex CLI"),
            "## Response items\n",
            "The envelope's `type` stays in `vacr.native.type`, what is left of the item in `payload`. In the older bare form the line "
            "itself is the item.\n",
            table(
                ("item type", "entry", "members"),
                [
                    (
                        code("message"),
                        f"{code('user')} or {code('assistant')}, by `role`; other roles are events",
                        ", ".join(f"{code(move.canonical)} ← {code(move.native)}" for move in codex_items.MESSAGE.moves),
                    ),
                    (
                        code("reasoning"),
                        code("reasoning"),
                        "`content` ← `content` or else `summary`, `encrypted` ← `encrypted_content`",
                    ),
                    *rows,
                ],
            ),
            "The arguments of a `function_call` are parsed into `input`; their text stays in `payload.arguments`.\n",
            "## Events\n",
            f"Every other line: its payload is the `data`, its type the `event-type` "
            f"({', '.join(f'{code(native)} → {code(name)}' for native, name in codex_cli.EVENT_NAMES.items())}). Known are "
            f"{code(*sorted(codex_known.STATES))} and, as `event_msg`, {code(*sorted(codex_known.EVENTS))}.\n",
            f"{code(*codex_cli.ECHOES)} repeat what response items say: they are marked `vacr.repeats`. Where a session has no such item "
            "at all, they are the message.\n",
            "## Token usage\n",
            "On `token-count` events, from `info.last_token_usage`, once for each change of `info.total_token_usage`.\n",
            table(("canonical", "native"), [(code(name), code(native)) for name, native in codex_session.USAGE]),
            "## The session\n",
            table(
                ("canonical", "from"),
                [
                    (code("session-id"), "`id` of the first `session_meta`"),
                    (code("session-start"), "`timestamp` of the first `session_meta`"),
                    (
                        code("format"),
                        ", ".join(f"{code(mode)} for `source` {code(name)}" for name, mode in codex_session.MODES.items())
                        + ", `autonomous` for a sub-agent, else left out",
                    ),
                    (
                        code("agent-meta.model-provider"),
                        "`model_provider`; where the session does not say, `openai`, or `unknown` where a model is not one of theirs",
                    ),
                    (code("environment.working-dir"), "`cwd` of the first `session_meta`, or of the first turn"),
                    (code("agent-meta.models"), "`turn_context.model`; each assistant message has the model of its turn"),
                    (code("vcs"), "`git.commit_hash`, `git.branch`, `git.repository_url`"),
                    (code("environment.sandboxes"), "`turn_context.sandbox_policy.writable_roots`"),
                    (code("vacr.parent"), "`parent_thread_id`, or that of `source.subagent.thread_spawn`, or `forked_from_id`"),
                    (code("vacr.inherited"), "marks the entries that a fork copied from its parent"),
                ],
            ),
        )
    )


def main() -> int:
    """Write the pages, or tell which are out of date."""
    stale = []
    for name, text in (("claude-code.md", claude()), ("codex-cli.md", codex())):
        path = FOLDER / name
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
        elif not path.is_file() or path.read_text("utf-8") != text:
            stale.append(name)
    if stale:
        print(f"docs/mapping: out of date, run `make docs`: {', '.join(stale)}", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
