"""A runner for the actions of this repository: it runs each step in bash, as GitHub does."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.conftest import ROOT

_EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.DOTALL)
_COMMAND = re.compile(r"\s*::([a-z-]+|[0-9a-f]{32})(?: (.*?))?::(.*)")


def load_action(name):
    """Read the file of an action."""
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


def evaluate_expressions(text, contexts):
    """Replace expressions by members of contexts; of alternatives, the first that is not empty."""

    def value(path):
        found = contexts
        for name in path.strip().split("."):
            found = found.get(name, {}) if isinstance(found, dict) else {}
        return found if isinstance(found, str) else ""

    return _EXPRESSION.sub(
        lambda match: next(filter(None, map(value, match[1].split("||"))), ""), text
    )


@dataclass
class ActionResult:
    """The result of an action."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str
    commands: list[tuple[str, dict[str, str], str]] = field(default_factory=list)

    def list_annotations(self, level):
        """Return the file and the message of each annotation of a level."""
        return [
            (properties.get("file", ""), message)
            for name, properties, message in self.commands
            if name == level
        ]


class Runner:
    """A runner with a workspace."""

    def __init__(self, workspace: Path, temporary: Path, environment: dict[str, str]):
        self.workspace, self.temporary, self.environment = workspace, temporary, environment
        temporary.mkdir(exist_ok=True)
        self.number = 0

    def run(self, action, inputs, event=None):
        """Run all steps, until one fails."""
        definition = load_action(action)
        unknown = inputs.keys() - definition["inputs"].keys()
        assert not unknown
        given = {
            name: inputs.get(name, declared.get("default", ""))
            for name, declared in definition["inputs"].items()
        }
        contexts = {"inputs": given, "github": event or {}, "steps": {}}
        summary, log, code = self._file("summary"), "", 0
        for step in definition["runs"]["steps"]:
            output = self._file("output")
            started = self.start(action, step, contexts, output, summary)
            log += started.communicate()[0].decode()
            code = started.returncode
            contexts["steps"][step.get("id", "")] = {
                "outputs": parse_outputs(output.read_text("utf-8"))
            }
            if code:
                break
        outputs = {
            name: evaluate_expressions(output["value"], contexts)
            for name, output in definition["outputs"].items()
        }
        return ActionResult(code, log, outputs, summary.read_text("utf-8"), parse_commands(log))

    def start(self, action, step, contexts, output, summary):
        """Start one step, in the shell that it names."""
        assert step["shell"] == "bash"
        script = self._file("step.sh")
        script.write_text(evaluate_expressions(step["run"], contexts))
        environment = {
            **self.environment,
            "GITHUB_ACTION_PATH": str((ROOT / action).parent),
            "GITHUB_WORKSPACE": str(self.workspace),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(self.temporary),
            **{
                name: evaluate_expressions(value, contexts)
                for name, value in step.get("env", {}).items()
            },
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        pipes = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.STDOUT,
        }
        return subprocess.Popen(command, cwd=self.workspace, env=environment, **pipes)

    def _file(self, name):
        self.number += 1
        path = self.temporary.parent / f"{self.number}-{name}"
        path.touch()
        return path


def parse_outputs(text):
    """Parse a file of outputs."""
    found, lines = {}, iter(text.split("\n"))
    for line in lines:
        if line:
            name, _, end = line.partition("<<")
            assert end, line
            found[name] = "\n".join(iter(lambda: next(lines), end))
    return found


def parse_commands(log):
    """Return the commands in a log that GitHub would execute."""
    found, stopped = [], None
    for line in log.split("\n"):
        command = _COMMAND.match(line)
        if stopped is not None:
            stopped = None if line.strip() == f"::{stopped}::" else stopped
        elif command and command[1] == "stop-commands":
            stopped = command[3]
        elif command:
            properties = dict(pair.split("=", 1) for pair in (command[2] or "").split(",") if pair)
            found.append(
                (
                    command[1],
                    {name: _unescape(value) for name, value in properties.items()},
                    _unescape(command[3]),
                )
            )
        else:
            assert "##[" not in line, line
    assert stopped is None
    return found


def _unescape(text):
    for code, letter in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(code, letter)
    return text
