r"""Calls and results that Cline and Roo Code write into the text of messages.

Until 2025, the model asked for a tool in XML, at most one in a message:

    >>> from vacr.agents.cline.text_calls import parse_text_call
    >>> text = "I write it.\n\n<write_to_file>\n<path>a.py</path>\n<content>\nx = 1\n</content>\n"
    >>> parse_text_call(text + "</write_to_file>")
    ('write_to_file', {'path': 'a.py', 'content': '\nx = 1\n'})

The host answers in the next user message, in text as well. Sessions with calls in blocks may also
have results in text:

    >>> from vacr.agents.cline.text_calls import find_text_results
    >>> blocks = [{"type": "text", "text": "[write_to_file for 'a.py'] Result:\nSaved."}]
    >>> find_text_results(blocks)
    [('write_to_file', 'Saved.')]

A text counts as a call only in its whole form: a known tool at the start of a line, and its end.
"""

from __future__ import annotations

import re
from typing import Any

from vacr.agents.lift import parse_names

TEXT_TOOLS = parse_names(
    """
    access_mcp_resource apply_diff ask_followup_question attempt_completion browser_action
    codebase_search condense edit_file execute_command explain_changes fetch_instructions
    focus_chain generate_explanation generate_image insert_content list_code_definition_names
    list_files load_mcp_documentation new_rule new_task plan_mode_respond read_command_output
    read_file replace_in_file report_bug run_slash_command search_and_replace search_files
    search_replace summarize_task switch_mode update_todo_list use_mcp_tool use_skill use_subagents
    web_fetch web_search write_to_file
    """
)
"""The tools that are known to occur in XML."""

_CALL_START = re.compile(r"^<([a-z_]{3,40})>[ \t]*$|^<([a-z_]{3,40})>[ \t]*(?=<)", re.MULTILINE)
_PARAMETER = re.compile(r"<([A-Za-z_]{1,40})>")
_GREEDY_PARAMETERS = frozenset(("arguments", "args", "content", "diff"))
"""Parameters whose text may hold the tag that closes them; the last such tag closes them."""

_RESULT_START = re.compile(r"\[([a-z_]{3,40})(?= for '|\] Result:)")
_SKIPPED_CALL = re.compile(r"Tool \[([a-z_]{3,40})\] was not executed because ")
_RESULT_MARK = "] Result:"
_QUOTED_RESULT_MARK = "'] Result:"
_HOST_BLOCK_STARTS = ("<environment_details>", "# task_progress", "# TODO LIST")


def parse_text_call(text: str) -> tuple[str, dict[str, str]] | None:
    """Return the tool and the parameters of the first call in a text, or None without a call."""
    for match in _CALL_START.finditer(text):
        tool = match[1] or match[2]
        if tool not in TEXT_TOOLS:
            continue
        end = text.rfind(f"</{tool}>", match.end())
        if end >= 0:
            return tool, _parse_parameters(text[match.end() : end])
    return None


def _parse_parameters(body: str) -> dict[str, str]:
    """Return the parameters between the tags of a call; unclosed ones are left out."""
    parameters: dict[str, str] = {}
    position = 0
    while match := _PARAMETER.search(body, position):
        name = match[1]
        closing = f"</{name}>"
        find = body.rfind if name in _GREEDY_PARAMETERS else body.find
        end = find(closing, match.end())
        if end < 0:
            position = match.end()
            continue
        parameters[name] = body[match.end() : end]
        position = end + len(closing)
    return parameters


def find_text_results(content: Any) -> list[tuple[str, str]]:
    """Return the tool and the text of each result in a user message, in order."""
    if type(content) is str:
        content = [{"type": "text", "text": content}]
    if type(content) is not list:
        return []
    texts = [block.get("text") if type(block) is dict else None for block in content]
    results = []
    for number, text in enumerate(texts):
        if type(text) is not str or (parsed := _parse_result(text)) is None:
            continue
        tool, output = parsed
        if not output.strip() and number + 1 < len(texts):
            # Earlier versions wrote the result into a block of its own.
            following = texts[number + 1]
            if type(following) is str and not _is_host_block(following):
                output = following
        results.append((tool, output))
    return results


def is_text_result(text: str) -> bool:
    """Return whether a text is a result that the host wrote."""
    return _parse_result(text) is not None


def is_result_head(text: str) -> bool:
    """Return whether a text is the head of a result whose text is the next block."""
    parsed = _parse_result(text)
    return parsed is not None and not parsed[1].strip()


def _parse_result(text: str) -> tuple[str, str] | None:
    """Return the tool and the text of a result, or None for another text."""
    match = _RESULT_START.match(text)
    if match is None:
        skipped = _SKIPPED_CALL.match(text)
        return (skipped[1], text) if skipped else None
    mark = _QUOTED_RESULT_MARK if text.startswith(" for '", match.end()) else _RESULT_MARK
    _, found, output = text.partition(mark)
    return (match[1], output[output[:1] in ("\n", " ") :]) if found else None


def _is_host_block(text: str) -> bool:
    """Return whether a text is a block that the host adds to messages, or another result."""
    return text.lstrip().startswith(_HOST_BLOCK_STARTS) or is_text_result(text)
