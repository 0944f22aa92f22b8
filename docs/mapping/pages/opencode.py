"""OpenCode."""

from __future__ import annotations

from pages.markdown import code, head, members, sums, table
from vacr.agents.opencode import reader as opencode
from vacr.agents.opencode.parts import (
    OPENCODE_CALL_MOVES,
    OPENCODE_CONTENT_MEMBERS,
    OPENCODE_EVENT_MEMBERS,
    OPENCODE_OUTPUT_MEMBERS,
    OPENCODE_REASONING_MOVES,
    OPENCODE_USAGE_SUMS,
)
from vacr.agents.opencode.pieces import (
    MAX_SHARED_PROJECT_BYTES,
    OPENCODE_DAMAGE_TABLE,
    OPENCODE_LATER_MESSAGE_TABLES,
)
from vacr.agents.opencode.reader import FATE_REVERTED, OPENCODE_MESSAGE_MOVES
from vacr.agents.opencode.samples import (
    SAMPLE_CALL_MOVES,
    SAMPLE_MESSAGE_LISTS,
    SAMPLE_MESSAGE_MOVES,
    SAMPLE_METADATA_MOVES,
    SAMPLE_RESPONSE_MOVES,
)
from vacr.agents.opencode.stores import OPENCODE_SESSION_TABLES, OPENCODE_SKIPPED_TABLES


def page() -> str:
    """Describe the reader of OpenCode."""
    return "\n".join(
        (
            head(opencode, "OpenCode"),
            "Read are `opencode export`, the database (as the rows of one session), the "
            "storage folder (as its files), dumps of "
            "these in any order and of several sessions, and samples with `tool_calls`. Each "
            "session is a record.\n",
            "## Messages\n",
            table(
                ("native", "entry", "members"),
                [
                    (
                        code("info"),
                        f"{code('user')} or {code('assistant')}, by `role`",
                        members(OPENCODE_MESSAGE_MOVES),
                    ),
                    (
                        code("info.time.created"),
                        code("timestamp"),
                        "epoch milliseconds, as they are",
                    ),
                    (f"parts {code(*OPENCODE_CONTENT_MEMBERS)}", code("content"), "as they are"),
                    (
                        f"part {code('reasoning')}",
                        f"{code('reasoning')}, a child",
                        members(OPENCODE_REASONING_MOVES),
                    ),
                    (
                        f"part {code('tool')}",
                        f"{code('tool-call')}, a child",
                        (
                            f"{members(OPENCODE_CALL_MOVES)}, `input` ← `state.input`, `timestamp` "
                            "← `state.time.start`"
                        ),
                    ),
                    (
                        "the same, with an output or an error",
                        f"{code('tool-result')}, the next child",
                        "`output` ← "
                        f"{code(*(f'state.{name}' for name in OPENCODE_OUTPUT_MEMBERS))}, "
                        "`status`, `is-error`, "
                        "`timestamp` ← `state.time.end`; what is left of `state` stays here",
                    ),
                    (
                        f"parts {code(*sorted(OPENCODE_EVENT_MEMBERS))}",
                        f"{code('system-event')}, a child",
                        "`data`",
                    ),
                ],
            ),
            "Parts stand in the order of their ids; where they did not, `vacr.order` tells "
            "where each went. Messages that the user took "
            f"back (`revert`) are marked `vacr.superseded`: {code(FATE_REVERTED)}.\n",
            "## Token usage\n",
            "From `info.tokens` of a message, which stays as it is, and `info.cost`. The steps "
            "(`step-finish`) repeat them and keep theirs "
            "in `data`.\n",
            sums(OPENCODE_USAGE_SUMS),
            "## The database\n",
            "The rows of `session`, its `project`, `message`, `part` and every other table "
            "that names the session, never those of "
            f"{code(*sorted(OPENCODE_SKIPPED_TABLES))}. The ids that OpenCode leaves out of "
            "`data` are put back. Rows of "
            f"{code(*sorted(OPENCODE_LATER_MESSAGE_TABLES))} are messages where a session has no "
            "others, else events.\n",
            "Every session that a table names is one, whatever its id is: a number is written "
            "in digits, bytes that are no text in "
            f"hexadecimal (`0x…`). Rows of {code(*sorted(OPENCODE_SESSION_TABLES))} that "
            "name none are of one session without a "
            "name. The tables themselves are read, not their indexes, which may lack rows. A "
            "table that is damaged is told of by an "
            f"event, {code(OPENCODE_DAMAGE_TABLE)}. A project goes with every session of "
            "it; one of more than "
            f"{MAX_SHARED_PROJECT_BYTES >> 10} KiB with the first alone, and the others "
            "name that (`kept-with-session`).\n",
            "## Samples\n",
            f"A list of messages under {code(*SAMPLE_MESSAGE_LISTS)}: "
            f"{members(SAMPLE_MESSAGE_MOVES)}; from `metadata` "
            f"{members(SAMPLE_METADATA_MOVES)} and `thinking` as reasoning; `tool_calls` "
            f"({members(SAMPLE_CALL_MOVES)}, "
            "`function.name`, `function.arguments` parsed) and `tool_responses` "
            f"({members(SAMPLE_RESPONSE_MOVES)}) as children.\n",
            "## The session\n",
            table(
                ("canonical", "from"),
                [
                    (code("session-id"), "`info.id`"),
                    (
                        code("session-start", "session-end"),
                        "`time.created`, and the latest time there is",
                    ),
                    (code("format"), "`autonomous` for a sub-agent, else left out"),
                    (code("agent-meta.cli-version"), "`version`"),
                    (
                        code("agent-meta.models"),
                        (
                            "`modelID` of the messages; `model-provider` is the most frequent "
                            "`providerID`"
                        ),
                    ),
                    (
                        code("environment.working-dir"),
                        "`directory`, else `path.cwd` of the first message that has one",
                    ),
                    (code("environment.sandboxes"), "`sandboxes` of the project"),
                    (code("vacr.parent"), "`parentID`"),
                    (
                        code("vacr.secrets"),
                        (
                            "the pointer of the secret of a shared session, which is carried and "
                            "told of"
                        ),
                    ),
                    (
                        "native members of `session`",
                        "all others of `info`; `project`, `todo`, `session_diff`, `session_share`",
                    ),
                ],
            ),
        )
    )
