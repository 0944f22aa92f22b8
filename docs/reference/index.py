"""The index of the reference: the list of verbs, and rules common to all verbs."""

from __future__ import annotations

from collections.abc import Sequence

from options import prose
from verbs import Verb

from vacr.cli import EXIT_CODES

_PAGE = r"""# The command line

Generated from the commands by `make docs`; do not edit.

```
vacr VERB [OPTIONS] [ARGUMENTS]
```

`vacr --help` and `vacr VERB --help` print a short version, and `vacr --version` the version. `vacr completion SHELL` prints a script by
which a shell completes verbs, options and names.

| verb | purpose |
| --- | --- |
{verbs}
## Where output goes

Results go to standard output, everything else to standard error. `--format json` prints results as [documents for programs](../json-output.md);
`-q` prints errors only, `-v` prints more. With `-o -`, a verb writes its output file to standard output.

## Exit codes

| exit code | meaning | when |
| --- | --- | --- |
{exits}
When standard output or standard error cannot be written:

| event | effect | exit code |
| --- | --- | --- |
| a write to standard output fails, for example on a full disk | the verb stops and reports it | 3 |
| the program that reads standard output ends (`vacr verify … \| head`) | the verb continues without printing; `vacr show` stops | the verb's own |
| standard output is closed from the start (`>&-`) | the verb does not start | 3 |
| standard error is closed, or a write to it fails | the verb continues; only messages are lost | the verb's own |

## Environment variables

Every option can be set by the variable that its page names; the command line takes precedence. Set a flag with `1` or `true`. For a
repeatable option, separate values by spaces; separate files and folders by `:`, on Windows by `;`.

| other variable | meaning |
| --- | --- |
| `VACR_STATE` | the state folder: spool, journal, keys of this machine, outbox, index. Default: `$XDG_STATE_HOME/vacr`, or `~/.local/state/vacr` |
| `VACR_OUTBOX` | the folder of statements that wait for a service. Default: `outbox` in the state folder |
| `VACR_REGISTER_TOKEN`, `VACR_SEAL_TOKEN`, `VACR_WATCH_TOKEN` | the token for the service, unless `--token-file` is set |
| `VACR_DEBUG` | print a stack trace for bugs |
| `TPM2TOOLS_TCTI` | the TPM to use, unless `--tcti` is set |
| `NO_COLOR` | no colours in `vacr show` |
"""

_WHEN = {
    0: "everything is done, and all checks passed",
    1: (
        "a record, signature, receipt or digest is invalid, a record was modified, a policy is "
        "not met, or nothing matches"
    ),
    2: "an option or argument is missing, unknown or contradictory",
    3: (
        "an input cannot be read or has an unknown format, or an output cannot be written; "
        "nothing was decided"
    ),
    4: "a service, cluster, device or trusted key cannot be reached",
    5: "everything is done, but there are findings to look at",
    70: "a bug in vacr; please report it",
    130: "interrupted by Ctrl-C",
}


def page(found: Sequence[Verb]) -> str:
    """Write the index."""
    listed = "".join(f"| {_links(verb)} | {verb.does} |\n" for verb in found)
    exits = "".join(
        f"| {code} | {prose(meaning)} | {_WHEN[code]} |\n" for code, meaning in EXIT_CODES.items()
    )
    return _PAGE.format(verbs=listed, exits=exits)


def _links(verb: Verb) -> str:
    own = f"[{verb.path}]({verb.file})"
    below = [
        f"[{sub_verb.path.split()[-1]}]({verb.file}#vacr-{sub_verb.path.replace(' ', '-')})"
        for sub_verb in verb.below()
    ]
    return f"{own}: {', '.join(below)}" if below else own
