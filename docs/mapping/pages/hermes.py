"""The page about the reader of Hermes."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from pages.swe_agent import render_chat_table
from vacr.agents.hermes import labels
from vacr.agents.hermes import reader as hermes


def render_page() -> str:
    """Return the page about Hermes."""
    statuses = [(f"`status`: `{word}`", f"`{status}`", "–") for word, status in _list_statuses()]
    return "\n".join(
        (
            render_head(hermes, "Hermes"),
            "## Messages\n",
            "A row of the table `messages`, or a member of `messages` in a session file, becomes "
            "an entry:\n",
            render_chat_table(),
            "In a row, `tool_calls` are text; JSON in it is parsed. `id` is the number of the row "
            "as text, and `timestamp`, in seconds, becomes milliseconds; both stay in "
            "`vacr.native` as they were. `finish_reason` is repeated as `stop-reason`.\n",
            "Rows of other roles and of other tables become events after the messages, named by "
            f"their table, such as {quote(*hermes.HERMES_DATABASE.shared)}.\n",
            render_labels(
                [
                    ("`status`: `blocked`, and `User denied` in `error`", "`denied`", "–"),
                    (
                        "`terminal`: a process in the background (`pid`, `session_id`)",
                        "`running`",
                        "–",
                    ),
                    ("`terminal`: a negative `exit_code`", "`error`", "–"),
                    (
                        f"`terminal`: `exit_code` {labels.TIMEOUT_CODE}",
                        "`timeout`",
                        f"`{labels.TIMEOUT_CODE}`",
                    ),
                    (
                        "`terminal`: another `exit_code`",
                        "`success` for 0, else `error`",
                        "the code",
                    ),
                    *statuses,
                    ("`success`", "`success` or `error`", "–"),
                    ("`error` that is not empty", "`error`", "–"),
                    (
                        f"a member of a success: {quote(*labels.SUCCESS_MEMBERS.values())}",
                        "`success`",
                        "–",
                    ),
                    ("the text `Tool '…' does not exist.`", "`error`", "–"),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    (f"a beginning of {quote(*labels.HOST_STARTS)}", *INFERRED_AS_HOST),
                    (
                        "the session of a sub-agent, by its system prompt",
                        "`parent-agent`",
                        "`inferred`",
                        "–",
                    ),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`id` of the row, `session_id` of the file"),
                    (
                        quote("session-start", "session-end"),
                        "`started_at`, `ended_at`; the local times of a file stay members",
                    ),
                    (quote("agent-meta.models"), "`model`"),
                    (quote("environment.working-dir", "vcs.branch"), "`cwd`, `git_branch`"),
                    (
                        quote("token-usage"),
                        "the token counts of the row, at the last answer, marked `vacr.usage-of`",
                    ),
                    (quote("agent-meta.model-provider"), "`billing_provider`"),
                    (
                        quote("vacr.parent"),
                        "`parent_session_id`: the parent agent, or the session that this one "
                        "continues after a compression",
                    ),
                ],
            ),
        )
    )


def _list_statuses() -> list[tuple[str, str]]:
    """Return the words of `status` of other tools, and their outcomes."""
    return list(labels.STATUSES.items())
