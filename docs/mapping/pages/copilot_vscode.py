"""The page about the readers of VS Code Copilot Chat."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

from pages.copilot import render_event_tables
from pages.markdown import (
    INFERRED_AS_HUMAN,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.copilot_vscode import AGENT
from vacr.agents.copilot_vscode.outcomes import (
    DENIED_CONFIRMATIONS,
    EDIT_TOOLS,
    EDITED_START,
    ERROR_STARTS,
    REFUSALS,
    TERMINAL_TOOLS,
)
from vacr.agents.vscode_chat import (
    FROM_FOLD,
    FROM_METADATA,
    FROM_RESPONSE,
    MUTATION_NAMES,
    PROMPT_MEMBERS,
    REFERENCE_KIND,
)


def render_page() -> str:
    """Return the page about VS Code Copilot Chat."""
    head = SimpleNamespace(formats=AGENT.formats, STORES=AGENT.stores)
    names = ", ".join(f"{kind} → {quote(name)}" for kind, name in MUTATION_NAMES.items())
    return "\n".join(
        (
            render_head(head, "VS Code Copilot Chat"),
            "## Requests\n",
            "Each item of `requests` becomes a user message and an assistant message. The user "
            f"message has {quote(*sorted(PROMPT_MEMBERS))}; the assistant message has all other "
            "members.\n",
            render_table(
                ("native", "entry", "members"),
                [
                    (
                        quote("requests[]"),
                        quote("user"),
                        "`content` ← `message.text`, `id` ← `requestId`, `timestamp`",
                    ),
                    (
                        quote("requests[]"),
                        quote("assistant"),
                        (
                            "`id` ← `responseId`; `timestamp`, `model-id` "
                            "and `token-usage` are copies of `modelState.completedAt`, of "
                            "`result.metadata.resolvedModel` or `modelId`, and of `promptTokens` "
                            "and `completionTokens`, or else of the metadata"
                        ),
                    ),
                    (
                        "a part of `response` without `kind`",
                        "a block of type `text` in `content`, and a null in its place",
                        "`text` ← `value`",
                    ),
                    (
                        f"a part of kind {quote(REFERENCE_KIND)}",
                        "a block of type `text` in `content`, and a null in its place",
                        "`text` is the name on the screen: `name`, or else that of the symbol or "
                        "the file; the part's members stay next to it",
                    ),
                    (
                        "a part of kind `thinking`",
                        "a block of type `thinking` in `content`, a null in its place, and a child of type `reasoning`",
                        "`thinking` ← `value`",
                    ),
                    (
                        quote("result.metadata.toolCallRounds[].toolCalls[]"),
                        "`tool-call`, a child",
                        f"a copy, marked `vacr.from`: {quote(FROM_METADATA)}",
                    ),
                    (
                        quote("result.metadata.toolCallResults"),
                        "`tool-result`, a child",
                        "`output` is the text of the result's tree, with the members of the part "
                        "on the screen",
                    ),
                    (
                        "a part of kind `toolInvocationSerialized` without such a call",
                        "`tool-call`, a child",
                        (
                            "`name` is `toolId`; the input is the command or null, marked "
                            f"`vacr.from`: {quote(FROM_RESPONSE)}"
                        ),
                    ),
                ],
            ),
            "## The log of changes\n",
            f"Each line becomes an event with the line as its `data`: {names}. Then come the "
            "messages of the document that the lines describe. A request that no later line "
            "changes is moved out of its line, which is marked `vacr.moved`. All others are "
            f"copies, marked `vacr.from`: {quote(FROM_FOLD)}. A line that does not fit the "
            "document is marked `vacr.unapplied`.\n",
            "The thin log of the extension has these tables:\n",
            render_event_tables(),
            render_labels(
                list(_list_outcome_rows()),
                [("all", *INFERRED_AS_HUMAN, "–")],
                unanswered="A call without a result, in the thin log,",
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), "`sessionId`; for an export, the SHA-256 of the file"),
                    (quote("session-start"), "`creationDate`"),
                    (
                        quote("agent-meta.model-provider"),
                        "`github-copilot`, or another vendor before the slash of `modelId`",
                    ),
                    (quote("agent-meta.cli-version"), "`agent.extensionVersion`, the latest"),
                    (quote("environment.working-dir"), "`baseUri` of the first text that has one"),
                    ("native members of `session`", "all other members of the document"),
                ],
            ),
        )
    )


def _list_outcome_rows() -> Iterator[tuple[str, str, str]]:
    """Yield the evidence about results, the strongest first."""
    types = ", ".join(str(number) for number in sorted(DENIED_CONFIRMATIONS))
    yield "`success`, in the thin log", "`success` or `error`", "–"
    yield f"`isConfirmed.type` of the part on the screen is {types}", "`denied`", "–"
    yield f"the result begins with {quote(*REFUSALS)}", "`denied`", "–"
    yield (
        f"the result of a tool other than {quote(*sorted(TERMINAL_TOOLS))} begins with "
        f"{quote(*(start.strip() for start in ERROR_STARTS))}",
        "`error`",
        "–",
    )
    yield (
        f"the result of {quote(*sorted(EDIT_TOOLS))} begins with {quote(EDITED_START.strip())}",
        "`success`",
        "–",
    )
    yield "`resultDetails.isError`", "`error`", "–"
    yield (
        "a command: `terminalCommandState.exitCode`, or the last line `Command exited with code N`",
        "`success` for 0, else `error`",
        "`N`",
    )
    yield "none of these", UNKNOWN_OUTCOME_ROW, "–"
