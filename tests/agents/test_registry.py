"""Agents from other packages are found by entry point; sources are recognised by content."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import vacr
from tests.agents import independent, rebuild
from tests.conftest import (
    AGENTS_WITHOUT_EXAMPLE,
    CORPUS,
    EXAMPLES,
    FIXTURES,
    FOLDERS,
    jsonl,
    native_files,
    slow,
)
from vacr.agents.agent import Source, SourcePart
from vacr.agents.registry import load_agents, recognise_agent
from vacr.errors import UnreadableInput
from vacr.record import encode_with_id
from vacr.signing import KeySigner, generate_key

READER = """
from vacr.agents import Agent, SessionBuilder, parse_json_documents

class Parrot(Agent):
    name = "parrot"
    formats = ("parrot-jsonl",)

    def recognises(self, sample):
        return sum(isinstance(value, dict) and "squawk" in value for value in sample) / len(sample)

    def read(self, source):
        session = SessionBuilder("parrot-jsonl", "parrot")
        session.session_id = "cage"
        for _, lines in parse_json_documents(source.main.data):
            entries = ({"type": "assistant", "content": line["squawk"]} for line in lines)
            session.entries.extend(entries)
        yield session.reading(source)
"""


def install(folder, name, target):
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[vacr.agents]\n{name} = {target}\n")


def run(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "vacr", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_third_party_adds_a_reader_by_entry_point(tmp_path):
    install(tmp_path, "parrot", "parrot_reader:Parrot")
    (tmp_path / "parrot_reader.py").write_text(READER)
    (tmp_path / "session.txt").write_text('{"squawk": "hello"}\n{"squawk": "again"}\n')
    done = run(tmp_path, "record", "session.txt")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "session.acr.json").read_bytes())
    assert [entry["content"] for entry in record["session"]["entries"]] == ["hello", "again"]
    assert run(tmp_path, "validate", "session.acr.json").returncode == 0
    assert "parrot" in run(tmp_path, "record", "session.txt", "--agent", "nobody").stderr


SEPARATE_CALLS = """
from vacr.agents import Agent, SessionBuilder

class Parrot(Agent):
    name = "parrot"
    formats = ("parrot-json",)
    separate_call_formats = formats

    def recognises(self, sample):
        return sum(isinstance(value, dict) and "squawk" in value for value in sample) / len(sample)

    def read(self, source):
        session = SessionBuilder("parrot-json", "parrot")
        session.session_id = "cage"
        call = {"type": "tool-call", "name": "fly", "call-id": "c1", "input": {}}
        words = [{"type": "text", "text": "hello"}]
        message = {"type": "assistant", "content": words, "children": [call]}
        session.entries.append(message)
        yield session.reading(source)
"""


def test_plugin_may_store_calls_outside_the_content(tmp_path):
    install(tmp_path, "parrot", "parrot_reader:Parrot")
    (tmp_path / "parrot_reader.py").write_text(SEPARATE_CALLS)
    (tmp_path / "session.txt").write_text('{"squawk": "hello"}\n')
    assert run(tmp_path, "record", "session.txt").returncode == 0
    done = run(tmp_path, "validate", "session.acr.json", "-v")
    assert (done.returncode, "an agent that knows this format" in done.stdout) == (0, False)
    (tmp_path / "parrot_reader.py").write_text(
        SEPARATE_CALLS.replace("    separate_call_formats = formats\n", "")
    )
    done = run(tmp_path, "validate", "session.acr.json")
    assert done.returncode == 1
    assert "number of calls, results and reasoning: 1, expected 0, as in the message" in done.stdout


def test_record_of_an_agent_that_is_not_installed_is_valid_with_a_remark(tmp_path):
    install(tmp_path / "plugin", "parrot", "parrot_reader:Parrot")
    (tmp_path / "plugin" / "parrot_reader.py").write_text(SEPARATE_CALLS)
    (tmp_path / "plugin" / "session.txt").write_text('{"squawk": "hello"}\n')
    assert run(tmp_path / "plugin", "record", "session.txt").returncode == 0
    record = tmp_path / "plugin" / "session.acr.json"
    done = run(tmp_path, "validate", record, "--format", "json")
    assert done.returncode == 0, done.stdout
    (verdict,) = json.loads(done.stdout)["results"]
    assert "1 more children than parts of the message" in [
        remark["found"] for remark in verdict["remarks"]
    ]


WRITER = """
from vacr.agents import Agent, SessionBuilder, ToolEffect

