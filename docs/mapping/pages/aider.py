"""The page about the reader of Aider."""

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
from vacr.agents.aider import edits
from vacr.agents.aider import reader as aider


def render_page() -> str:
    """Return the page about Aider."""
    segments = [
        ("`# aider chat started at TIME`", "an event `run`", "`started`: the local time"),
        ("`#### …`", "`user`", "`content`: the input without marks"),
        ("`> …`", "an event `messages`", "`commits`: the commits that Aider made"),
        ("other text", "`assistant`", "`content`: the answer"),
    ]
    return "\n".join(
        (
            render_head(aider, "Aider"),
            "## The chat history\n",
            "A history has many runs, and each run becomes a record. Every segment of the file "
            "becomes an entry that keeps its text, so that the file can be restored byte by byte. "
            "Where the usual spelling would not restore it, `raw` has the text of an input, and "
            "`spacing` the blank lines around an answer.\n",
            render_table(("in the file", "entry", "members"), segments),
            "Aider does not quote the answers of a model. A line counts as Aider's own only if it "
            "ends with two blanks, and stands after an empty line or after another line of Aider. "
            "Inside of a fence, only lines that Aider alone writes end the answer.\n",
            "The edits in an answer become calls "
            f"({quote(edits.SEARCH_REPLACE, edits.WHOLE_FILE, edits.UNIFIED_DIFF, edits.PATCH)}), "
            "and the messages about them results. A file that Aider changed without an edit that "
            f"vacr can read is a call of {quote(edits.UNPLACED)}. These entries repeat the text of "
            "the file; `thinking-content` in an answer is repeated as reasoning.\n",
            "`token-usage` is what Aider shows, rounded: `3.2k sent` counts as 3,200.\n",
            "## The log of requests\n",
            "In `.aider.llm.history`, each request is an event `request`, and each answer an "
            "`assistant` entry. `sent` and `received` are local times. vacr keeps the log, and the "
            f"history of inputs, with the chat beside them: {quote(*aider.ATTACHED)}. An input "
            "that both histories have gets the local time `typed`. Read alone, each input of "
            "`.aider.input.history` is a `user` entry, with the lines of the file in `raw`.\n",
            render_labels(
                [
                    ("an edit that failed to match", "`error`", "–"),
                    ("`Applied edit to PATH`", "`success`", "–"),
                    ("another block of an answer with a failed one", "`success`", "–"),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("an answer that Aider repeats for a group of questions", *STATED_BY_HOST),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "the first 32 digits of the SHA-256 of the heading and Aider's first "
                        "messages; repeated ones are numbered",
                    ),
                    (quote("session-start", "session-end"), "left out: Aider writes no zone"),
                    (quote("agent-meta.models"), "`Model: …`, `Main model: …`"),
                    (quote("agent-meta.cli-version"), "`Aider v…`"),
                ],
            ),
        )
    )
