"""The page about the reader of Windsurf's transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

from pages.markdown import (
    INFERRED_AS_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_status_words,
    render_table,
)
from vacr.agents.windsurf import AGENT
from vacr.agents.windsurf.reader import (
    MESSAGE_TYPES,
    OUTPUT_MEMBERS,
    RESULT_MEMBERS,
    STEP_MEMBERS,
)
from vacr.agents.windsurf.tools import ACCEPTED


def render_page() -> str:
    """Return the page about Windsurf."""
    head = SimpleNamespace(formats=AGENT.formats, STORES=AGENT.stores)
    return "\n".join(
        (
            render_head(head, "Windsurf"),
            "## Steps\n",
            "A line has a `type`, a `status`, and a body: the member with the name of the type. "
            f"Known types are {quote(*STEP_MEMBERS)}.\n",
            render_table(
                ("native", "entry", "members"),
                [
                    *(
                        (
                            quote(kind),
                            quote(entry),
                            f"`content` ← `{member}` of the body; the rest of the body stays, and "
                            "`type` and `status` are in `vacr.native`",
                        )
                        for kind, (entry, member) in MESSAGE_TYPES.items()
                    ),
                    (
                        "all other types",
                        quote("tool-call"),
                        "`name` ← `type`, `input` ← the body; `call-id` is `line-` and the "
                        "number of the entry, marked `vacr.call-id-from`",
                    ),
                    (
                        "the same line",
                        "`tool-result`, a child",
                        f"`output` ← the first of {quote(*OUTPUT_MEMBERS)}, marked "
                        f"`vacr.output-from`; `status`, {quote(*sorted(RESULT_MEMBERS))}",
                    ),
                ],
            ),
            render_labels(list(_list_outcome_rows()), [("all", *INFERRED_AS_HUMAN, "–")]),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "the SHA-256 of the file; the lines have no id"),
                    (quote("session-start"), "left out; the lines have no time"),
                    (quote("environment.working-dir"), "the first `cwd` of a command"),
                    (quote("agent-meta.model-id"), "`unknown`"),
                ],
            ),
        )
    )


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    yield "`user_rejected`", "`denied`", "–"
    yield "a command: `exit_code`", "`success` for 0, else `error`", "`exit_code`"
    yield "a command that is done, without an exit code", UNKNOWN_OUTCOME_ROW, "–"
    yield (
        f"a change of code that is done: `acknowledgement_type` is `{ACCEPTED}`, or ends in "
        "`_REJECT`",
        "`success`, `denied`",
        "–",
    )
    yield f"the word in `status`: {render_status_words()}", "as shown", "–"