class Parrot(Agent):
    name = "parrot"
    formats = ("parrot-jsonl",)
    tools = {"perch": ToolEffect.WRITE}

    def recognises(self, sample):
        return sum(isinstance(value, dict) and "squawk" in value for value in sample) / len(sample)

    def read(self, source):
        session = SessionBuilder("parrot-jsonl", "parrot")
        session.session_id, session.working_dir = "cage", "/app"
        arguments = {"path": "/app/a.py", "content": "one\\n"}
        call = {"type": "tool-call", "name": "perch", "call-id": "c1", "input": arguments}
        result = {"type": "tool-result", "call-id": "c1", "output": "done"}
        session.entries += [call, result]
        yield session.reading(source)
"""


@slow
def test_verification_fails_where_the_agent_is_missing_or_broken(tmp_path):
    plugin = tmp_path / "plugin"
    install(plugin, "parrot", "parrot_reader:Parrot")
    (plugin / "parrot_reader.py").write_text(WRITER)
    (plugin / "session.txt").write_text('{"squawk": "hello"}\n')
    assert run(plugin, "key", "generate", "-o", "keys").returncode == 0
    done = run(plugin, "seal", "session.txt", "--key", "keys/signing.pem", "-o", ".")
    assert "lines: 1 ai" in done.stdout, done.stderr
    verify = ("verify", "plugin/session.acr.json", "--trust", "plugin/keys/signing.pub.pem")
    reason = "cannot recompute the attribution: the agent 'parrot' is not installed here"
    done = run(tmp_path, *verify)
    assert (done.returncode, f"✗ attribution: {reason}" in done.stdout) == (1, True), done.stdout
    assert "attribution-undecided" in done.stdout + done.stderr
    assert "Install the plugin of the agent." in done.stdout + done.stderr
    done = run(tmp_path, "attribute", "--check", "plugin/session.acr.json")
    assert (done.returncode, reason in done.stdout) == (1, True)
    (tmp_path / "parrot_reader.py").write_text(WRITER)
    install(tmp_path, "parrot", "parrot_reader:Parrot")
    assert "✓ attribution: recomputed, identical" in run(tmp_path, *verify).stdout
    (tmp_path / "parrot_reader.py").write_text(WRITER + BROKEN_METHODS["file_actions"])
    done = run(tmp_path, *verify)
    reason = "cannot recompute the attribution: the agent plugin 'parrot' failed in file_actions"
    assert (done.returncode, f"✗ attribution: {reason}" in done.stdout) == (1, True), done.stdout


BROKEN_METHODS = {
    "recognises": "    def recognises(self, sample):\n        return 1 / 0\n",
    "read": "    def read(self, source):\n        yield 1 / 0\n",
    "file_actions": "    def file_actions(self, call):\n        yield 1 / 0\n",
    "call_reports": """
    def call_reports(self, entries):
        return Reports()

class Reports(CallReports):
    def about(self, call_id, result):
        return 1 / 0
