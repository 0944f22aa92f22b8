"""Commands that rewrite files in place. Step: attribute.

A formatter changes how text is laid out and keeps its tokens; other commands may change anything.
"""

from collections.abc import Sequence

# The words that make a command write, any of them; a command with no such words writes unless it is
# told only to check.
_ALWAYS: tuple[str, ...] = ()
FORMATTERS: dict[str, tuple[str, ...]] = {
    "autopep8": ("-i", "--in-place"),
    "biome": ("--write", "--fix", "--apply", "--apply-unsafe"),
    "black": _ALWAYS,
    "buf": ("-w", "--write"),
    "cargo": ("fmt", "--fix", "fix"),
    "clang-format": ("-i",),
    "dart": ("format", "fix"),
    "deno": ("fmt",),
    "djlint": ("--reformat",),
    "dprint": ("fmt",),
    "eslint": ("--fix",),
    "fieldalignment": ("-fix", "--fix"),
    "gci": ("write", "-w"),
    "go": ("fmt", "fix"),
    "gofmt": ("-w",),
    "gofumpt": ("-w",),
    "goimports": ("-w",),
    "golangci-lint": ("--fix", "fmt"),
    "google-java-format": ("-i", "--replace"),
    "isort": _ALWAYS,
    "ktlint": ("-F", "--format"),
    "markdownlint": ("--fix", "-f"),
    "markdownlint-cli2": ("--fix",),
    "mix": ("format",),
    "modernize": ("-fix", "--fix"),
    "nixfmt": _ALWAYS,
    "oxfmt": _ALWAYS,
    "oxlint": ("--fix",),
    "php-cs-fixer": ("fix",),
    "pint": _ALWAYS,
    "prettier": ("--write", "-w"),
    "rubocop": ("-a", "-A", "--autocorrect", "--autocorrect-all"),
    "ruff": ("format", "--fix"),
    "rustfmt": _ALWAYS,
    "shfmt": ("-w",),
    "sqlfluff": ("fix", "format"),
    "standard": ("--fix",),
    "stylelint": ("--fix",),
    "stylua": _ALWAYS,
    "swiftformat": _ALWAYS,
    "taplo": ("fmt", "format"),
    "terraform": ("fmt",),
    "tofu": ("fmt",),
    "yapf": ("-i", "--in-place"),
    "zig": ("fmt",),
}
_CHECKS = frozenset(
    ["--check", "--diff", "-check", "-diff", "--dry-run", "--lint", "--check-formatted", "-l", "-d"]
)

# Commands that run another one; of those with several words, the second says so.
_RUNNERS = frozenset(
    ["npx", "bunx", "uvx", "pnpx", "command", "sudo", "env", "nice", "nohup", "xvfb-run"]
)
_RUNNING = {
    "pnpm": ("exec", "dlx"),
    "yarn": ("exec", "dlx", "run"),
    "npm": ("exec",),
    "bun": ("x", "run"),
    "uv": ("run",),
    "poetry": ("run",),
    "pipenv": ("run",),
    "hatch": ("run",),
    "rye": ("run",),
    "mise": ("exec", "x"),
    "python": ("-m",),
    "python3": ("-m",),
}


def unwrapped(words: Sequence[str | None]) -> list[str | None]:
    """Leave out what only runs the command: `npx --yes prettier` is `prettier`."""
    rest = list(words)
    while rest and rest[0] is not None:
        name, second = rest[0], rest[1] if rest[1:] else None
        if name in _RUNNERS:
            rest = rest[1:]
        elif name == "timeout" or second in _RUNNING.get(name, ()):
            rest = rest[2:]
        else:
            break
        while (
            rest
            and rest[0] is not None
            and (rest[0].startswith("-") or ("=" in rest[0] and "/" not in rest[0]))
        ):
            rest = rest[1:]
    if rest and rest[0]:
        rest[0] = rest[0].rpartition("/")[2].partition("@")[0] or rest[0]
    return rest


def formats(words: Sequence[str | None]) -> bool | None:
    """Tell whether a command is a formatter that writes; `None` when it is no formatter."""
    name = words[0] if words else None
    if name is None or name not in FORMATTERS:
        return None
    marks = FORMATTERS[name]
    if any(word in _CHECKS for word in words[1:]) and not any(
        word in ("-w", "-i") for word in words[1:]
    ):
        return False
    if marks:
        if any(word in marks for word in words[1:]):
            return True
        # A command that does other things too is no formatter when it does them.
        return (
            None
            if name in ("cargo", "go", "mix", "deno", "dart", "zig", "terraform", "tofu", "buf")
            else False
        )
    return True


def in_place(words: Sequence[str | None]) -> list[str] | None:
    """Give the files that `sed -i` and the like change; `None` when the command is none of them."""
    name = words[0] if words else None
    options = [word for word in words[1:] if word and word.startswith("-")]
    files = [word for word in words[1:] if word and not word.startswith("-")]
    short = [option for option in options if not option.startswith("--")]
    if name in ("sed", "gsed") and any(option.startswith("--in-place") for option in options) | any(
        "i" in option.partition("e")[0] for option in short
    ):
        scripted = any(
            option in ("-e", "-f") or option.startswith("--expression") for option in options
        )
        return files if scripted else files[1:]
    if name in ("perl", "ruby") and any("i" in option.partition("e")[0] for option in short):
        return files if any(option.endswith("e") for option in short) else files[1:]
    if name in ("gawk", "awk") and "inplace" in files:
        return files[1:]
    return None
