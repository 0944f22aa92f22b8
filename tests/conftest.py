"""Shared by all tests: fixtures, real sessions, a clean environment, and the modes of a run."""

import functools
import gc
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import is_hypothesis_test, settings

from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import recognise_agent
from vacr.record.encoding import compute_record_id, encode_with_id

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
EXAMPLES = ROOT / "examples"
QUICK = os.environ.get("VACR_TESTS") == "quick"
"""Whether to run few examples of each property, and no real sessions: make quick."""
QUICK_EXAMPLES = 5
SEARCHING = os.environ.get("VACR_TESTS") == "search"
"""Whether to search for new examples that break a property: make properties."""
SEARCH_FACTOR = 10
CORPUS = ROOT.parent / "shared" / ("no-corpus" if QUICK else "corpus")
slow = pytest.mark.skipif(QUICK, reason="takes long: make test runs it")
COMPONENT_FOLDERS = ("app", "docs", "faults", "interop", "log")
"""All tests of these folders start services, install packages or need other programs."""

KEPT_VARIABLES = (
    "PATH",
    "HOME",
    "LANG",
    "TMPDIR",
    "VACR_TESTS",
    "VACR_CLAUDE",
    "VACR_CODEX",
    "VACR_GEMINI",
    "VACR_FAULTS",
    "VACR_FUZZ_SEEDS",
    "VACR_FUZZ_STEPS",
    "UPDATE_DIGESTS",
)
KEPT_PREFIXES = (
    "PYTEST_",
    "PIP_",
    "NPM_CONFIG_",
    "SSL_CERT_",
    "NODE_EXTRA_CA_",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)
"""Settings of pip and npm: indexes, certificates, proxies."""

# Tests and the commands they start see the same few variables on every machine. A test sets the
# variables it is about.
for _name in list(os.environ):
    if _name not in KEPT_VARIABLES and not _name.upper().startswith(KEPT_PREFIXES):
        del os.environ[_name]
# A proxy is for registries; the services that tests start are on this machine.
_no_proxy = ",".join(
    filter(
        None, [os.environ.get("no_proxy") or os.environ.get("NO_PROXY"), "localhost,127.0.0.1,::1"]
    )
)
os.environ["NO_PROXY"] = os.environ["no_proxy"] = _no_proxy
# Settings of the user's git, such as commit.gpgSign or init.defaultBranch, must not reach the
# repositories of the tests.
os.environ["GIT_CONFIG_GLOBAL"] = os.devnull
os.environ["GIT_CONFIG_NOSYSTEM"] = "1"

# The trust store of the person who runs the tests must not decide verdicts. The folder is missing.
os.environ["VACR_CONFIG"] = str(Path(tempfile.gettempdir()).resolve() / f"vacr-tests-{os.getpid()}")

# A shell starts background jobs with SIGINT ignored, and their child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A run tries the same examples on every machine, so that a change that breaks a test is the reason
# for its failure. `make properties` searches for examples that nobody has tried yet.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=200)
settings.register_profile("quick", settings.get_profile("default"), max_examples=QUICK_EXAMPLES)
settings.register_profile("search", deadline=None, max_examples=200 * SEARCH_FACTOR)
settings.load_profile("quick" if QUICK else "search" if SEARCHING else "default")
if QUICK:
    os.environ.setdefault("VACR_FUZZ_SEEDS", "10")


def limit_examples(count: int) -> int:
    """Return how many examples a property tries: `count`, fewer for make quick, or many more."""
    if SEARCHING:
        return count * SEARCH_FACTOR
    return min(count, QUICK_EXAMPLES) if QUICK else count


def pytest_ignore_collect(collection_path, config):
    """Skip folders without a single selected test, since importing them takes seconds."""
    if config.option.markexpr == "not component" and collection_path.parent == ROOT / "tests":
        return collection_path.name in COMPONENT_FOLDERS or None
    return None


@functools.cache
def _needs_components(path):
    """Return whether a test module is in a folder whose tests all need other programs."""
    return path.relative_to(ROOT / "tests").parts[0] in COMPONENT_FOLDERS


def pytest_collection_modifyitems(items):
    """Mark the tests of whole folders that need components, and set the number of examples."""
    for item in items:
        if _needs_components(item.path):
            item.add_marker(pytest.mark.component)
        function = getattr(item, "function", None)
        if (QUICK or SEARCHING) and is_hypothesis_test(function):
            # `@settings(max_examples=...)` on a test overrides the profile. There is no public way
            # to override it in turn.
            own = function._hypothesis_internal_use_settings
            if own.max_examples != settings.default.max_examples:
                limited = settings(own, max_examples=limit_examples(own.max_examples))
                function._hypothesis_internal_use_settings = limited


def pytest_runtest_setup(item):
    """Skip permission tests when running as root."""
    if item.get_closest_marker("unprivileged") and os.geteuid() == 0:
        pytest.skip("ROOT: root ignores permissions; .ci/run runs this test as another user")


