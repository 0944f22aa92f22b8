"""The pages about the readers of SWE-agent and mini-swe-agent."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_UNKNOWN,
    STATED_BY_HOST,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.openai_chat import CHAT_REASONING_MEMBERS, CHAT_RESULT_MOVES
from vacr.agents.swe_agent import labels
from vacr.agents.swe_agent import reader as swe_agent


def render_page() -> str:
    """Return the page about SWE-agent."""
    return "\n".join(
        (
            render_head(swe_agent, "SWE-agent"),
            "## Messages\n",
            "Each message of `history` becomes an entry, also those of demonstrations (`is_demo`). "
            "The others are the members of the session.\n",
            render_chat_table(),
            "`tool_call_ids` with one id repeats it as `call-id`. A message without a call has its "
            "`action` as the call of `bash`; the next observation is its result.\n",
            "If `trajectory` has as many steps as `history` has results outside of demonstrations, "
            "each step is moved to its result, as `step`. Otherwise it stays in the session.\n",
            render_labels(
                [
                    (
                        "an editor, and an output that begins with "
                        f"{quote(*labels.FAILURE_STARTS)}",
                        "`error`",
                        "–",
                    ),
                    (
                        "an editor, and an output that begins with "
                        f"{quote(*labels.SUCCESS_STARTS)}",
                        "`success`",
                        "–",
                    ),
                    ("otherwise: SWE-agent writes no exit code", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    (
                        "the first message, if it is not of a demonstration",
                        *INFERRED_AS_UNKNOWN,
                        "–",
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
                        "the first 32 digits of the SHA-256 of the configuration and the first "
                        "three messages",
                    ),
                    (quote("agent-meta.models"), "`replay_config.agent.model.name`"),
                    (quote("agent-meta.cli-version"), "`info.swe_agent_version`"),
                    (
                        quote("environment.working-dir"),
                        "`/` and `replay_config.env.repo.repo_name`",
                    ),
                    (quote("vcs.revision"), "`replay_config.env.repo.base_commit`, unless `HEAD`"),
                ],
            ),
        )
    )


def render_chat_table() -> str:
    """Return a table of the messages of a chat, and the entries that they become."""
    return render_table(
        ("message", "entry", "members"),
        [
            ("`user`, `assistant`", "`user`, `assistant`", "`content` ← `content`"),
            ("`tool`", "`tool-result`", format_moves(CHAT_RESULT_MOVES)),
            ("any other role", "an event of its name", "`data`: the whole message"),
            (
                "one of `tool_calls`",
                "`tool-call`",
                "`call-id` ← `id`, `name` ← `function.name`, `input` ← `function.arguments`, "
                "parsed if it is JSON",
            ),
            (
                quote(*CHAT_REASONING_MEMBERS),
                "`reasoning`",
                "`content`; `vacr.member` names the member",
            ),
        ],
    )
