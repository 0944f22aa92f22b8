"""What came of a shell call: its exit code and what it printed, however the agent wraps it. Step:
attribute.
"""

import json
import re
from dataclasses import dataclass

from vacr.attribution.calls import DONE, Call

_CODEX_HEAD = re.compile(
    r"\A(?:Warning: truncated output.*\n)?(?:Chunk ID:.*\n)?(?:Exit code: (-?\d{1,5})\n)?Wall "
    r"time:.*\n"
    r"(?:Process (?:exited with code (-?\d{1,5})|(running).*)\n)?(?:.*\n){0,2}?Output:\n"
)
_TOTAL = re.compile(r"\ATotal output lines: \d+\n\n?")
_CUT = re.compile(
    r"(?:…|\.\.\.)\s?\[?\s?(?:omitted )?\d+(?: of \d+)? (?:\w+ )?(?:truncated|omitted)|…\d+ \w+ "
    r"truncated…"
    r"|^\[?\.\.\. ?(?:\[|omitted|output truncated)|<persisted-output>|^Output too "
    r"(?:large|long)|^<bash_metadata>"
    r"|^<shell_metadata>|\[CONTENT TRUNCATED\]",
    re.MULTILINE,
)
_GEMINI = ("Command: ", "Output: ")
_GEMINI_STDERR = re.compile(
    r"\n(?:Error|Stderr): (.*?)\n(?:Exit Code|Error|Signal|Background PIDs|Process Group PGID): ",
    re.DOTALL,
)
_GEMINI_END = re.compile(
    r"\n(?:Error|Stderr|Exit Code|Signal|Background PIDs|Process Group PGID): [\s\S]*\Z"
)


@dataclass(frozen=True, slots=True)
class Result:
    """The exit code where it is told, whether the script came to an end well, and what it printed.

    `cut` when the text does not go on to the end; `stripped` when empty lines at its beginning may
    be missing, `trimmed` when also what its first line is indented by.
    """

    code: int | None
    done: bool
    text: str
    errors: str = ""
    cut: bool = False
    stripped: bool = False
    trimmed: bool = False


def result_of(call: Call) -> Result:
    """Read the result of a call."""
    code, text, errors, over = _unwrapped(call)
    told = call.native.get("exit_code")
    if code is None and isinstance(told, int):
        code = told
    cut = _CUT.search(text)
    if cut:
        text = text[: cut.start()].rpartition("\n")[0]
    elif not over:
        text = text.rpartition("\n")[0]  # the last line may go on
    result = call.native.get("toolUseResult")
    trimmed = not isinstance(result, dict | str) and call.output.startswith(_GEMINI)
    stripped = isinstance(result, dict | str) or trimmed
    done = call.state == DONE and code in (0, None) and over
    return Result(code, done, text, errors, cut is not None or not over, stripped, trimmed)


def _unwrapped(call: Call) -> tuple[int | None, str, str, bool]:
    """Give the exit code, what was printed, what was printed as errors where that is apart, and
    whether the command ended.
    """
    result = call.native.get("toolUseResult")
    if isinstance(result, dict) and isinstance(result.get("stdout"), str):
        over = not result.get("interrupted") and not result.get("backgroundTaskId")
        return (
            (None if call.state == DONE else 1),
            result["stdout"],
            str(result.get("stderr") or ""),
            over,
        )
    head = _CODEX_HEAD.match(call.output)
    if head:
        code, text = head[1] or head[2], call.output[head.end() :]
        return (int(code) if code else None), _TOTAL.sub("", text), "", head[3] is None
    if call.output.startswith(_GEMINI):
        return _gemini(call.output)
    failed = re.match(r"(?:Error: )?Exit code (\d{1,5})\n", call.output)
    if failed:
        return int(failed[1]), call.output[failed.end() :], "", True
    return _told_code(call), _TOTAL.sub("", call.output), "", True


def _gemini(output: str) -> tuple[int | None, str, str, bool]:
    code = re.search(r"^Exit Code: (-?\d{1,5})$", output, re.MULTILINE)
    errors = _GEMINI_STDERR.search(output)
    said = "" if errors is None or errors[1] in ("(none)", "(empty)") else errors[1]
    text = re.sub(r"\A(?:Command: [\s\S]*?\nDirectory: .*\n)?(?:Output|Stdout): ", "", output)
    text = _GEMINI_END.sub("", text)
    return (int(code[1]) if code else None), "" if text == "(empty)" else text, said, True


def _told_code(call: Call) -> int | None:
    """Read the exit code that OpenCode and the first versions of Codex tell apart from the text."""
    state = call.native.get("state")
    metadata = state.get("metadata") if isinstance(state, dict) else call.native.get("metadata")
    output = call.native.get("output")
    if isinstance(output, str) and output.startswith('{"output":'):
        try:
            metadata = json.loads(output).get("metadata")
        except ValueError:
            return None
    code = metadata.get("exit", metadata.get("exit_code")) if isinstance(metadata, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None
