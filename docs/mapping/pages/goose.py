"""The page about the reader of Goose."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    STATED_BY_HOST,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.goose import labels
from vacr.agents.goose import reader as goose


def render_page() -> str:
    """Return the page about Goose."""
    return "\n".join(
        (
            render_head(goose, "Goose"),
            "## Messages\n",
            "A row of the table `messages`, or a line of a session file, is a message. Its `role` "
            "is the type of the entry. `id` is `message_id`, or else the number of the row. "
            "`timestamp` is the time in milliseconds; the native one, in seconds, stays in the "
            "entry. The blocks of `content_json` are parsed: "
            f"{quote(*sorted(goose.GOOSE_CONTENT_TYPES))} are the content. Other blocks become "
            "children; `vacr.from` names the type of the block, and `vacr.order` keeps the order, "
            "unless the content comes first.\n",
            render_table(
                ("block", "child", "members"),
                [
                    (
                        quote(*sorted(goose.GOOSE_CALL_TYPES)),
                        quote("tool-call"),
                        "`call-id` ← `id`, `name` ← `toolCall.value.name`, `input` ← "
                        "`toolCall.value.arguments`; without arguments, `vacr.implied` has `input`",
                    ),
                    (
                        quote("toolResponse"),
                        quote("tool-result"),
                        "`call-id` ← `id`, `output` ← `value.content`, `value` or `error` of "
                        "`toolResult`; `vacr.member` says which",
                    ),
                    (
                        quote(*goose.GOOSE_REASONING_MEMBERS),
                        quote("reasoning"),
                        "`content` ← `thinking` or `text`, `encrypted` ← `signature` or `data`",
                    ),
                    (
                        "any other",
                        quote("system-event"),
                        "`event-type` ← `type`, `data`: the block",
                    ),
                ],
            ),
            "Rows of other forms and of other tables become events after the messages, named by "
            f"their table, such as {quote(*goose.GOOSE_DATABASE.shared)}. The first line of a "
            "session file becomes an event `session`.\n",
            render_labels(
                [
                    (f"a beginning of {quote(*labels.DENIALS)}", "`denied`", "–"),
                    ("`shell`: `timed_out`", "`timeout`", "–"),
                    ("`shell`: `exit_code`", "`success` for 0, else `error`", "the code"),
                    ("`status`: `error`, or `isError`", "`error`", "–"),
                    (
                        f"another result of {quote(*sorted(labels.SHELL_TOOLS))}",
                        UNKNOWN_OUTCOME_ROW,
                        "–",
                    ),
                    ("`status`: `success`", "`success`", "–"),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("a message that only the model sees", *STATED_BY_HOST),
                    (f"`session_type`: `{goose.SUB_AGENT_TYPE}`", *STATED_BY_PARENT),
                    ("`session_type`: `scheduled`", *INFERRED_AS_UNKNOWN, "–"),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "`id` of the row or the first line, or else the name of the file",
                    ),
                    (quote("session-start", "session-end"), "`created_at`, `updated_at`, in UTC"),
                    (quote("agent-meta.models"), "`model_name` in `model_config_json`"),
                    (quote("agent-meta.model-provider"), "`provider_name`"),
                    (quote("environment.working-dir"), "`working_dir`"),
                ],
            ),
        )
    )
