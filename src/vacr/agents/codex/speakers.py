"""Who wrote a user message of Codex.

Codex sends much in the user's name: the folder and the shell, AGENTS.md, skills, notices of
sub-agents. Three kinds of evidence tell them from a person's words:

- newer versions state the origin of every block, in `content_item_metadata`;
- an event repeats what was typed (`user_message`, or a completed item `UserMessage`). The reader
  marks the message `echoed`;
- Codex wraps its own texts in markers, and recognises them by the same markers later.

    >>> from vacr.agents.codex.speakers import classify_speaker
    >>> record = {"session": {"entries": [], "format": "interactive"}}
    >>> def say(*texts):
    ...     content = [{"type": "input_text", "text": text} for text in texts]
    ...     return classify_speaker({"type": "user", "content": content}, record)
    >>> folder = "<environment_context><cwd>/w</cwd></environment_context>"
    >>> say(folder)
    Speaker(who='host', basis='inferred', prompt=None)
    >>> say(folder, "Fix the build.")
    Speaker(who='human', basis='inferred', prompt='Fix the build.')

A marker counts only where it spans a whole block. A person may quote one, so a marker alone states
nothing, and the basis is `inferred`:

    >>> say(folder + " What is this?")
    Speaker(who='human', basis='inferred', prompt=None)

The session decides whose words the rest are: a person's, the parent agent's in the session of a
sub-agent, and nobody knows whose in a run that a program may have started (`codex exec`).
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.labels import (
    HOOK,
    HOST,
    HUMAN,
    INFERRED,
    PARENT_AGENT,
    STATED,
    UNKNOWN_SPEAKER,
    Speaker,
)
from vacr.agents.lift import is_one_of, parse_names

_HOST_TAGS = parse_names(
    """
    agent_message_board_notification apps_instructions codex_internal_context collaboration_mode
    context_window context_window_guidance current_time_reminder environment_context
    environments_instructions git_attribution goal_context guardian_sync_review image_resize_notice
    managed_developer_instructions model_switch multi_agent_mode multi_agent_role
    node_repl_review_evidence personality_spec plugins_instructions realtime_conversation
    realtime_delegation recommended_plugins rollout_budget skill skills_instructions
    subagent_notification token_budget turn_aborted user_action user_instructions
    """
) | {"permissions instructions"}
"""Names of the elements that Codex wraps its texts in."""
_EXTERNAL_TAG = "external_"
_HOOK_TAG = "hook_prompt"
_OPENING_TAG = re.compile(
    r"<(permissions instructions|[a-z][a-z0-9_.:/-]*)(?: [^>]*)?>", re.IGNORECASE
)
_MAX_TAG_LENGTH = 400

_NAMED_TAG, _NAMED_START = "skill", "\n<name>"
_OBJECT_START = "\n{"
_INSTRUCTIONS = re.compile(
    r"# AGENTS\.md instructions(?: for [^\n]+)?\n\s*<INSTRUCTIONS>.*</INSTRUCTIONS>", re.DOTALL
)
_HOST_STARTS = (
    "Warning: The maximum number of unified exec processes you can keep open is",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
    "Another language model started to solve this problem and produced a summary of its thinking",
)
_PATCH_WARNING_START = "Warning: apply_patch was requested via "
_PATCH_WARNING_END = "Use the apply_patch tool instead of exec_command."

TYPED_KINDS = (None, "plain")
"""The kinds of an event `user_message` about a prompt. Old versions also state other kinds."""

_USER_COMMAND = re.compile(
    r"\s*<user_shell_command>\s*<command>\n(.*?)\n</command>\s*<result>.*</result>"
    r"\s*</user_shell_command>\s*\Z",
    re.DOTALL,
)
_MEDIA_LABEL = re.compile(r"</?(?:image|audio)(?: name=[^\n]*)?>")
_MEDIA_BLOCKS = frozenset(("input_image", "input_audio"))
_REQUEST_HEADING = "\n## My request for Codex:"


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part of it where it has other text."""
    texts, own, is_stated, authors = _separate_own_texts(entry)
    if own is None:
        basis = STATED if is_stated else INFERRED
        return Speaker(HOOK if authors == {HOOK} else HOST, basis)
    prompt = None if own == texts else "\n".join(own)
    who, basis = _get_session_speaker(entry, record)
    if who == HUMAN and is_stated:
        basis = STATED
    return Speaker(who, basis, prompt if who in (HUMAN, UNKNOWN_SPEAKER) else None)


