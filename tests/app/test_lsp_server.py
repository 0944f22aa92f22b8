"""The language server: what editors show about a line, with pygls' client and with Neovim."""

import asyncio
import json
import shutil
import subprocess
import sys

import pytest

from tests.app.agent_machine import CODE, PROMPT, Machine
from tests.attribution.working_agent import Agent, commit, repository
from vacr.app import FileNotes, build_lsp_server
from vacr.errors import UsageError

pytest.importorskip("pygls")
from lsprotocol import types
from pygls.lsp.client import LanguageClient

COMMAND = [sys.executable, "-P", "-m", "vacr", "lsp"]
NEOVIM = shutil.which("nvim")
SHORT = f"claude-code · claude-opus-4-6 · {PROMPT} · recorded"


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def repo(machine, tmp_path):
    return machine.make_repository(tmp_path / "repo")


@pytest.fixture
def notes(machine):
    own = FileNotes(machine.state, machine.environment)
    own.index.start()
    yield own
    own.index.stop()


class Editor:
    """An editor with one open file, talking to the server in a child process."""

    def __init__(self, machine, path, text=None):
        self.machine, self.uri = machine, path.as_uri()
        self.text = path.read_text() if text is None else text
        self.document = types.TextDocumentIdentifier(self.uri)

    async def __aenter__(self):
        self.client = LanguageClient("editor", "1")
        await self.client.start_io(*COMMAND, env=self.machine.environment, cwd=self.machine.home)
        self.opened = await self.client.initialize_async(
            types.InitializeParams(capabilities=types.ClientCapabilities())
        )
        self.client.initialized(types.InitializedParams())
        item = types.TextDocumentItem(self.uri, "python", 1, self.text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return self

    async def __aexit__(self, *_error):
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()

    async def hover(self, line):
        params = types.HoverParams(self.document, types.Position(line - 1, 0))
        return await self.client.text_document_hover_async(params)

    async def list_lenses(self):
        params = types.CodeLensParams(self.document)
        return await self.client.text_document_code_lens_async(params)

    async def list_hints(self, first=1, last=1000):
        where = types.Range(types.Position(first - 1, 0), types.Position(last - 1, 0))
        params = types.InlayHintParams(self.document, where)
        return await self.client.text_document_inlay_hint_async(params)

    def change(self, text):
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(2, self.uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )


def use_editor(machine, path, action):
    """Open a file in an editor, and return the result of an action in it."""

    async def run():
        async with Editor(machine, path) as editor:
            return await action(editor)

    return asyncio.run(run())


# --- over standard input and output ---


def test_server_announces_hover_lenses_and_hints(machine, repo):
    async def get_capabilities(editor):
        return editor.opened.capabilities

    offered = use_editor(machine, repo / "sums.py", get_capabilities)
    assert offered.hover_provider
    assert offered.code_lens_provider
    assert offered.inlay_hint_provider
    assert not offered.document_formatting_provider
    assert not offered.code_action_provider


def test_hover_has_agent_model_prompt_evidence_and_conversation(machine, repo):
    found = use_editor(machine, repo / "sums.py", lambda editor: editor.hover(4))
    assert found.contents.kind == types.MarkupKind.PlainText
    assert found.contents.value == (
        "Written by claude-code (anthropic/claude-opus-4-6)\n"
        f"Prompt: {PROMPT}\n"
        "Evidence: recorded, 2026-03-14T00:00:02.000Z\n"
        "Conversation: session-one, shown by: vacr show session-one"
    )
    assert found.range.start.line == 3


def test_line_without_proof_has_no_hover(machine, repo):
    assert use_editor(machine, repo / "sums.py", lambda editor: editor.hover(7)) is None


def test_block_of_lines_has_one_lens(machine, repo):
    (lens,) = use_editor(machine, repo / "sums.py", lambda editor: editor.list_lenses())
    assert (lens.range.start.line, lens.command.title) == (0, SHORT)


def test_block_of_lines_has_one_hint_at_its_first_line(machine, repo):
    (hint,) = use_editor(machine, repo / "sums.py", lambda editor: editor.list_hints())
    assert (hint.position.line, hint.position.character) == (0, len(CODE.split("\n")[0]))
    assert hint.label == SHORT
    assert PROMPT in hint.tooltip


def test_hints_outside_of_the_range_are_left_out(machine, repo):
    assert use_editor(machine, repo / "sums.py", lambda editor: editor.list_hints(3, 7)) == ()


def test_unsaved_text_moves_the_answers(machine, repo):
    async def insert_line(editor):
        before = await editor.hover(1)
        editor.change("# a new first line, by hand\n" + editor.text)
        return before, await editor.hover(1), await editor.hover(2), await editor.list_lenses()

    before, first, second, lenses = use_editor(machine, repo / "sums.py", insert_line)
    assert before is not None
    assert first is None
    assert second.contents.value == before.contents.value
    assert [lens.range.start.line for lens in lenses] == [1]


def test_file_outside_of_a_repository_has_no_answers(machine, tmp_path):
    path = tmp_path / "plain.py"
    path.write_text(CODE)

    async def ask_all(editor):
        return await editor.hover(1), await editor.list_lenses(), await editor.list_hints()

    assert use_editor(machine, path, ask_all) == (None, (), ())


def test_server_ends_with_its_input(machine):
    done = subprocess.run(
        COMMAND, env=machine.environment, cwd=machine.home, input=b"", capture_output=True
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"Traceback" not in done.stderr


# --- notes ---


def test_blocks_of_two_calls_are_apart(machine, notes, tmp_path):
    repo = repository(tmp_path / "two")
    agent = Agent(repo).asked("Write the sum").write("a.py", CODE)
    more = CODE.replace("compute_total", "compute_other_total").replace("price", "weight")
    agent.asked("Write the other").write("a.py", CODE + more)
    machine.save(agent)
    commit(repo)
    found = notes.read(str(repo / "a.py"))
    assert found.list_blocks() == [(1, 5), (6, 10)]
    assert "Write the sum" in found.describe_shortly(1)
    assert "Write the other" in found.describe_shortly(6)


def test_hostile_prompt_stays_plain_text_in_its_line(machine, notes, tmp_path):
    repo = repository(tmp_path / "hostile")
    prompt = "![x](https://evil.example/p.png) [run](command:rm)\x1b[2J\u202e" + "y" * 3000
    machine.save(Agent(repo).asked(prompt).write("a.py", CODE))
    commit(repo)
    found = notes.read(str(repo / "a.py"))
    lines = found.describe(1).split("\n")
    assert lines[1].startswith("Prompt: ![x](https://evil.example/p.png)")
    assert all(line.isprintable() for line in lines)
    assert len(lines) == 4
    assert len(found.describe(1)) < 1000
    assert len(found.describe_shortly(1)) < 150


def test_notes_are_remembered_until_the_file_changes(notes, repo):
    path = repo / "sums.py"
    first = notes.read(str(path))
    assert notes.read(str(path)) is first
    assert notes.read(str(path), path.read_text()) is first
    path.write_text("# new\n" + path.read_text())
    second = notes.read(str(path))
    assert second is not first
    assert second.list_blocks() == [(2, 6)]
    notes.forget(str(path))
    assert notes.read(str(path)) is not second


def test_missing_packages_are_named(machine, monkeypatch):
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    with pytest.raises(UsageError) as caught:
        build_lsp_server(FileNotes(machine.state))
    assert caught.value.hint == "pip install 'vacr[lsp]'"


# --- Neovim ---

SCRIPT = """
local command, file, output = unpack(vim.json.decode(vim.env.VACR_TEST))
local forever = 600000
vim.cmd('edit ' .. vim.fn.fnameescape(file))
local id = vim.lsp.start_client({ name = 'vacr', cmd = command, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)
vim.wait(forever, function() return vim.lsp.buf_get_clients(0)[id] ~= nil end)

vim.lsp.codelens.refresh()
vim.wait(forever, function() return #vim.lsp.codelens.get(0) > 0 end)
local lenses = {}
for _, lens in ipairs(vim.lsp.codelens.get(0)) do
  table.insert(lenses, { lens.range.start.line, lens.command.title })
end

local function find_float()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= '' then return window end
  end
end
vim.api.nvim_win_set_cursor(0, { 4, 0 })
vim.lsp.buf.hover()
vim.wait(forever, function() return find_float() ~= nil end)
local buffer = vim.api.nvim_win_get_buf(find_float())
local hover = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)

vim.fn.writefile({ vim.json.encode({ lenses = lenses, hover = hover }) }, output)
vim.lsp.stop_client(id)
vim.wait(forever, function() return vim.lsp.client_is_stopped(id) end)
vim.cmd('qall!')
"""


@pytest.mark.skipif(NEOVIM is None, reason="Neovim is not installed")
def test_neovim_shows_lens_and_hover(machine, repo, tmp_path):
    script, output = tmp_path / "test.lua", tmp_path / "shown.json"
    script.write_text(SCRIPT)
    question = json.dumps([COMMAND, str(repo / "sums.py"), str(output)])
    done = subprocess.run(
        [NEOVIM, "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {script}"],
        env=machine.environment | {"VACR_TEST": question},
        cwd=repo,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert output.exists(), done.stderr
    shown = json.loads(output.read_text())
    assert shown["lenses"] == [[0, SHORT]]
    assert shown["hover"][:2] == [
        "Written by claude-code (anthropic/claude-opus-4-6)",
        f"Prompt: {PROMPT}",
    ]
