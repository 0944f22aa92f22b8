"""The page about the reader of Visual Studio's traces."""

from __future__ import annotations

from types import SimpleNamespace

from pages.markdown import (
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.visualstudio_copilot import AGENT
from vacr.agents.visualstudio_copilot.reader import (
    CONVERSATION_ATTRIBUTE,
    MODEL_ATTRIBUTES,
    PROVIDER_ATTRIBUTE,
    SERVICE,
    TOOL_ATTRIBUTES,
    TRACE_EVENT,
    USAGE_ATTRIBUTES,
)


def render_page() -> str:
    """Return the page about Copilot in Visual Studio."""
    head = SimpleNamespace(formats=AGENT.formats, STORES=AGENT.stores)
    outcomes = [
        ("the `status.code` of the span is 2, or it has `error.type`", "`error`", "–"),
        ("the `status.code` is 1", "`success`", "–"),
        ("none of these", UNKNOWN_OUTCOME_ROW, "–"),
    ]
    return "\n".join(
        (
            render_head(head, "GitHub Copilot in Visual Studio"),
            "## Spans\n",
            f"A line is an export of spans, of a resource with the `service.name` `{SERVICE}`. It "
            f"becomes an event of type `{TRACE_EVENT}` with the line as its `data`. Children of "
            "the event are views of its spans. Each conversation in a file gets a record.\n",
            render_table(
                ("operation of the span", "children", "members"),
                [
                    (
                        quote("execute_tool"),
                        "`tool-call` and `tool-result`",
                        ", ".join(f"{quote(name)} ← {quote(key)}" for name, key in TOOL_ATTRIBUTES),
                    ),
                    (
                        quote("chat"),
                        quote("assistant"),
                        ", ".join(
                            f"{quote('token-usage.' + name)} ← {quote(key)}"
                            for name, key in USAGE_ATTRIBUTES
                        ),
                    ),
                ],
            ),
            "Times in nanoseconds become milliseconds. An event with one span has the span's id "
            "and parent.\n",
            render_labels(outcomes, [("there are no user messages", "–", "–", "–")]),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id"), quote(CONVERSATION_ATTRIBUTE)),
                    (quote("agent-meta.models"), quote(*MODEL_ATTRIBUTES)),
                    (quote("agent-meta.model-provider"), quote(PROVIDER_ATTRIBUTE)),
                    (quote("agent-meta.cli-version"), "`service.version` of the resource"),
                ],
            ),
        )
    )