def get_person_text(entry: dict[str, Any]) -> str:
    """Return the words of the person in an entry, or an empty text.

    The labels of a record decide. Without labels, the text alone does.
    """
    if entry.get("type") != "user":
        return ""
    marks = entry.get("vacr", {})
    speaker = marks.get("speaker")
    if speaker not in (None, HUMAN, UNKNOWN_SPEAKER):
        return ""
    if isinstance(marks.get("prompt"), str):
        return str(marks["prompt"])
    texts, own, *_ = _separate_own_texts(entry)
    return "\n".join(texts if speaker is not None else own or ())


# --- the texts of a message ---


def _separate_own_texts(
    entry: dict[str, Any],
) -> tuple[list[str], list[str] | None, bool, set[str]]:
    """Separate the texts of a message that Codex did not add.

    Return all texts; the author's own texts, or None if Codex wrote every block; whether the agent
    states that they were typed, or that Codex wrote them; and who wrote the other texts.
    """
    content = entry.get("content")
    blocks = content if isinstance(content, list) else [content]
    is_typed = _is_typed(entry)
    origins = [] if is_typed else _get_origins(entry)
    texts: list[str] = []
    own: list[str] = []
    others: set[str] = set()
    has_own, is_stated, is_host_stated = False, is_typed, True
    for index, block in enumerate(blocks):
        text = block.get("text") if isinstance(block, dict) else block
        if not isinstance(text, str):
            has_own = has_own or block is not None
            continue
        texts.append(text)
        if _is_media_label(blocks, index):
            continue
        origin = origins[index] if index < len(origins) else ""
        author = origin or ("" if is_typed else _recognise_host_text(text))
        if author in (HOST, HOOK):
            others.add(author)
            is_host_stated = is_host_stated and bool(origin)
            continue
        has_own, is_stated = True, is_stated or origin == HUMAN
        command = None if is_typed else _USER_COMMAND.match(text)
        if command:
            is_stated = True
            own.append("!" + command[1])
        else:
            own.append(_drop_editor_context(text))
    if others and not has_own:
        return texts, None, is_host_stated, others
    return texts, own, is_stated, others


def _is_typed(entry: dict[str, Any]) -> bool:
    """Return whether an event states that the message was typed."""
    if entry.get("vacr", {}).get("echoed") is True:
        return True
    payload = entry.get("payload")
    return (
        isinstance(payload, dict)
        and payload.get("type") == "user_message"
        and (payload.get("kind") in TYPED_KINDS)
    )


def _get_origins(entry: dict[str, Any]) -> list[str]:
    """Return who wrote each block, where Codex states it; an empty text where it does not.

    The list is empty if Codex states it for no block.
    """
    payload = entry.get("payload")
    payload = payload if isinstance(payload, dict) else {}
    metadata = payload.get("internal_chat_message_metadata_passthrough")
    details = metadata.get("content_item_metadata") if isinstance(metadata, dict) else None
    return [_get_origin(detail) for detail in details] if isinstance(details, list) else []


def _get_origin(detail: Any) -> str:
    """Return the speaker in the metadata of a block: a person, the host or a hook, or no text."""
    provenance = detail.get("provenance") if isinstance(detail, dict) else None
    if not isinstance(provenance, dict) or not isinstance(provenance.get("type"), str):
        return ""
    if provenance["type"] == "user":
        return HUMAN
    return HOOK if provenance.get("hook") is True else HOST


