"""Names, models and prompts that would like to be commands, outputs, or Markdown."""

import json
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.app.github import commands_in, outputs_in
from tests.attribution.working_agent import commit
from vacr.app.commit_audit import Audit
from vacr.app.github import GitHubWorkflow
from vacr.app.summaries import format_audit_summary, format_seal_summary
from vacr.exchange.transcript import format_table_cell
from vacr.viewer.content import make_visible

NASTY = (
    "a|b `c` $(touch trap) ${{ github.token }} <img src=x onerror=y> [l](javascript:z) **b** "
    "@who #1 www.x.yz"
    "\r\n::error::pwned\n##[error]v"
)
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


def rendered(text):
    """Give the tables of a text as Markdown shows them, a list of rows each, with each cell's
    tokens.
    """
    tables = []
    for token in MARKDOWN.parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level > 1:
            tables[-1][-1].append(token.children)
    return tables


def texts(tokens):
    """Give the text of a cell that is nothing but code."""
    kinds = [(token.type, token.content) for token in tokens]
    assert kinds[0] == ("html_inline", "<code>")
    assert kinds[-1] == ("html_inline", "</code>")
    assert {kind for kind, _ in kinds[1:-1]} <= {"text", "text_special"}, kinds
    return "".join(content for _, content in kinds[1:-1])


@given(st.text(st.characters(), min_size=1))
def test_a_cell_stays_one_whatever_is_in_it(text):
    made = f"| a | b |\n|---|---|\n| {format_table_cell(text)} | end |\n"
    (table,) = rendered(made)
    first, last = table[1]
    assert [token.content for token in last] == ["end"]
    assert texts(first).split() == make_visible(text).split()


@given(st.text(), st.text(), st.integers(1, 9))
def test_an_annotation_is_one_command_whatever_is_in_it(message, file, line):
    workflow, log = GitHubWorkflow(), StringIO()
    with redirect_stdout(log), workflow.stop_commands():
        workflow.annotate("error", message, file, (line, line))
        print("::error::of somebody else")
    ((level, properties, _),) = commands_in(log.getvalue())
    told = {"file": file.encode("utf-8", "replace").decode()} if file else {}
    assert (level, properties) == ("error", told | {"line": str(line), "endLine": str(line)})


@given(st.text(st.characters(codec="utf-8")))
def test_an_output_is_one_whatever_is_in_it(tmp_path_factory, value):
    file = tmp_path_factory.mktemp("output") / "output"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_OUTPUT", str(file))
        workflow = GitHubWorkflow()
        workflow.output("first", value)
        workflow.output("verdict", "unknown")
    assert outputs_in(file.read_bytes().decode()) == {"first": value, "verdict": "unknown"}


def test_nothing_gets_out_of_its_place(audit, pull):
    path = NASTY.replace("/", "") + ".py"
    pull.agent(path, f"{NASTY[:40]}", f"{NASTY}\nverdict=known", NASTY)
    (pull.repo / "records/::error::x\n##[error]y|`.acr.json").write_text('{"no": "record"}')
    commit(pull.repo)
    ran = audit(pages="site")
    assert (ran.code, ran.outputs["verdict"], ran.outputs["ai-lines"]) == (1, "unverified", "5"), (
        ran.log
    )
    assert not (pull.repo / "trap").exists()
    assert [name for name, _, _ in ran.commands] == ["error", "notice"]
    assert ran.told("error")[0][0] == "records/::error::x\n##[error]y|`.acr.json"
    assert ran.told("notice")[0][0] == path
    tables = rendered(ran.summary)
    assert [len(table) for table in tables] == [5, 2, 2, 3]
    assert [{len(row) for row in table} for table in tables] == [{3}, {5}, {4}, {5}]
    assert texts(tables[1][1][0]) == " ".join(path.split())
    conversation, model, count, prompt = tables[2][1]
    assert (texts(conversation), count[0].content) == (
        " ".join(f"session-{NASTY[:40]}".split()),
        "5",
    )
    assert texts(model).endswith("verdict=known")
    assert texts(prompt).startswith("a|b `c` $(touch trap)")
    report = json.loads((pull.repo / ran.outputs["report"]).read_bytes())
    assert report["lines"]["files"][0]["path"] == path


def test_a_summary_has_room_for_whatever_is_in_it():
    """Fill every cell of every table with what takes most room."""
    for letter in ("\U000e0001", "\x1b", "|", "\U0001f600", "\n|"):
        text = letter * 5000
        who = {"contributor": {"type": "ai", "model-id": text}, "start-line": 1, "end-line": 1}
        count = {"ai": 1, "human": 0, "mixed": 0, "unknown": 0, "lines": 1}
        files = [
            {
                "path": text,
                **count,
                "ranges": [{**who, "session-id": f"{number}{text}", "prompt": text}],
            }
            for number in range(200)
        ]
        lines = {"commit": "a" * 40, "files": files, "total": count, "no-text": [text] * 200}
        record = {
            "file": text,
            "verified": False,
            "signer": text,
            "issued-at": text,
            "message": text,
        }
        assert (
            len(format_audit_summary(Audit([record] * 200, lines, trusting=True)).encode())
            < 1 << 20
        )
        sealed = {"source": text, "record": text, "state": "failed", "error": text, "exit": 1}
        assert len(format_seal_summary("failed", [sealed] * 200).encode()) < 1 << 20


def test_many_files_and_records_fit_into_a_summary(audit, pull):
    pull.agent()
    for number in range(230):
        (pull.repo / f"{'|' * 200}{number}.py").write_text(f"number = {number}\n")
        (pull.repo / f"records/{'`' * 200}{number}.acr.json").write_text("{}")
    commit(pull.repo)
    ran = audit()
    assert (ran.code, len(ran.told("error"))) == (1, 10)
    assert "And 131 more; the report has them all." in ran.summary
    assert len(ran.summary.encode()) < 1 << 20
    assert len(json.loads((pull.repo / ran.outputs["report"]).read_bytes())["records"]) == 231
