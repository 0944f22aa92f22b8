"""Commands that only read, and leave every file of a project as it is.

Some commands never write. Others only read with certain verbs or options, such as `go vet` and
`bash -n`; they count unless another word makes them write. Caches and reports in a home folder do
not count as files of a project. Test runners such as pytest stay out: a test may write any file.
`flutter test` is the exception: agents run it after most changes, and its tests draw widgets in
memory. It needs `--update-goldens` to write its expected pictures.

    >>> from vacr.attribution.shell.read_only import is_read_only_command
    >>> is_read_only_command("dart analyze lib".split())
    True
    >>> is_read_only_command("dart fix --apply".split())
    False
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from vacr.attribution.shell.words import CommandWords

# Commands that change no file of a project, except with some options and programs.
_READ_ONLY_NAMES = """
[ alias awk basename cat cd chmod cmp column command cut date df diff dirname du echo egrep env
export expr false fd fgrep file find gh git grep head hexdump history id jq kill less locale ls
lsof md5sum mkdir nl od paste pgrep popd printf ps pushd pwd readlink realpath rg rmdir sed seq
set sha256sum shasum sleep sort stat strings tail tee test time top touch tr tree true type
uname uniq unset wait wc which whoami xargs xxd yes yq :
actionlint ast-grep bat bc cksum cloc comm exa eza fzf glow hadolint host ifconfig ip
journalctl launchctl lsb_release man mdls netstat nm nslookup objdump otool ping plutil printenv
rga scc sg sha1sum sips ss sw_vers systemctl tput tty ulimit vale xcode-select xmllint yamllint
zipinfo
Get-ChildItem Get-Content Get-Item Get-Location Get-Process Measure-Object Select-Object
Select-String Set-Location Sort-Object Test-Path Where-Object Write-Host Write-Output Format-Table
"""
READ_ONLY_COMMANDS = frozenset(_READ_ONLY_NAMES.split())
"""Names of commands that only read; `find_written_files` knows the exceptions."""

_RTK_READING_VERB_NAMES = "deps gain json log ls read smart"
RTK_READING_VERBS = frozenset(_RTK_READING_VERB_NAMES.split())

# Commands that only read with one of these words as their first argument.
_READ_ONLY_VERBS = {
    "cargo": "search version",
    "dart": "analyze info",
    "docker": "images info inspect logs port ps stats top version",
    "flutter": "analyze devices doctor test",
    "go": "doc list version vet",
    "kubectl": "describe explain get logs top version",
    "npm": "explain info list ls outdated root search show view whoami why",
    "pip": "check freeze index list show",
    "pip3": "check freeze index list show",
    "pnpm": "list ls outdated why",
    "rtk": _RTK_READING_VERB_NAMES,
    "tmux": "capture-pane list-panes list-sessions list-windows ls",
    "yarn": "info list why",
}
# Commands that only read with one of these options; it precedes the first operand, except of tsc.
_CHECKING_OPTIONS = {
    "bash": ("-n",),
    "dash": ("-n",),
    "fish": ("-n", "--no-execute"),
    "ksh": ("-n",),
    "node": ("-c", "--check"),
    "php": ("-l",),
    "ruby": ("-c",),
    "sh": ("-n",),
    "tsc": ("--noEmit",),
    "vue-tsc": ("--noEmit",),
    "zsh": ("-n",),
}
_INTERPRETERS = _CHECKING_OPTIONS.keys() - {"tsc", "vue-tsc"}
# Checkers of source files. None of them runs the code that it checks.
_CHECKER_NAMES = """
cppcheck gosec luacheck mypy pycodestyle pydocstyle pyflakes pyright revive shellcheck staticcheck
ty vulture
"""
_CHECKERS = frozenset(_CHECKER_NAMES.split())
# Options that change neither what these commands do nor where they write. Any other may write a
# file, run code or change the project, as `ty check --add-ignore` and `go vet -toolexec` do.
_HARMLESS_OPTION_NAMES = """
a all analysis checks check-untyped-defs color config-file d depth e enable exclude
explicit-package-bases f fatal-infos fatal-warnings format follow follow-imports g global
ignore-missing-imports include inline-suppr json l language level limit long m max-complexity
min-confidence n name namespace no-color no-error-summary no-fatal-infos no-fatal-warnings
no-incremental no-pub outputjson p plain-name pretty production project python-platform
python-version pythonpath q quiet s select set-exit-status severity shell show-column-numbers
show-error-codes skipLibCheck std stats strict style suppress tags tail top-level v verbose x
"""
_HARMLESS_OPTIONS = frozenset(_HARMLESS_OPTION_NAMES.split())
_WRITING_WORDS = frozenset(["false", "fix"])
"""Words that turn a check off, as in `tsc --noEmit false`, or ask for changes."""

_HELP_OPTIONS = ("--help", "--version")
_PLAIN_WORD = re.compile(r"[a-z][a-z0-9-]*")
# Commands that pass `--help` on to code of the project.
_CODE_RUNNER_NAMES = """
bash bun cargo dash deno dotnet fish go gradle gradlew just make mise mvn node npm nox nx perl php
pnpm poe py pwsh python python3 rake ruby sh task tox ts-node tsx turbo wsl yarn zsh
"""
_CODE_RUNNERS = frozenset(_CODE_RUNNER_NAMES.split())


def is_read_only_command(words: CommandWords) -> bool:
    """Return whether a command without wrappers leaves the files of a project as they are.

    It knows the commands that only read with certain words. Those of `READ_ONLY_COMMANDS` are left
    out: `find_written_files` knows their options. Redirections
    are not part of the words. An unknown word is `None`: it may be any option.
    """
    known = [word for word in words if word is not None]
    if not known or len(known) < len(words):
        return False
    name, *arguments = known
    if _asks_for_help(name, arguments):
        return True
    if not all(_is_harmless(name, argument) for argument in arguments):
        return False
    if name in _CHECKERS:
        return True
    if name in _CHECKING_OPTIONS:
        return _has_checking_option(name, arguments)
    return bool(arguments) and arguments[0] in _READ_ONLY_VERBS.get(name, "").split()


def _is_harmless(name: str, argument: str) -> bool:
    """Return whether an argument cannot make a command write; options must be known ones."""
    if not argument.startswith("-"):
        return argument not in _WRITING_WORDS
    option = argument.lstrip("-").partition("=")[0]
    is_checking = argument in _CHECKING_OPTIONS.get(name, ())
    return is_checking or (name not in _INTERPRETERS and option in _HARMLESS_OPTIONS) or not option


def _asks_for_help(name: str, arguments: Sequence[str]) -> bool:
    """Return whether a command only prints its help or version, as `bd update --help` does.

    Code of the project may ignore these options, so interpreters and runners need them alone.
    """
    if not arguments or arguments[-1] not in _HELP_OPTIONS or not _PLAIN_WORD.fullmatch(name):
        return False
    verbs = arguments[:-1]
    if arguments[-1] == "--version" or name in _CODE_RUNNERS:
        return not verbs
    return all(map(_PLAIN_WORD.fullmatch, verbs))


def _has_checking_option(name: str, arguments: Sequence[str]) -> bool:
    """Return whether an option at a place where it counts makes a command only check."""
    options = _CHECKING_OPTIONS[name]
    for argument in arguments:
        if argument in options:
            return True
        if not argument.startswith("-") and not name.endswith("tsc"):
            return False
    return False