""",
}


@slow
@pytest.mark.parametrize("method", BROKEN_METHODS)
def test_failure_of_a_plugin_names_the_plugin_and_the_file(tmp_path, method):
    install(tmp_path, "parrot", "parrot_reader:Parrot")
    source = WRITER.replace("import Agent", "import Agent, CallReports")
    (tmp_path / "parrot_reader.py").write_text(source + BROKEN_METHODS[method])
    (tmp_path / "session.txt").write_text('{"squawk": "hello"}\n')
    name = "about" if method == "call_reports" else method
    reason = f"the agent plugin 'parrot' failed in {name}: ZeroDivisionError: division by zero"
    assert run(tmp_path, "key", "generate", "-o", "keys").returncode == 0
    for arguments in (
        ("attribute", "session.txt"),
        ("replay", "session.txt"),
        ("seal", "session.txt", "--key", "keys/signing.pem", "-o", "sealed"),
        *([("record", "session.txt")] if method in ("recognises", "read") else ()),
    ):
        done = run(tmp_path, *arguments)
        assert done.returncode == 3, done.stderr
        assert done.stderr.startswith("vacr: session.txt: "), done.stderr
        assert reason in done.stderr
        assert "author of the plugin" in done.stderr
        assert "bug in vacr" not in done.stderr
        debugged = run(tmp_path, *arguments, VACR_DEBUG="1")
        assert 'parrot_reader.py", line' in debugged.stderr


FORMATS = {
    "an invented format": "made-up",
    "no format": None,
    "a format of another agent": "gemini-json",
    "a list": ["claude-jsonl"],
    "a map": {"claude-jsonl": 1},
}


@pytest.mark.parametrize("native_format", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("agent", ["claude-code", "ghost-agent", "Claude-Code"])
def test_false_format_or_agent_does_not_hide_an_added_call(native_format, agent):
    (record,) = vacr.read(EXAMPLES / "claude-code.jsonl")
    message = next(
        entry
        for entry in record["session"]["entries"]
        if entry["type"] == "assistant" and isinstance(entry["content"], list)
    )
    added = {"type": "tool-call", "name": "Write", "call-id": "x", "input": {}}
    message["children"] = [*message.get("children", []), added]
    record["session"]["agent-meta"]["cli-name"] = agent
    if native_format is None:
        del record["vacr"]["source"]["format"]
    else:
        record["vacr"]["source"]["format"] = native_format
    data = b"".join(encode_with_id(record))
    assert agent != "claude-code" or not vacr.validate(record).valid
    signer = KeySigner(generate_key("eddsa"))
    statement = vacr.sign(data, signer)
    with pytest.raises(vacr.VerificationFailed):
        vacr.verify(statement, vacr.Policy(keys=(signer.public_key,)), payload=data)


def test_many_remarks_do_not_hide_an_added_call():
    (record,) = vacr.read(EXAMPLES / "claude-code.jsonl")
    entries = record["session"]["entries"]
    message = next(
        entry
        for entry in entries
        if entry["type"] == "assistant" and isinstance(entry["content"], list)
    )
    added = {"type": "tool-call", "name": "Write", "call-id": "x", "input": {}}
    message["children"] = [*message.get("children", []), added]
    odd_usage = {"type": "user", "content": "x", "token-usage": {"input": 1, "cached": 2}}
    entries[:0] = [dict(odd_usage) for _ in range(200)]
    record["session"]["agent-meta"]["cli-name"] = "ghost-agent"
    data = b"".join(encode_with_id(record))
    assert vacr.validate(record).valid
    signer = KeySigner(generate_key("eddsa"))
    policy = vacr.Policy(keys=(signer.public_key,))
    with pytest.raises(vacr.VerificationFailed, match="children") as failure:
        vacr.verify(vacr.sign(data, signer), policy, payload=data)
    assert "'ghost-agent' is not installed here" in failure.value.hint


def test_reader_that_fails_to_load_is_named(tmp_path):
    install(tmp_path, "broken", "no_such_module")
    done = run(tmp_path, "record", EXAMPLES / "claude-code.jsonl")
    assert done.returncode == 3
    assert "the agent plugin 'broken' cannot be loaded" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["codex-cli", "parrot"])
def test_plugin_whose_name_is_taken_is_named(tmp_path, name):
    install(tmp_path, "aviary", "aviary:Parrot")
    (tmp_path / "aviary.py").write_text(READER.replace('name = "parrot"', f'name = "{name}"'))
    install(tmp_path, "parrot", "parrot_reader:Parrot")
    (tmp_path / "parrot_reader.py").write_text(READER)
    done = run(tmp_path, "record", EXAMPLES / "claude-code.jsonl")
    plugin = "parrot" if name == "parrot" else "aviary"
    assert done.returncode == 3
    assert f"the agent plugin '{plugin}' cannot be loaded" in done.stderr
    assert f"vacr already has an agent named '{name}'" in done.stderr


OWNERS = {"claude": "claude-code", "codex": "codex-cli", "gemini": "gemini-cli"}
"""The folder of an agent's sessions → the agent, if their names differ."""
SESSIONS = [
    pytest.param(path, OWNERS.get(folder) or AGENTS_WITHOUT_EXAMPLE.get(folder, folder))
    for folder in FOLDERS
    for path in native_files(folder)
]
SESSIONS += [pytest.param(path, "acp") for path in sorted((FIXTURES / "acp").glob("*.json*"))]


@pytest.mark.parametrize(
    ("path", "agent"), SESSIONS, ids=lambda value: getattr(value, "name", value)[-40:]
)
def test_a_source_is_recognised_by_content_not_by_name(path, agent):
    data = path.read_bytes()
    assert recognise_agent(Source((SourcePart("notes.txt", data),))).name == agent


