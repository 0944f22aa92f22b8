"""Which tool of which agent does what to files. Step: attribute.

This table is what attribution knows about tools: a new tool is a new row. `VERSION` is part of
every attribution, because a row changes what a session is found to have done.
"""

from typing import Any

VERSION = 3

# What a tool does.
OBSERVE, REPLACE, WRITE, PATCH, SHELL, SCRIPT, SEARCH, GATHER, SKETCH, DELETE, NOTHING = (
    "observe",
    "replace",
    "write",
    "patch",
    "shell",
    "script",
    "search",
    "gather",
    "sketch",
    "delete",
    "nothing",
)

TOOLS: dict[str, dict[str, str]] = {
    "claude-code": {
        "Read": OBSERVE,
        "Edit": REPLACE,
        "MultiEdit": REPLACE,
        "Write": WRITE,
        "NotebookEdit": SKETCH,
        "Bash": SHELL,
        "PowerShell": SHELL,
        "Grep": SEARCH,
        "Glob": NOTHING,
        "LS": NOTHING,
        "NotebookRead": NOTHING,
        "LSP": NOTHING,
    },
    "codex-cli": {
        "apply_patch": PATCH,
        "shell": SHELL,
        "shell_command": SHELL,
        "exec_command": SHELL,
        "local_shell": SHELL,
        "container.exec": SHELL,
        "exec": SCRIPT,
        "read_file": OBSERVE,
        "list_dir": NOTHING,
        "grep_files": NOTHING,
        "view_image": NOTHING,
    },
    "gemini-cli": {
        "read_file": OBSERVE,
        "replace": REPLACE,
        "edit": REPLACE,
        "edit_file": REPLACE,
        "write_file": WRITE,
        "run_shell_command": SHELL,
        "glob": NOTHING,
        "grep_search": SEARCH,
        "search_file_content": SEARCH,
        "list_directory": NOTHING,
        "read_many_files": GATHER,
    },
    "opencode": {
        "read": OBSERVE,
        "edit": REPLACE,
        "multiedit": REPLACE,
        "write": WRITE,
        "apply_patch": PATCH,
        "patch": PATCH,
        "bash": SHELL,
        "grep": SEARCH,
        "glob": NOTHING,
        "list": NOTHING,
        "lsp": NOTHING,
        "webfetch": NOTHING,
    },
    "cursor": {
        "Read": OBSERVE,
        "read_file": OBSERVE,
        "read_file_v2": OBSERVE,
        "Write": WRITE,
        "write": WRITE,
        "StrReplace": REPLACE,
        "search_replace": REPLACE,
        "MultiStrReplace": REPLACE,
        "edit_file": SKETCH,
        "edit_file_v2": SKETCH,
        "EditNotebook": SKETCH,
        "edit_notebook": SKETCH,
        "ApplyPatch": PATCH,
        "apply_patch": PATCH,
        "Delete": DELETE,
        "delete_file": DELETE,
        "Shell": SHELL,
        "Bash": SHELL,
        "run_terminal_cmd": SHELL,
        "run_terminal_command": SHELL,
        "run_terminal_command_v2": SHELL,
        "Grep": NOTHING,
        "Glob": NOTHING,
        "LS": NOTHING,
        "grep": NOTHING,
        "list_dir": NOTHING,
        "file_search": NOTHING,
        "glob_file_search": NOTHING,
        "ReadLints": NOTHING,
        "read_lints": NOTHING,
    },
}

# Hosts that refuse to change a file that has changed since they showed it.
CHECKING = frozenset(["claude-code", "opencode"])

# What the arguments are called.
PATHS = (
    "file_path",
    "filePath",
    "path",
    "target_file",
    "targetFile",
    "relativeWorkspacePath",
    "absolute_path",
    "notebook_path",
    "target_notebook",
    "filename",
)
OLD = ("old_string", "oldString", "old_str", "oldText")
NEW = ("new_string", "newString", "new_str", "newText")
EVERY = ("replace_all", "replaceAll", "allow_multiple")
TEXT = ("content", "contents", "file_text", "text")
PATCHES = ("patchText", "patch_text", "patch", "input")
COMMANDS = ("command", "cmd", "script", "code")
FOLDERS = ("workdir", "cwd", "directory", "dir_path", "working_directory")


def text(arguments: Any, names: tuple[str, ...]) -> str | None:
    """Give the first argument of these names that is a text."""
    if isinstance(arguments, dict):
        for name in names:
            if isinstance(arguments.get(name), str):
                return str(arguments[name])
    return None
