"""Hostile names, models and prompts do not become commands, outputs or Markdown."""

import json
from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.app.github import parse_commands, parse_outputs
from tests.attribution.working_agent import commit
from vacr.app.audit_action import Audit, format_audit_summary
from vacr.app.github import GitHubWorkflow
from vacr.app.seal_action import format_seal_summary
from vacr.exchange.transcript import format_table_cell
from vacr.viewer.content import make_visible

NASTY = (
    "a|b `c` $(touch trap) ${{ github.token }} <img src=x onerror=y> [l](javascript:z) **b** "
    "@who #1 www.x.yz"
    "\r\n::error::pwned\n##[error]v"
)
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")


def parse_tables(text):
    """Return the tables of a Markdown text: for each its rows, with the tokens of each cell."""
    tables = []
    for token in MARKDOWN.parse(text):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level > 1:
            tables[-1][-1].append(token.children)
    return tables


def read_code_cell(tokens):
    """Return the text of a cell that contains only code."""
    kinds = [(token.type, token.content) for token in tokens]
    assert kinds[0] == ("html_inline", "<code>")
    assert kinds[-1] == ("html_inline", "</code>")
    assert {kind for kind, _ in kinds[1:-1]} <= {"text", "text_special"}, kinds
    return "".join(content for _, content in kinds[1:-1])


@given(st.text(st.characters(), min_size=1))
def test_hostile_text_stays_in_its_cell(text):
    markdown = f"| a | b |\n|---|---|\n| {format_table_cell(text)} | end |\n"
    (table,) = parse_tables(markdown)
    first, last = table[1]
    assert [token.content for token in last] == ["end"]
    assert read_code_cell(first).split() == make_visible(text).split()


@given(st.text(), st.text(), st.integers(1, 9))
def test_hostile_text_stays_in_its_annotation(message, file, line):
    workflow, log = GitHubWorkflow(), StringIO()
    with redirect_stdout(log), workflow.stop_commands():
        workflow.annotate("error", message, file, (line, line))
        print("::error::from elsewhere")
    ((level, properties, _),) = parse_commands(log.getvalue())
    expected = {"file": file.encode("utf-8", "replace").decode()} if file else {}
    assert (level, properties) == ("error", expected | {"line": str(line), "endLine": str(line)})


@given(st.text(st.characters(codec="utf-8")))
def test_hostile_text_stays_in_its_output(tmp_path_factory, value):
    file = tmp_path_factory.mktemp("output") / "output"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GITHUB_OUTPUT", str(file))
        workflow = GitHubWorkflow()
        workflow.output("first", value)
        workflow.output("verdict", "unknown")
    assert parse_outputs(file.read_bytes().decode()) == {"first": value, "verdict": "unknown"}


def test_hostile_names_stay_in_their_places(audit, pull):
    path = NASTY.replace("/", "") + ".py"
    pull.add_by_agent(path, f"{NASTY[:40]}", f"{NASTY}\nverdict=known", NASTY)
    (pull.repo / "records/::error::x\n##[error]y|`.acr.json").write_text('{"no": "record"}')
    commit(pull.repo)
    ran = audit(pages="site")
    assert (ran.code, ran.outputs["verdict"], ran.outputs["ai-lines"]) == (1, "unverified", "5"), (
        ran.log
    )
    assert not (pull.repo / "trap").exists()
    assert [name for name, _, _ in ran.commands] == ["error", "notice"]
    assert ran.list_annotations("error")[0][0] == "records/::error::x\n##[error]y|`.acr.json"
    assert ran.list_annotations("notice")[0][0] == path
    tables = parse_tables(ran.summary)
    assert [len(table) for table in tables] == [5, 2, 2, 3]
    assert [{len(row) for row in table} for table in tables] == [{3}, {5}, {4}, {5}]
    assert read_code_cell(tables[1][1][0]) == " ".join(path.split())
    conversation, model, count, prompt = tables[2][1]
    assert (read_code_cell(conversation), count[0].content) == (
        " ".join(f"session-{NASTY[:40]}".split()),
        "5",
    )
    assert read_code_cell(model).endswith("verdict=known")
    assert read_code_cell(prompt).startswith("a|b `c` $(touch trap)")
    report = json.loads((pull.repo / ran.outputs["report"]).read_bytes())
    assert report["lines"]["files"][0]["path"] == path


def test_summary_stays_within_the_size_limit():
    """Fill each cell of each table with long text."""
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


def test_summary_of_many_files_stays_within_the_size_limit(audit, pull):
    pull.add_by_agent()
    for number in range(230):
        (pull.repo / f"{'|' * 200}{number}.py").write_text(f"number = {number}\n")
        (pull.repo / f"records/{'`' * 200}{number}.acr.json").write_text("{}")
    commit(pull.repo)
    ran = audit()
    assert (ran.code, len(ran.list_annotations("error"))) == (1, 10)
    assert "And 131 more; the report lists all of them." in ran.summary
    assert len(ran.summary.encode()) < 1 << 20
    assert len(json.loads((pull.repo / ran.outputs["report"]).read_bytes())["records"]) == 231
