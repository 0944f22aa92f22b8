"""The page about the reader of Zed."""

from __future__ import annotations

from pages.markdown import (
    INFERRED_AS_HUMAN,
    STATED_BY_PARENT,
    UNKNOWN_OUTCOME_ROW,
    format_moves,
    quote,
    render_head,
    render_labels,
    render_table,
)
from vacr.agents.zed import reader as zed
from vacr.agents.zed import tools


def render_page() -> str:
    """Return the page about Zed."""
    return "\n".join(
        (
            render_head(zed, "Zed"),
            "## Rows\n",
            "A row of the table `threads` is a session. An export has the text of the thread in "
            "the place of the compressed bytes in `data`. The other columns become an event "
            "`threads` after the messages.\n",
            "## Messages\n",
            "A message has one member that names its kind: "
            + ", ".join(f"{quote(kind)} → {quote(entry)}" for kind, entry in zed.ZED_ROLES.items())
            + ". `Text`, `Mention` and `Image` are the content of the entry, each with its kind as "
            "`type`. Other blocks become children; `vacr.order` keeps the order, unless the "
            "content comes first. The results in `tool_results` follow them. `Resume`, "
            "`Compaction` and messages of other forms, as in versions before 0.3.0, become "
            "events.\n",
            render_table(
                ("block", "child", "members"),
                [
                    (
                        quote("ToolUse"),
                        quote("tool-call"),
                        f"{format_moves(zed.ZED_USE_MOVES)}; newer versions state the type of the "
                        "input, which becomes `vacr.input-type`",
                    ),
                    (
                        "a member of `tool_results`",
                        quote("tool-result"),
                        f"{format_moves(zed.ZED_RESULT_MOVES)}, `vacr.key` ← its name",
                    ),
                    (
                        quote("Thinking"),
                        quote("reasoning"),
                        "`content` ← `text`, `encrypted` ← `signature`",
                    ),
                    (
                        quote("RedactedThinking"),
                        quote("reasoning"),
                        "`encrypted`; `vacr.from` names the block",
                    ),
                ],
            ),
            render_labels(
                [
                    ("`is_error`, and `Permission …denied`", "`denied`", "–"),
                    (f"`is_error`, and `{tools.CANCELLED}`", "`interrupted`", "–"),
                    ("`is_error`", "`error`", "–"),
                    (f"`terminal`: `{tools.STOPPED}`", "`interrupted`", "–"),
                    ('`terminal`: `Command "…" timed out.`', "`timeout`", "–"),
                    ('`terminal`: `Command "…" failed with exit code N.`', "`error`", "`N`"),
                    (f"`terminal`: a fence, or `{tools.EXECUTED}`", "`success`", "`0`"),
                    ("another output of `terminal`", UNKNOWN_OUTCOME_ROW, "–"),
                    ("`is_error` is false", "`success`", "–"),
                    ("otherwise", UNKNOWN_OUTCOME_ROW, "–"),
                ],
                [
                    ("the thread of a sub-agent", *STATED_BY_PARENT),
                    ("other text", *INFERRED_AS_HUMAN, "–"),
                ],
            ),
            "## The session\n",
            render_table(
                ("canonical", "from"),
                [
                    (quote("session-id", "vacr.parent"), "`id`, `parent_id` of the row"),
                    (
                        quote("session-start", "session-end"),
                        "`created_at`, `updated_at` of the row",
                    ),
                    (quote("agent-meta.models"), "`model.model`"),
                    (quote("agent-meta.model-provider"), "`model.provider`"),
                    (quote("environment.working-dir"), "the only folder in `folder_paths`"),
                    (
                        quote("vcs.revision", "vcs.branch", "vcs.repository"),
                        "`git_state` in `initial_project_snapshot`, if it has one folder",
                    ),
                ],
            ),
        )
    )
