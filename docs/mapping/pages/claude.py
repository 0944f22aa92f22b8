"""The page about the reader of Claude Code."""

from __future__ import annotations

from pages.markdown import list_move_rows, quote, render_block_views, render_head, render_table
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


def render_page() -> str:
    """Return the page about Claude Code."""
    usage = [
        ("`input`", " + ".join(map(quote, CLAUDE_INPUT_COUNTERS))),
        ("`cached`", quote("cache_read_input_tokens")),
        ("`output`", quote("output_tokens")),
        (
            "`reasoning`",
            quote(
                "output_tokens_details.thinking_tokens", "output_tokens_details.reasoning_tokens"
            ),
        ),
    ]
    events = (
        (quote(kind), quote(CLAUDE_EVENT_NAMES.get(kind, kind)), quote(*sorted(members)))
        for kind, members in sorted(CLAUDE_EVENT_OWN_MEMBERS.items())
    )
    return "\n".join(
        (
            render_head(claude_code, "Claude Code"),
            "## Lines of type user and assistant: message entries\n",
            render_table(
                ("native", "canonical", "value"),
                [
                    (quote("type"), quote("type"), "text"),
                    (quote("timestamp"), quote("timestamp"), "timestamp"),
                    *list_move_rows(CLAUDE_LINE_MOVES),
                    *list_move_rows(CLAUDE_MESSAGE_MOVES, "message."),
                    (quote("message.usage"), quote("token-usage"), "map"),
                ],
            ),
            (
                f"A message of model `{CLAUDE_SYNTHETIC_MODEL}` was written by the client. It is "
                "marked `vacr.synthetic`, and its model and usage do not count.\n"
            ),
            "## Token usage\n",
            "The lines of one API message (`message.id`) repeat its usage. Only the line with "
            "the most output counts; it keeps its native counters next to the canonical ones.\n",
            render_table(("canonical", "native"), usage),
            "## Content blocks: children\n",
            render_block_views(),
            "## Other lines: events\n",
            "The members that place a line in the session stay on the entry "
            f"({quote(*sorted(CLAUDE_ENVELOPE_MEMBERS))}); the other members become its `data`. "
            "If a `progress` line holds a sub-agent's message, the message becomes a child of the "
            f"event. Lines of type {quote(*CLAUDE_TOOL_LINES)} become separate calls and "
            "results.\n",
            render_table(("line type", "event type", "members in data"), events),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "the first `sessionId`; in a sub-agent's own file, `sessionId`/`agentId`",
                    ),
                    (
                        quote("session-start", "session-end"),
                        "the earliest and the latest timestamp",
                    ),
                    (
                        quote("format"),
                        "`interactive` for `entrypoint` "
                        f"{quote(*sorted(CLAUDE_INTERACTIVE_ENTRYPOINTS))}, `autonomous` for "
                        f"{quote(*sorted(CLAUDE_AUTONOMOUS_ENTRYPOINTS))} and in a sub-agent's own "
                        "file, otherwise left out",
                    ),
                    (
                        quote("agent-meta.model-provider"),
                        "`anthropic`, or `unknown` if no model is one of Anthropic's",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`message.model`, in order of appearance; `model-id` is the most frequent",
                    ),
                    (quote("agent-meta.model-id"), "`unknown` if no message names a model"),
                    (
                        quote("agent-meta.cli-version"),
                        "the first `version`; each entry keeps its own",
                    ),
                    (quote("environment.working-dir"), "the first `cwd`"),
                    (quote("vcs.branch"), "the first `gitBranch`"),
                ],
            ),
        )
    )