@pytest.fixture(scope="module")
def browser():
    """Yield a running Chromium, which the tests of a module share."""
    from tests.viewer.browser import start_browser

    with start_browser() as running:
        yield running


@pytest.fixture
def deep(tmp_path):
    """Yield a folder for trees that are too deep for Python to remove."""
    (tmp_path / "deep").mkdir()
    yield tmp_path / "deep"
    subprocess.run(["rm", "-rf", tmp_path / "deep"], check=True)


def read_all(data: bytes, name: str = "session.jsonl", agent: str | None = None) -> list:
    """Read native bytes into the readings they hold."""
    source = Source((SourcePart(name, data),))
    return list(recognise_agent(source, agent).read_labelled(source))


def read_one(data: bytes, name: str = "session.jsonl", agent: str | None = None):
    """Read native bytes into the one reading they hold."""
    (reading,) = read_all(data, name, agent)
    return reading


def stranger(reading) -> dict:
    """Return the record of a reading, parsed from its canonical bytes as others would do."""
    record = json.loads(b"".join(encode_with_id(reading.record)))
    assert compute_record_id(record) == record["id"], "the bytes are not canonical"
    return record


def records_of(data: bytes, agent: str | None = None, name: str = "session.jsonl") -> list[dict]:
    """Read native bytes into records."""
    return [stranger(reading) for reading in read_all(data, name, agent)]


def record_of(data: bytes, agent: str | None = None, name: str = "session.jsonl") -> dict:
    """Read native bytes into the one record they hold."""
    (record,) = records_of(data, agent, name)
    return record


def jsonl(*lines) -> bytes:
    """Write native lines as the agents do."""
    return b"".join(
        json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for line in lines
    )


AGENTS = {
    "claude": "claude-code.jsonl",
    "codex": "codex-cli.jsonl",
    "gemini": "gemini-cli.jsonl",
    "opencode": "opencode.json",
    "cursor": "cursor.jsonl",
}
"""The folder of each agent's sessions → its example."""
AGENTS_WITHOUT_EXAMPLE = {
    "acp": "acp",
    "aider": "aider",
    "amp": "amp",
    "cline": "cline",
    "continue": "continue",
    "copilot": "copilot",
    "copilot-vscode": "copilot-vscode",
    "crush": "crush",
    "droid": "droid",
    "goose": "goose",
    "gptme": "gptme",
    "grok": "grok",
    "hermes": "hermes",
    "iflow": "iflow",
    "kimi": "kimi-code",
    "kimi-cli": "kimi-cli",
    "kimi-code": "kimi-code",
    "mini-swe-agent": "mini-swe-agent",
    "openclaw": "openclaw",
    "openhands": "openhands",
    "pi": "pi",
    "qwen": "qwen-code",
    "roo": "roo-code",
    "swe-agent": "swe-agent",
    "traex": "traex",
    "vibe": "vibe",
    "visualstudio-copilot": "visualstudio-copilot",
    "windsurf": "windsurf",
    "zed": "zed",
}
"""The folders of agents whose sessions are only in the fixtures → the agent."""
FOLDERS = (*AGENTS, *AGENTS_WITHOUT_EXAMPLE)
"""The folders of all agents' sessions."""
COMPANIONS = (
    "meta.json",
    "task_metadata.json",
    ".settings.json",
    "workspace.yaml",
    "index.json",
    "summary.json",
    "signals.json",
    "config.toml",
)
"""The ends of names of files that belong to a session, but are none."""


def native_files(agent: str) -> list[Path]:
    """List the sessions of an agent that are files: our own, and real ones where there are any."""
    own = sorted(
        path
        for suffix in ("jsonl", "json", "txt", "traj", "md")
        for path in (FIXTURES / agent).rglob(f"*.{suffix}")
    )
    own = [
        path
        for path in own
        if not {"storage", "tool-results"} & set(path.parts) and not path.name.endswith(COMPANIONS)
    ]
    real = sorted((CORPUS / agent).glob("*")) if CORPUS.is_dir() else []
    # An input history names no program: it is read only next to the chat that it belongs to.
    real = [path for path in real if not path.name.endswith(".input.history")]
    databases = (b"SQLite format 3", b"\x37\x7f\x06")
    return [
        *([EXAMPLES / AGENTS[agent]] if agent in AGENTS else []),
        *own,
        *(
            path
            for path in real
            if not path.name.endswith(COMPANIONS) and not path.read_bytes().startswith(databases)
        ),
    ]


@pytest.fixture(scope="session", autouse=True)
def _corpus_notice(request):
    if not CORPUS.is_dir():
        print(f"\nno real sessions at {CORPUS.name}: tests run on the project's own fixtures alone")
    del request


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
    """Collect no garbage while thousands of tests are collected, which all stay."""
    gc.disable()


def pytest_collection_finish():
    """Leave the collected tests out of all later garbage collections."""
    gc.freeze()
    gc.enable()
