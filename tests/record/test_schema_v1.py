"""The v1 schema: a file attribution alone."""

import copy

import pytest

from vacr.record.validation import choose_rule, load_record_schema, validate

RECORD = {
    "version": "1.0.0",
    "id": "0190",
    "timestamp": "2026-01-01T00:00:00Z",
    "vcs": {"type": "git", "revision": "abc"},
    "tool": {"name": "t", "version": "1"},
    "files": [
        {
            "path": "a.py",
            "conversations": [
                {
                    "url": "https://example.org/1",
                    "contributor": {"type": "ai", "model_id": "p/m"},
                    "ranges": [
                        {
                            "start_line": 1,
                            "end_line": 2,
                            "content_hash": "ab",
                            "contributor": {"type": "human"},
                        }
                    ],
                    "related": [{"type": "issue", "url": "https://example.org/2"}],
                }
            ],
        }
    ],
    "metadata": {"any": ["thing"]},
}


def replace_member(*path, value):
    """Return the record with one member replaced or added."""
    record = copy.deepcopy(RECORD)
    holder = record
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return record


RANGE = ("files", 0, "conversations", 0, "ranges", 0)
ACCEPTED = [
    RECORD,
    {"version": "1", "id": "", "timestamp": "2026-01-01T00:00:00Z", "files": []},
    replace_member("tool", value={}),
    replace_member("version", value="1.2.3"),
    replace_member("metadata", value={1: 2, b"x": 3, False: None}),
]
REFUSED = [
    (replace_member("timestamp", value=5), "/timestamp"),
    (replace_member("session", value={}), "/session"),
    (replace_member("vcs", value={"type": "git"}), "/vcs"),
    (replace_member("tool", "url", value="x"), "/tool/url"),
    (replace_member(*RANGE, value={"start-line": 1, "end-line": 2}), None),
    (replace_member(*RANGE, "content_hash_alg", value="sha-256"), None),
    (replace_member("metadata", value=[]), "/metadata"),
]


@pytest.mark.parametrize("record", ACCEPTED)
def test_valid_record_is_accepted(record):
    report = validate(record, json=False)
    assert report.valid
    assert (report.rule, report.schema) == ("agent-convo-record", "v1.cddl")


@pytest.mark.parametrize(("record", "pointer"), REFUSED)
def test_invalid_record_is_refused(record, pointer):
    findings = validate(record).findings
    assert findings
    assert pointer in {None, findings[0].pointer}


def test_rule_depends_only_on_the_version():
    assert choose_rule(RECORD) == "agent-convo-record"
    assert choose_rule(RECORD | {"version": "10.0"}) == "verifiable-agent-record"
    assert choose_rule({"version": "1.0", "entries": []}) == "agent-convo-record"
    assert not validate(RECORD | {"version": "0.1.0"}).valid


@pytest.mark.parametrize("value", [[], {"version": "3.0", "id": "x"}, {"entries": []}, 5])
def test_semantic_checks_skip_version_1(value):
    assert validate(value, rule="any", schema=load_record_schema("1")).valid
