r"""Who wrote a user message of Cline or Roo Code.

The host files everything as the user's: results, the state of the editor, its own reminders. It
puts the words of the person into elements:

    >>> from vacr.agents.cline.speakers import classify_speaker
    >>> record = {"session": {"entries": []}}
    >>> def say(*texts):
    ...     blocks = [{"type": "text", "text": text} for text in texts]
    ...     return classify_speaker({"type": "user", "content": blocks}, record)
    >>> say("<task>\nFix it.\n</task>", "<environment_details>\n# …\n</environment_details>")
    Speaker(who='human', basis='inferred', prompt='Fix it.')
    >>> say("[read_file for 'a.py'] Result:\nx = 1", "<environment_details>…")
    Speaker(who='host', basis='inferred', prompt=None)
    >>> say("[attempt_completion] Result: Done", "<feedback>\nNot yet.\n</feedback>")
    Speaker(who='human', basis='stated', prompt='Not yet.')

An answer inside a result is the person's, too. The SDK writes `<user_input mode="act">` around a
prompt, and earlier versions nothing; there, the rest is the person's, or the parent agent's.
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.anthropic_blocks import list_block_texts
from vacr.agents.cline.text_calls import is_result_head, is_text_result
from vacr.agents.labels import (
    HUMAN,
    INFERRED_HOST,
    STATED,
    STATED_HOST,
    Speaker,
    infer_speaker,
)

_PROMPT_ELEMENTS = ("task", "user_input")
_ANSWER_ELEMENTS = ("feedback", "answer", "user_message")
_ELEMENT = re.compile(
    r"<(task|user_input|feedback|answer|user_message)(?: mode=\"[a-z]{1,20}\")?>\n?(.*)\n?</\1>",
    re.DOTALL,
)
_HOST_STARTS = (
    "<environment_details>",
    "<system_notice>",
    "<explicit_instructions",
    "# task_progress",
    "# todo list update required",
    "[error]",
    "[task resumption]",
    "context summary:",
    "files attached by the user:",
    "new instructions for task continuation:",
    "new message to respond to with ",
    "the user has provided feedback on the results",
    "the user provided the following feedback",
    "(the user did not provide a new message",
    "(tool did not return anything)",
    "command failed with exit code ",
    "command executed",
)
_HOST_SPEAKER = INFERRED_HOST


def classify_speaker(entry: dict[str, Any], record: dict[str, Any]) -> Speaker:
    """Return who wrote a user message, and the person's part of it where it has other text."""
    metadata = entry.get("metadata")
    if isinstance(metadata, dict) and metadata.get("kind") == "compaction_summary":
        return STATED_HOST
    texts = list_block_texts(entry.get("content"))
    typed: list[str] = []
    own: list[str] = []
    is_answer = False
    after_head = False
    for text in texts:
        is_result_body, after_head = after_head, is_result_head(text)
        if is_result_body and not _is_host_text(text):
            continue
        element = _ELEMENT.search(text)
        if element is not None and _is_element_of_host(text, element):
            typed.append(element[2].strip())
            is_answer = is_answer or element[1] in _ANSWER_ELEMENTS
        elif not _is_host_text(text) and text.strip():
            own.append(text)
    if not typed and not own:
        return _HOST_SPEAKER if texts else infer_speaker(record)
    if is_answer:
        return Speaker(HUMAN, STATED, "\n".join(typed + own))
    speaker = infer_speaker(record)
    words = "\n".join(typed + own)
    return speaker if words == "\n".join(texts) else Speaker(speaker.who, speaker.basis, words)


def _is_element_of_host(text: str, element: re.Match[str]) -> bool:
    """Return whether the host wrote an element around words: at the start, or after its own text.

    A person may quote an element elsewhere.
    """
    before = text[: element.start()].strip()
    if not before:
        return True
    return element[1] in _ANSWER_ELEMENTS and (is_text_result(text) or _is_host_text(text))


def _is_host_text(text: str) -> bool:
    """Return whether the host wrote a text."""
    start = text.lstrip()[:80].lower()
    return start.startswith(_HOST_STARTS) or is_text_result(text)
