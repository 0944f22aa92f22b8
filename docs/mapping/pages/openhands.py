"""The page about the reader of OpenHands."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    INFERRED_AS_UNKNOWN,
    STATED_BY_HOOK,
    STATED_BY_HOST,
    UNKNOWN_OUTCOME_ROW,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.openhands import reader as openhands


def render_page() -> str:
    """Return the page about OpenHands."""
    results = ", ".join(
        f"{quote(kind)} (`output` ← {quote(member)})"
        for kind, member in openhands.OPENHANDS_RESULT_KINDS.items()
    )
    return "\n".join(
        (
            render_head(openhands, "OpenHands"),
            "## Events since version 1\n",
            render_table(
                ("kind", "entry", "members"),
                [
                    (
                        "`MessageEvent`",
                        "`assistant` if the source is `agent`, else `user`",
                        "`content` ← `llm_message.content`",
                    ),
                    (
                        "`ActionEvent`",
                        "`assistant`",
                        "`content` ← `thought`; a child for `reasoning_content`, and one for the "
                        "call: `name` ← `tool_name`, `call-id` ← `tool_call_id`, `input` ← `action`",
                    ),
                    (
                        results,
                        "`tool-result`",
                        "`call-id` ← `tool_call_id`, `name` ← `tool_name`; of an observation, only "
                        "its `content` moves",
                    ),
                    ("any other", "`system-event`", "`event-type` ← `kind`"),
                ],
            ),
            "Also `id` ← `id` and `parent-id` ← `parent_id`. Times without a zone stay in "
            "`vacr.native.timestamp`. The tokens of an event with statistics are totals so far; "
            "`vacr.usage` has their sum. The tokens and the cost that no earlier event counted "
            "become a child of type `model-usage` for each use of a model, marked "
            "`vacr.usage-from`. `base_state.json` of a folder is the event `base-state`; its "
            "totals count last.\n",
            "## Earlier events\n",
            "An `action` `message` is a message. Any other action is an `assistant` entry with a "
            "call: `name` ← `action`, `input` ← `args`, or the members of the event that are its "
            "arguments. An `observation` is the result of the action that its `cause` names, or "
            "of the action before it; without one, it is an event. Calls are numbered: `event-ID`, "
            "or `action-N` where events have no id.\n",
            render_labels(
                [
                    ("`UserRejectObservation`, `user_rejected`", "`denied`", "–"),
                    ("`AgentErrorEvent`, an observation `error`", "`error`", "–"),
                    ("`timeout` of an observation", "`timeout`", "–"),
                    (
                        "`metadata.suffix` says that the command timed out, and there is no exit "
                        "code",
                        "`timeout`",
                        "–",
                    ),
                    ("it says that the command has no new output", "`running`", "–"),
                    ("`is_error` of an observation", "`error`", "the `exit_code`, unless -1"),
                    (
                        "`exit_code` of an observation or of its `metadata`, unless -1",
                        "`success` for 0, else `error`",
                        "the code",
                    ),
                    ("`is_error` is false, and the tool runs no command", "`success`", "–"),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("`source` `hook`", *STATED_BY_HOOK),
                    ("`source` `environment`", *STATED_BY_HOST),
                    ("a task of a benchmark", *INFERRED_AS_UNKNOWN, "–"),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (
                        quote("session-id"),
                        "`id` of the state; of a task, the first 32 digits of the SHA-256 of its "
                        "instruction and first events; otherwise the SHA-256 of the file",
                    ),
                    (
                        quote("agent-meta.models"),
                        "`agent.llm.model` of the state, and the models in statistics that used "
                        "tokens",
                    ),
                    (quote("environment.working-dir"), "`workspace.working_dir` of the state"),
                ],
            ),
        )
    )
