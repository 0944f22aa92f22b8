"""The index of the reference: the verbs, and what all of them have in common."""

from __future__ import annotations

from collections.abc import Sequence

from options import prose
from verbs import Verb

from vacr.cli import EXIT_CODES

_PAGE = r"""# The command line

Made from the commands themselves by `make docs`; do not edit.

```
vacr VERB [OPTIONS] [ARGUMENTS]
```

`vacr --help` and `vacr VERB --help` say the same in short, `vacr --version` says which version it is, and `vacr completion SHELL` has a
shell complete verbs, options and names.

| verb | what it does |
| --- | --- |
{verbs}
## Where output goes

Results go to standard output, all else to standard error. `--format json` prints results as [documents for programs](../json-output.md);
`-q` prints errors only, `-v` more. Where `-o` takes `-`, what is made goes to standard output itself.

## Exit codes

| exit code | meaning | when |
| --- | --- | --- |
{exits}
When standard output or standard error cannot be written:

| what happens | what the verb does | exit code |
| --- | --- | --- |
| there is no room for standard output, or a write to it fails | stops and reports it | 3 |
| the program that reads standard output ends (`vacr verify … \| head`) | goes on without printing; `vacr show` stops | the verb's own, so far |
| standard output is closed from the start (`>&-`) | does not start | 3 |
| standard error is closed, or a write to it fails | goes on; only messages are lost | the verb's own |

## Environment variables

Every option can be given by the variable that its page names; the command line comes first. A flag is set by `1` or `true`. Several values
of an option that may be given again are separated by spaces; of files and folders by `:`, and by `;` on Windows.

| other variable | meaning |
| --- | --- |
| `VACR_STATE` | the folder of what outlasts a command: spool, journal, keys of this machine, outbox. Default: `$XDG_STATE_HOME/vacr`, or `~/.local/state/vacr` |
| `VACR_OUTBOX` | the folder of statements that wait for a service. Default: `outbox` in the state folder |
| `VACR_REGISTER_TOKEN`, `VACR_SEAL_TOKEN`, `VACR_WATCH_TOKEN` | the token for the service, where `--token-file` names none |
| `VACR_DEBUG` | show where in vacr a bug is |
| `TPM2TOOLS_TCTI` | how the TPM is reached, where `--tcti` does not say it |
| `NO_COLOR` | no colours in `vacr show` |
"""

_WHEN = {
    0: "all that was asked for is done, and what was checked holds",
    1: (
        "a record is invalid, a signature, receipt or digest does not hold, a policy is not "
        "met, or there is nothing of what was asked for"
    ),
    2: "an option, a name or a combination that does not exist",
    3: (
        "an input cannot be read, or is of no known kind, or an output cannot be written: there "
        "is no verdict"
    ),
    4: "a service, a cluster, a device, or something that trust rests on cannot be reached",
    5: "all is done, and something is worth a look",
    70: "it is our fault: please report it",
    130: "by Ctrl-C",
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
        f"[{one.path.split()[-1]}]({verb.file}#vacr-{one.path.replace(' ', '-')})"
        for one in verb.below()
    ]
    return f"{own}: {', '.join(below)}" if below else own
