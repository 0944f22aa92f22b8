"""Findings: the place, the rule, the value found and the type expected."""

import cbor2
import pytest

from vacr.cddl.explain import MAX_FINDINGS
from vacr.cddl.schema import compile_cddl

SCHEMA = compile_cddl(
    """
    root = {entries: [* entry], ? limits: limits, ? pair: [int, tstr], ? tail: [? int, * (tstr, bool)]}
    entry = message / call
    message = {type: "user" / "assistant", ? content: any, ? children: [* entry], * tstr => any}
    call = {type: "tool-call", name: tstr, input: any, ? when: stamp, * tstr => any}
    stamp = tstr .regexp "[0-9]+" / number
    limits = {? "a/b~c": uint, ? 7 => bool, + tstr => tstr}
    signed = #6.18([bstr .cbor {1 => int}, bstr / nil])
    """,
    name="s.cddl",
)


def list_texts(value, rule=None):
    return [finding.text() for finding in SCHEMA.checker(rule).findings(value)]


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ({"entries": []}, []),
        (5, ["(root): root: integer 5, expected root (a map)"]),
        ({}, ['(root): root: missing member "entries", expected an array']),
        ({"entries": {}}, ["/entries: root: a map of 0 members, expected an array"]),
        (
            {"entries": [{"type": "tool-call"}]},
            [
                '/entries/0: call: missing member "name", expected tstr',
                '/entries/0: call: missing member "input", expected any',
            ],
        ),
        (
            {"entries": [{"type": "user"}, {"type": "tool-call", "name": 5, "input": 1}, None]},
            [
                "/entries/1/name: call: integer 5, expected tstr",
                "/entries/2: entry: null, expected message / call",
            ],
        ),
        (
            {"entries": [{"type": "tool"}]},
            ['/entries/0/type: entry: text "tool", expected "user" / "assistant" / "tool-call"'],
        ),
        (
            {"entries": [{"name": "x"}]},
            [
                (
                    '/entries/0: entry: missing member "type", expected "user" / "assistant" / '
                    '"tool-call"'
                )
            ],
        ),
        (
            {
                "entries": [
                    {
                        "type": "user",
                        "children": [{"type": "tool-call", "name": "x", "input": 1, "when": "now"}],
                    }
                ]
            },
            [
                (
                    '/entries/0/children/0/when: stamp: text "now", expected tstr .regexp "[0-9]+" '
                    "/ number"
                )
            ],
        ),
        (
            {"entries": [], "more": 1},
            [
                (
                    '/more: root: unknown member "more", expected one of "entries", "limits", '
                    '"pair", "tail"'
                )
            ],
        ),
        (
            {"entries": [], "pair": [1]},
            ["/pair: root: an array of 1 element, expected an array of 2 elements"],
        ),
        ({"entries": [], "pair": ["x", "y"]}, ['/pair/0: root: text "x", expected int']),
        (
            {"entries": [], "tail": [1, "x"]},
            ["/tail: root: an array that ends after 2 elements, expected bool"],
        ),
        ({"entries": [], "tail": [1, "x", 5]}, ["/tail/2: root: integer 5, expected bool"]),
        ({"entries": [], "tail": [1, 2]}, ["/tail/1: root: integer 2, expected tstr"]),
        (
            {"entries": [], "limits": {"a/b~c": -1, "x": "y"}},
            ["/limits/a~1b~0c: limits: integer -1, expected uint"],
        ),
        (
            {"entries": [], "limits": {7: 1, "x": "y"}},
            ["/limits/7: limits: integer 1, expected bool"],
        ),
        (
            {"entries": [], "limits": {7: True}},
            ["/limits: limits: a map of 1 member, expected 1 or more members tstr => tstr"],
        ),
        (
            {"entries": [], "limits": {b"x": 1, "x": "y"}},
            [
                (
                    "/limits/h'78': limits: unknown member h'78', expected one of \"a/b~c\", 7, "
                    "tstr => …"
                )
            ],
        ),
    ],
)
def test_finding_names_place_rule_found_and_expected(value, texts):
    assert list_texts(value) == texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (cbor2.CBORTag(17, []), "(root): signed: tag 17, expected #6.18(an array)"),
        (
            cbor2.CBORTag(18, [b"", None]),
            "/0: signed: bytes that are not CBOR (the bytes end early), expected bstr .cbor a map",
        ),
        (cbor2.CBORTag(18, [b"\xa0", None]), "/0: signed: missing member 1, expected int"),
        (cbor2.CBORTag(18, [b"\xa1\x01\x61a", None]), '/0/1: signed: text "a", expected int'),
        (cbor2.CBORTag(18, [b"\xa1\x01\x01", 5]), "/1: signed: integer 5, expected bstr / nil"),
        ("x" * 10**6, None),
    ],
)
def test_tags_and_embedded_cbor_are_explained(value, text):
    (finding,) = list_texts(value, "signed")
    if text is not None:
        assert finding == text
    assert len(finding) < 200


