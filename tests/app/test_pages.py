"""The documented workflows and inputs exist."""

import re

import pytest
import yaml

from tests.app.github import load_action
from tests.conftest import ROOT

PAGES = [
    (ROOT / "docs/how-to" / name).read_text("utf-8")
    for name in ("github-action.md", "pre-commit.md")
]
SHOWN = [
    yaml.safe_load(block)
    for page in PAGES
    for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
]
WORKFLOWS = [document for document in SHOWN if "jobs" in document]
ACTIONS = {"OWNER/vacr@COMMIT": "action.yml", "OWNER/vacr/seal@COMMIT": "seal/action.yml"}


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow["name"])
def test_documented_workflow_uses_existing_inputs_and_few_rights(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    ((job),) = workflow["jobs"].values()
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(name.endswith("@COMMIT") for name in used)
    assert not [step for step in job["steps"] if "${{" in step.get("run", "")]
    for step in job["steps"]:
        if step.get("uses") in ACTIONS:
            inputs = load_action(ACTIONS[step["uses"]])["inputs"]
            assert step["with"].keys() <= inputs.keys()
            assert {name for name, declared in inputs.items() if declared.get("required")} <= step[
                "with"
            ].keys()


def test_each_action_is_documented():
    assert {
        step.get("uses")
        for workflow in WORKFLOWS
        for job in workflow["jobs"].values()
        for step in job["steps"]
    } >= ACTIONS.keys()


@pytest.mark.parametrize(("action", "part"), [("action.yml", 0), ("seal/action.yml", 1)])
def test_each_input_and_output_is_documented(action, part):
    page = PAGES[0].split("## Seal sessions in a job")[part]
    definition = load_action(action)
    assert [
        name for name in (*definition["inputs"], *definition["outputs"]) if f"`{name}`" not in page
    ] == []