def _recognise_host_text(text: str) -> str:
    """Return `host` or `hook` if Codex writes such a text, else an empty text."""
    trimmed = text.strip()
    if trimmed.startswith("<") and trimmed.endswith(">"):
        opening = _OPENING_TAG.match(trimmed, 0, _MAX_TAG_LENGTH)
        tag = opening[1].lower() if opening else ""
        if not tag or trimmed[-len(tag) - 3 :].lower() != f"</{tag}>":
            return ""
        if not opening or not _is_whole_element(trimmed, opening.end(), tag):
            return ""
        if tag == _HOOK_TAG:
            return HOOK
        return HOST if tag in _HOST_TAGS or tag.startswith(_EXTERNAL_TAG) else ""
    if _INSTRUCTIONS.fullmatch(trimmed):
        return HOST
    if trimmed.startswith(_PATCH_WARNING_START) and trimmed.endswith(_PATCH_WARNING_END):
        return HOST
    return HOST if trimmed.startswith(_HOST_STARTS) else ""


def _is_whole_element(text: str, start: int, tag: str) -> bool:
    """Return whether a text is one element, and not several with words between them.

    The text of a skill or of an object may contain the end of the element. The content begins at
    offset `start`, after the opening tag.
    """
    if tag == _NAMED_TAG:
        return text.startswith(_NAMED_START, start)
    return text.startswith(_OBJECT_START, start) or text.lower().count(f"</{tag}>") == 1


def join_message_text(content: Any) -> str:
    """Return the text of a message without the tags around images, as events repeat it."""
    blocks = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    return "".join(
        text
        for index, text in enumerate(texts)
        if isinstance(text, str) and not _is_media_label(blocks, index)
    )


def _is_media_label(blocks: list[Any], index: int) -> bool:
    """Return whether a block is a tag that Codex writes before or after an image or a recording."""
    text = blocks[index].get("text") if isinstance(blocks[index], dict) else None
    if not isinstance(text, str) or not _MEDIA_LABEL.fullmatch(text):
        return False
    position = index - 1 if text.startswith("</") else index + 1
    neighbour = blocks[position] if 0 <= position < len(blocks) else None
    return isinstance(neighbour, dict) and is_one_of(neighbour.get("type"), _MEDIA_BLOCKS)


def _drop_editor_context(text: str) -> str:
    """Return the request without the open files and the selection that an editor put before it."""
    if not text.lstrip().startswith("# "):
        return text
    context, heading, request = text.rpartition(_REQUEST_HEADING)
    return request.strip() if heading and context else text


# --- the session ---


def _get_session_speaker(entry: dict[str, Any], record: dict[str, Any]) -> tuple[str, str]:
    """Return whose words the unmarked texts of a session are, and the basis of that."""
    source = _find_session_source(entry, record["session"]["entries"])
    if isinstance(source, dict):
        if "subagent" in source:
            return PARENT_AGENT, STATED
        if "internal" in source:
            return HOST, STATED
    if source in ("exec", "mcp"):
        return UNKNOWN_SPEAKER, INFERRED
    return HUMAN, INFERRED


def _find_session_source(entry: dict[str, Any], entries: list[dict[str, Any]]) -> Any:
    """Return who started the session that an entry comes from, which may be a copied one.

    A fork writes its own header first, and then the copied one. Return None without a header.
    """
    is_copied = "inherited" in entry.get("vacr", ())
    for header in entries[:2]:
        if header.get("event-type") != "session-start":
            continue
        if ("inherited" in header.get("vacr", ())) == is_copied:
            data = header.get("data")
            return get_session_source(data) if isinstance(data, dict) else None
    return None


def get_session_source(meta: dict[str, Any]) -> Any:
    """Return who started a session: a text, an object for sub-agents, or None.

    Before Codex stated it, runs of a program had an own name.
    """
    is_run = "source" not in meta and meta.get("originator") == "codex_exec"
    return "exec" if is_run else meta.get("source")
