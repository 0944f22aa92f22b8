"""The page about the reader of gptme."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HOST,
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.gptme import labels, text_calls
from vacr.agents.gptme import reader as gptme


def render_page() -> str:
    """Return the page about gptme."""
    successes = [start for starts in labels.SUCCESSES.values() for start in starts]
    return "\n".join(
        (
            render_head(gptme, "gptme"),
            "## Messages\n",
            render_table(
                ("line", "entry", "members"),
                [
                    ("`user`, `assistant`", "`user`, `assistant`", "`content`"),
                    (
                        "`system` or `tool`: the result of a call",
                        "`tool-result`",
                        "`output` ← `content`, `call-id` ← `call_id`",
                    ),
                    ("any other", "an event of its role", "`data`: the whole line"),
                ],
            ),
            "`timestamp` is a local time without a zone, and stays in `vacr.native`. `model-id`, "
            "`token-usage` and its cost repeat members of `metadata`; `input` includes tokens from "
            "a cache.\n",
            "Calls and reasoning are views of the text of an answer, marked `vacr.from`: `text`. "
            f"A fence that begins with {quote(*sorted(text_calls.CALL_FENCES))} is a call. Fences "
            "of other tools, such as `shell`, are calls only if a result follows. "
            "`@TOOL(ID): {…}` and `<tool-use>` are calls, too. If other fences are in a fence, or "
            "a file is written in XML, the call is marked `vacr.uncertain`.\n",
            "A result belongs to the call with its id, else to the call of the tool that writes "
            "such results, else to the first call that has none (`vacr.paired-by`: `order`). "
            f"Messages of the system that begin with {quote(*gptme.NOTICE_STARTS)} are not "
            "results.\n",
            render_labels(
                [
                    (f"a beginning of {quote(*labels.DENIALS)}", "`denied`", "–"),
                    (f"a beginning of {quote(*labels.FAILURES)}", "`error`", "–"),
                    ("`shell`: `Command timed out`", "`timeout`", "–"),
                    ("`shell`: `Command interrupted`", "`interrupted`", "–"),
                    ("`shell`: `Return code: N` below the output", "`error`", "`N`"),
                    ("`shell`: another output of a command that ran", "`success`", "`0`"),
                    (f"a beginning of {quote(*successes)}", "`success`", "–"),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    (f"a beginning of `{labels.HOST_START}`", *INFERRED_AS_HOST),
                    ("a session that nobody could answer", *INFERRED_AS_UNKNOWN, "–"),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "the folder of the file"),
                    (quote("agent-meta.cli-version"), "the prompt of the system"),
                    (quote("agent-meta.models"), "`metadata.model`, `model` in `config.toml`"),
                    (
                        quote("environment.working-dir"),
                        "`workspace` in `config.toml`, or else the prompt of the system",
                    ),
                    (quote("format"), "`autonomous`, if `interactive` is false in `config.toml`"),
                ],
            ),
        )
    )