def test_a_session_that_starts_with_many_broken_lines_is_recognised():
    data = (
        b"broken\n" * 100
        + b'{"other":1}\n' * 30
        + (EXAMPLES / "claude-code.jsonl").read_bytes() * 3
    )
    assert recognise_agent(Source((SourcePart("x", data),))).name == "claude-code"


BUILT_IN = sorted(
    name for name, agent in load_agents().items() if type(agent).__module__.startswith("vacr.")
)


COMPARED_ROW_BY_ROW = ("cursor-vscdb", "cursor-store", "opencode-sqlite")
"""Formats of databases that `test_cursor_databases` and `test_opencode_databases` are about."""


@pytest.mark.parametrize("name", BUILT_IN)
def test_each_agent_has_tests_of_its_own_and_a_way_back(name):
    folder = Path(__file__).parent
    # Roo Code keeps the sessions of Cline, from which it descends.
    module = "cline" if name == "roo-code" else name.replace("-", "_")
    assert (folder / f"test_{module}.py").is_file()
    forms = {*rebuild.LINES, *rebuild.WHOLE, *rebuild.TEXTS, *COMPARED_ROW_BY_ROW}
    assert set(load_agents()[name].formats) <= forms


@pytest.mark.parametrize("folder", [*FOLDERS, "generic"])
def test_each_agent_has_an_independent_counter(folder):
    counter = {"continue": "continue_"}.get(folder, folder.replace("-", "_"))
    assert callable(getattr(independent, counter))


OTHERS = (
    [path for path in sorted(CORPUS.glob("*/*")) if path.parent.name not in FOLDERS]
    if CORPUS.is_dir()
    else []
)


SIMILAR_AGENTS = {"grok": "claude-code"}
"""Folder → an agent that recognises one line: Grok's system prompt has members of Claude Code's."""


@pytest.mark.parametrize("folder", AGENTS_WITHOUT_EXAMPLE)
def test_sessions_of_an_agent_are_recognised_by_it_alone(folder):
    for path in native_files(folder):
        source = Source((SourcePart("notes.txt", path.read_bytes()),))
        assert recognise_agent(source).name == AGENTS_WITHOUT_EXAMPLE[folder]
        sample = source.main.sample(16)
        own = {AGENTS_WITHOUT_EXAMPLE[folder], SIMILAR_AGENTS.get(folder)}
        others = [agent for name, agent in load_agents().items() if name not in own]
        assert not any(agent.recognises(sample) for agent in others), path


@pytest.mark.skipif(not OTHERS, reason="no sessions of other agents here")
def test_sessions_of_other_agents_are_not_recognised():
    for path in OTHERS:
        with pytest.raises(UnreadableInput):
            recognise_agent(Source((SourcePart(path.name, path.read_bytes()),)))


IFLOW = {
    "uuid": "1f0e",
    "parentUuid": None,
    "sessionId": "session-1f0e77aa-3c52-4b8e-9d11-0a4c8e2f6b35",
    "type": "user",
    "message": {"role": "user", "content": "Hello"},
}
TRAE = {
    "type": "session_meta",
    "payload": {"id": "2b1c", "originator": "codex-tui", "model_provider": "trae"},
}


@pytest.mark.parametrize(("line", "agent"), [(IFLOW, "iflow"), (TRAE, "traex")])
def test_agents_with_a_borrowed_format_are_told_apart(line, agent):
    source = Source((SourcePart("session.jsonl", jsonl(line, line)),))
    assert recognise_agent(source).name == agent


def test_document_with_an_empty_history_is_not_a_gemini_session():
    with pytest.raises(UnreadableInput):
        recognise_agent(Source((SourcePart("a.traj", b'{"trajectory": [], "history": []}'),)))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_reported(encoding):
    mark = "" if encoding == "utf-16" else "\ufeff"
    data = (mark + (EXAMPLES / "cursor.jsonl").read_text()).encode(encoding)
    with pytest.raises(UnreadableInput, match="UTF-16") as caught:
        recognise_agent(Source((SourcePart("session", data),)))
    assert "iconv" in str(caught.value.hint)


@pytest.mark.parametrize("name", sorted(load_agents()))
def test_empty_sample_is_not_recognised(name):
    assert load_agents()[name].recognises([]) == 0.0


def test_share_of_lookalike_lines_is_never_negative():
    lookalike = {"type": "user", "message": {"role": "user", "parts": ["x"]}}
    assert load_agents()["claude-code"].recognises([lookalike]) == 0.0
