"""The pages about agents that write the format of another agent: iFlow and TraeX."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents import iflow, traex


def render_iflow_page() -> str:
    """Return the page about iFlow."""
    outcomes = [
        ("`toolUseResult.status` and the answer", "as [Gemini CLI](gemini-cli.md)", "the same"),
        ("`is_error` of the result", "`success` or `error`", "–"),
        ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
    ]
    speakers = [
        ("the file of a sub-agent", "`parent-agent`", "`inferred`", "–"),
        ("other text", *INFERRED_AS_HUMAN, "–"),
    ]
    return "\n".join(
        (
            render_head(iflow, "iFlow"),
            "The lines are those of [Claude Code](claude-code.md), and become entries in the same "
            "way. A session id that begins with `session-` tells them apart. Four things differ:\n",
            render_table(
                ("native", "record"),
                [
                    (
                        "a call that a later line repeats",
                        f"the copy is marked {quote('vacr.repeats')}, and does not count",
                    ),
                    (
                        "the content of a result: `callId`, `responseParts`, `resultDisplay`",
                        f"{quote('output')}, unchanged; the answer in it is Gemini CLI's",
                    ),
                    (
                        "usage, which iFlow states as zero",
                        f"{quote('token-usage')} with zeros",
                    ),
                    (quote("agent-meta.model-provider"), quote("unknown")),
                ],
            ),
            render_labels(outcomes, speakers),
        )
    )


def render_traex_page() -> str:
    """Return the page about TraeX."""
    return "\n".join(
        (
            render_head(traex, "TraeX"),
            "The rollouts are those of [Codex CLI](codex-cli.md), and become records in the same "
            "way, with the same labels. The model provider `trae` tells them apart. It becomes "
            f"{quote('agent-meta.model-provider')}.\n",
        )
    )
