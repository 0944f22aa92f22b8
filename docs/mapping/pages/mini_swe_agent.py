"""The page about the reader of mini-swe-agent."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    STATED_BY_HOST,
    STATED_BY_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
    render_usage_sums,
)
from pages.swe_agent import render_chat_table
from vacr.agents.mini_swe_agent import labels
from vacr.agents.mini_swe_agent import reader as mini_swe_agent
from vacr.agents.openai_chat import CHAT_USAGE_SUMS


def render_page() -> str:
    """Return the page about mini-swe-agent."""
    return "\n".join(
        (
            render_head(mini_swe_agent, "mini-swe-agent"),
            "## Messages\n",
            "Each of `messages` becomes an entry. The other members are those of the session.\n",
            render_chat_table(),
            "An answer without calls has its command in a fence, or in `extra.actions`: it becomes "
            "a call of `bash`, and the next message with an output its result. In the form of the "
            "Responses API, `function_call_output` is a result.\n",
            "`model-id` repeats `extra.response.model`, `timestamp` has `extra.timestamp` "
            "or else `extra.response.created` in milliseconds, and `token-usage` sums `extra.response.usage`:\n",
            render_usage_sums(CHAT_USAGE_SUMS),
            "An answer in which the host found no call has no message: the host's message after "
            "it has the response. Its tokens are in a child of type `model-usage`, marked "
            "`vacr.usage-from`: `response`.\n",
            render_labels(
                [
                    (
                        "`extra.exception_info` is `action was not executed`, and the command has "
                        f"{quote(labels.SUBMIT_MARK)}: the host stops at it",
                        "`success`",
                        "–",
                    ),
                    ("that text, and any other command", "`interrupted`", "–"),
                    ("`extra.exception_info`, or the text of a timeout", "`timeout`, `error`", "–"),
                    (
                        "`extra.returncode`, or `<returncode>` in the text",
                        "`success` for 0, else `error`",
                        "the code",
                    ),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    (
                        f"`extra.interrupt_type`: {quote(*sorted(labels.USER_INTERRUPTIONS))}",
                        *STATED_BY_HUMAN,
                        "–",
                    ),
                    ("the first message of a benchmark", *INFERRED_AS_UNKNOWN, "–"),
                    (
                        "the first message of any other run",
                        *INFERRED_AS_HUMAN,
                        "the task, without `info.config.agent.instance_template` around it",
                    ),
                    ("any other", *STATED_BY_HOST),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "the first 32 digits of the SHA-256 of the first three messages",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`extra.response.model`, `info.config.model.model_name`",
                    ),
                    (quote("agent-meta.cli-version"), "`info.mini_version`"),
                    (quote("environment.working-dir"), "`info.config.environment.cwd`"),
                ],
            ),
        )
    )
