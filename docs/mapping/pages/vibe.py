"""The page about the reader of Mistral Vibe."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    STATED_BY_HOST,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from pages.swe_agent import render_chat_table
from vacr.agents.vibe import journal, labels
from vacr.agents.vibe import reader as vibe


def render_page() -> str:
    """Return the page about Mistral Vibe."""
    return "\n".join(
        (
            render_head(vibe, "Mistral Vibe"),
            "## Messages\n",
            "A line of `messages.jsonl`, or a member of `messages` in an older session file, "
            "becomes an entry:\n",
            render_chat_table(),
            "`id` of the entry repeats `message_id`. Messages have no times.\n",
            "## Journals\n",
            "A line of a journal becomes an entry, and the rest of the line stays in it:\n",
            render_table(
                ("line", "entry"),
                [
                    ("`command_reserved` with a `message`", "`user`"),
                    ("`action_result` of a completion", "`assistant`; its parts stay in the line"),
                    ("`action_result` of a tool", "`tool-result`"),
                    ("another", "an event, named by its `type`"),
                ],
            ),
            "Times come from `projection_delta`, tokens from the completion. A result that only "
            "the messages of a request have is a child of that event. `meta.json` is the event "
            f"`{journal.META_EVENT}`.\n",
            render_labels(
                [
                    (f"a journal: the error `{labels.DENIED_CODE}`", "`denied`", "–"),
                    ("a journal: `timed_out`", "`timeout`", "`returncode`"),
                    ("a journal: `returncode`", "`success` for 0, else `error`", "the code"),
                    ("a journal: `success`, `failure`", "`success`, `error`", "–"),
                    (f"`{labels.ERROR_TAG}Tool '…' was denied by `", "`denied`", "–"),
                    (f"`{labels.ERROR_TAG}`: `Command timed out after`", "`timeout`", "–"),
                    (f"`{labels.ERROR_TAG}`: `Return code: N`", "`error`", "`N`"),
                    (f"another `{labels.ERROR_TAG}`", "`error`", "–"),
                    (f"`{labels.CANCELLATION_TAG}`, and ` interrupted`", "`interrupted`", "–"),
                    (f"another `{labels.CANCELLATION_TAG}`", "`denied`", "–"),
                    ("`bash`: the last line `returncode: 0`", "`success`", "`0`"),
                    (
                        "the first member of a built-in tool: "
                        f"{quote(*dict.fromkeys(labels.FIRST_MEMBERS.values()))}",
                        "`success`",
                        "–",
                    ),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("`injected`", *STATED_BY_HOST),
                    (
                        "the session of a sub-agent, by its folder",
                        "`parent-agent`",
                        "`inferred`",
                        "–",
                    ),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            "The facts are those of `meta.json`, which stays in the record as an attached file, or "
            "of `metadata` in an older session file.\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`session_id`"),
                    (
                        quote("session-start", "session-end"),
                        "`start_time`, `end_time`, if they have a zone",
                    ),
                    (
                        quote("agent-meta.models", "agent-meta.model-provider"),
                        "the model in `config` that `active_model` names",
                    ),
                    (quote("environment.working-dir"), "`environment.working_directory`"),
                    (quote("vcs.revision", "vcs.branch"), "`git_commit`, `git_branch`"),
                    (
                        quote("vacr.parent"),
                        "`parent_session_id`: the session that this one continues",
                    ),
                ],
            ),
        )
    )
