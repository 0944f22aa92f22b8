"""Claude Code."""

from __future__ import annotations

from pages.markdown import code, head, moves, table, views
from vacr.agents.claude_code import reader as claude_code
from vacr.agents.claude_code.reader import (
    CLAUDE_AUTONOMOUS_ENTRYPOINTS,
    CLAUDE_ENVELOPE_MEMBERS,
    CLAUDE_EVENT_NAMES,
    CLAUDE_EVENT_OWN_MEMBERS,
    CLAUDE_INPUT_COUNTERS,
    CLAUDE_INTERACTIVE_ENTRYPOINTS,
    CLAUDE_LINE_MOVES,
    CLAUDE_MESSAGE_MOVES,
    CLAUDE_SYNTHETIC_MODEL,
    CLAUDE_TOOL_LINES,
)


def page() -> str:
    """Describe the reader of Claude Code."""
    usage = [
        ("`input`", " + ".join(map(code, CLAUDE_INPUT_COUNTERS))),
        ("`cached`", code("cache_read_input_tokens")),
        ("`output`", code("output_tokens")),
        (
            "`reasoning`",
            code("output_tokens_details.thinking_tokens", "output_tokens_details.reasoning_tokens"),
        ),
    ]
    events = (
        (code(kind), code(CLAUDE_EVENT_NAMES.get(kind, kind)), code(*sorted(members)))
        for kind, members in sorted(CLAUDE_EVENT_OWN_MEMBERS.items())
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
                    *moves(CLAUDE_LINE_MOVES),
                    *moves(CLAUDE_MESSAGE_MOVES, "message."),
                    (code("message.usage"), code("token-usage"), "map"),
                ],
            ),
            (
                f"A message of model `{CLAUDE_SYNTHETIC_MODEL}` was made by the client and is "
                "marked "
                "`vacr.synthetic`; neither model nor usage count.\n"
            ),
            "## Token usage\n",
            "The lines of one API message (`message.id`) repeat its usage; only the one with "
            "the most output counts, and its native "
            "counters stay beside the canonical ones.\n",
            table(("canonical", "native"), usage),
            "## Content blocks: children\n",
            views(),
            "## Other lines: events\n",
            "What says where a line belongs stays on the entry "
            f"({code(*sorted(CLAUDE_ENVELOPE_MEMBERS))}); the rest is its `data`. A "
            "`progress` line that holds a sub-agent's message gives it as a child of the "
            "event. Lines of type "
            f"{code(*CLAUDE_TOOL_LINES)} are calls and results of their own.\n",
            table(("line type", "event type", "members in data"), events),
            "## The session\n",
            table(
                ("canonical", "from"),
                [
                    (
                        code("session-id"),
                        "the first `sessionId`; in a sub-agent's own file `sessionId`/`agentId`",
                    ),
                    (code("session-start", "session-end"), "the earliest and the latest timestamp"),
                    (
                        code("format"),
                        "`interactive` for `entrypoint` "
                        f"{code(*sorted(CLAUDE_INTERACTIVE_ENTRYPOINTS))}, `autonomous` for "
                        f"{code(*sorted(CLAUDE_AUTONOMOUS_ENTRYPOINTS))} and in a sub-agent's own "
                        "file, else left out",
                    ),
                    (
                        code("agent-meta.model-provider"),
                        "`anthropic`, or `unknown` where no model is one of theirs",
                    ),
                    (
                        code("agent-meta.models"),
                        "`message.model`, in order of appearance; `model-id` is the most frequent",
                    ),
                    (code("agent-meta.model-id"), "`unknown` where no message names a model"),
                    (
                        code("agent-meta.cli-version"),
                        "the first `version`; each entry keeps its own",
                    ),
                    (code("environment.working-dir"), "the first `cwd`"),
                    (code("vcs.branch"), "the first `gitBranch`"),
                ],
            ),
        )
    )