@pytest.mark.parametrize(
    "value",
    [
        "x" * 10**6,
        b"x" * 10**6,
        list(range(10**5)),
        {str(i): i for i in range(10**4)},
        10**5000,
        -(10**5000),
        "\x1b[31m" * 50,
        '"\\' * 50,
        float("nan"),
        cbor2.undefined,
        cbor2.CBORSimpleValue(99),
        cbor2.CBORTag(1, "x" * 1000),
        object(),
        {"k" * 10**6: 1},
        {"\x1b[31m\n": 1, "entries": []},
        {"entries": [{"type": "x" * 10**5}]},
    ],
    ids=range(16),
)
def test_no_value_is_shown_whole(value):
    for finding in SCHEMA.checker().findings(value):
        assert len(finding.found) <= 110
        assert len(finding.text()) <= 450
        assert finding.text().isprintable()


def test_finding_about_an_expression_names_the_expression():
    (finding,) = SCHEMA.checker("[* (int /\n tstr)]").findings([1, None])
    assert finding.text() == "/1: [* (int / tstr)]: null, expected int / tstr"


def test_large_literal_is_described_by_its_size():
    (finding,) = compile_cddl("a = 0x" + "f" * 40).checker().findings(1)
    assert finding.expected == "an integer of 160 bits"


def test_number_of_findings_is_limited():
    findings = SCHEMA.checker().findings({"entries": [{"type": "tool-call"}] * 1000})
    assert len(findings) == MAX_FINDINGS
    assert findings[0].pointer == "/entries/0"
    assert findings[-1].pointer == "/entries/49"


def test_too_deeply_nested_value_is_a_finding():
    value = {"type": "user"}
    for _ in range(50_000):
        value = {"type": "user", "children": [value]}
    checker = SCHEMA.checker("entry")
    assert not checker.matches(value)
    assert "too deeply" in checker.findings(value)[0].found


def test_cyclic_value_is_a_finding():
    value = {"type": "user", "children": []}
    value["children"].append(value)
    assert "too deeply" in SCHEMA.checker("entry").findings(value)[0].found


@pytest.mark.parametrize(
    ("cddl", "value", "pointer", "expected"),
    [
        ("[1, int] / [2, tstr]", [2, 5], "/1", "tstr"),
        ("[1, * int] / [2, * tstr]", [2, "x", 5], "/2", "tstr"),
        ("{k: 1, v: int} / {k: 2, v: tstr}", {"k": 2, "v": 5}, "/v", "tstr"),
        ("{1: 1, 2: int} / {1: 2, 2: tstr}", {1: 2, 2: 5}, "/2", "tstr"),
    ],
)
def test_distinguishing_integer_decides_which_alternative_is_explained(
    cddl, value, pointer, expected
):
    (finding,) = compile_cddl(f"a = {cddl}").checker().findings(value)
    assert (finding.pointer, finding.expected) == (pointer, expected)
