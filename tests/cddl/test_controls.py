"""Control operators: RFC 8610 section 3.8, RFC 9165 and RFC 9741, one line a case."""

import cbor2
import pytest

from vacr.cddl.schema import compile_cddl
from vacr.cddl.tokens import CddlError

RFC3339 = """
full-date = "full-date" .det rfc3339
rfc3339 = '
   date-fullyear   = 4DIGIT
   date-month      = 2DIGIT  ; 01-12
   date-mday       = 2DIGIT  ; a comment
   full-date       = date-fullyear "-" date-month
                     "-" date-mday
' .cat core
core = '
   DIGIT = %x30-39
'
"""
OID = """
oid = bytes .abnfb ("oid" .det tags)
tags = '
  oid = 1*arc
  arc = [nlsb] %x00-7f
  nlsb = %x81-ff *%x80-ff
'
"""

CASES = [
    # .size counts bytes; of an integer those it fits into.
    ("tstr .size 2", ["ab", "é"], ["a", "éé", b"ab", 2]),
    ("bstr .size 2", [b"ab"], [b"a", "ab"]),
    ("bstr .size (1..3)", [b"a", b"abc"], [b"", b"abcd"]),
    ("tstr .size (2 / 4)", ["ab", "abcd"], ["abc"]),
    ("uint .size 1", [0, 255], [256, -1, "a"]),
    ("uint .size 3", [2**24 - 1], [2**24]),
    ("uint .size (1..2)", [300], [2**16]),
    ("uint .size 99999999999", [2**64 - 1], [2**64]),
    ("(tstr / bstr) .size 1", ["a", b"a"], ["ab", b"", 1]),
    # .bits numbers them from the least significant one of the first byte.
    (
        "bstr .bits flags  flags = &(a: 0, b: 9)",
        [b"", b"\x00", b"\x01", b"\x01\x02"],
        [b"\x02", b"\x00\x01"],
    ),
    ("uint .bits (0..2)", [0, 7], [8, 9]),
    # .regexp is anchored.
    ('tstr .regexp "[A-Z][a-z]*"', ["A", "Abc"], ["a", "Ab1", "xAb", "Ab\n", 1]),
    ('tstr .pcre "^[a-z]+$"', ["abc"], ["ab1", ""]),
    ('tstr .pcre "(?i)ab(?=c).*"', ["ABcd", "abc"], ["abd", "a" * 2000]),
    # .cbor and .cborseq look into bytes.
    ("bstr .cbor int", [b"\x01", b"\x38\xff"], [b"\x61a", b"", b"\x01\x01", b"\x18", "x"]),
    ("bstr .cbor {a: [* int]}", [cbor2.dumps({"a": [1]})], [cbor2.dumps({"a": ["x"]})]),
    ("bstr .cbor #6.32(tstr)", [cbor2.dumps(cbor2.CBORTag(32, "x"))], [cbor2.dumps("x")]),
    ("bstr .cbor tdate", [bytes.fromhex("c06161")], [b"\x61a"]),
    ("bstr .cborseq [* int]", [b"", b"\x01\x02"], [b"\x01\x61a", b"\x18"]),
    ("bstr .cborseq [int, tstr]", [b"\x01\x61a"], [b"\x01"]),
    ("bstr .cbor (bstr .cbor int)", [b"\x41\x01"], [b"\x01"]),
    # .within and .and ask for both.
    ("int .and (0..5)", [0, 5], [6, -1]),
    ("{* tstr => int} .within {? a: int, ? b: int}", [{}, {"a": 1}], [{"a": "x"}, {"c": 1}]),
    ("tstr .and (tstr .size 2)", ["ab"], ["a"]),
    # Comparisons.
    ("int .lt 5", [4, -9], [5, 6]),
    ("number .le 5", [5, 4.5], [5.5, True]),
    ("float .gt 1.5", [1.6], [1.5, 2]),
    ("uint .ge 3", [3], [2]),
    ("int .eq 5", [5], [4, 5.0]),
    ("int .ne 5", [4], [5, "x"]),
    ('tstr .ne "x"', ["y"], ["x"]),
    ("[* int] .ne [1]", [[], [2]], [[1]]),
    ("int .lt 1.5", [1, -2], [2]),
    ("uint .default 5", [1, 5], ["x"]),
    # RFC 9165.
    ("5 .plus 3", [8], [5, 3]),
    ("5 .plus 1.9", [6], [6.9]),
    ("1.5 .plus 1", [2.5], [2]),
    (
        "{interval<3>}  interval<B> = (B => int, (B .plus 1) => int)",
        [{3: 0, 4: 1}],
        [{3: 0}, {3: 0, 5: 1}],
    ),
    ('"foo" .cat "bar"', ["foobar"], ["foo"]),
    ("\"foo\" .cat '\n  bar\n'", ["foo\n  bar\n"], [b"foo"]),
    ("'foo' .cat \"bar\"", [b"foobar"], ["foobar"]),
    ('"  foo" .det ""', ["foo"], ["  foo"]),
    ('"  foo" .det "    bar"', ["foobar"], []),
    # Keys of embedded CBOR that are tags, or that Python takes for one another.
    ("bstr .cbor any", [bytes.fromhex("a1c1810101")], [bytes.fromhex("a20101f502")]),
    ("bstr .cbor {* time => int}", [bytes.fromhex("a1c10101")], [bytes.fromhex("a1c1810101")]),
    ("\"foo\" .det '\n    bar\n      baz\n  '", ["foo\nbar\n  baz\n"], []),
    ('tstr .regexp ("[a-z]" .cat "+")', ["abc"], ["", "A"]),
    ("text .abnf full-date" + RFC3339, ["2026-02-10"], ["2026-02-1", "x2026-02-10", ""]),
    ("oid" + OID, [b"\x01", b"\x81\x01\x7f"], [b"", b"\x80\x01", b"\x81"]),
    (
        'text .abnf "1*(%x61-63 / %s\\"Z\\" / %i\\"q\\") [\\"end\\"]"',
        ["abZ", "aQqEND"],
        ["z", "", "end"],
    ),
    ('int .feature "x"', [1], ["a"]),
    ('tstr .feature (["x", "y"])', ["a"], [1]),
    ('{* (tstr .feature "ext") => any}', [{"a": 1}], [{1: 1}]),
    # RFC 9741.
    ("tstr .b64u (bstr .size 2)", ["aGk"], ["aGk=", "aGl", "a-", "aG"]),
    ("tstr .b64u-sloppy bstr", ["aGk", "aGl"], ["aGk="]),
    ("tstr .b64c bstr", ["aGk=", ""], ["aGk", "aGl="]),
    ("tstr .b64c-sloppy bstr", ["aGl="], ["a"]),
    ("tstr .hex h'0aff'", ["0aff", "0AFF", "0aFf"], ["0afe", "0af"]),
    ("tstr .hexlc bstr", ["0aff"], ["0AFF"]),
    ("tstr .hexuc bstr", ["0AFF"], ["0aff"]),
    ("tstr .b32 'hi'", ["NBUQ"], ["nbuq", "NBUQ===="]),
    ("tstr .h32 'hi'", ["D1KG"], ["NBUQ"]),
    ("tstr .b45 'AB'", ["BB8"], ["BB", "b", "GGW"]),
    ("tstr .base10 (0..255)", ["0", "255"], ["256", "01", "+1", "-0", "1.0"]),
    ("tstr .json {a: int}", ['{"a": 1}'], ['{"a": "x"}', "{", "NaN", '{"a": NaN}']),
]


@pytest.mark.parametrize(("cddl", "good", "bad"), CASES)
def test_control_narrows_its_target(cddl, good, bad):
    checker = compile_cddl(f"a = {cddl}").checker()
    for value in good:
        assert checker.matches(value), value
        assert checker.findings(value) == []
    for value in bad:
        assert not checker.matches(value), value
        assert checker.findings(value), value


@pytest.mark.parametrize(
    ("cddl", "message"),
    [
        ("tstr .foo 3", "control operator .foo is unknown"),
        ('tstr .printf ["%d", 1]', "control operator .printf is unknown"),
        ('tstr .size "x"', ".size needs"),
        ("tstr .size -1", ".size needs"),
        ("tstr .size {}", "a range in parentheses, such as (1..3)"),
        ('int .lt "x"', ".lt needs a number"),
        ("int .lt int", ".lt needs a number"),
        ("tstr .regexp 5", "needs a text"),
        ('tstr .regexp "("', "invalid regular expression"),
        ('tstr .regexp "(?:a)"', "invalid regular expression"),
        ('tstr .pcre "(?<"', "invalid regular expression"),
        ('tstr .abnf "foo"', "'foo' is not defined"),
        ('tstr .abnf "a\\na = a \\"x\\""', "'a' starts with itself"),
        ('tstr .abnf "a\\na = [\\"y\\"] a \\"x\\""', "'a' starts with itself"),
        ('tstr .abnf "<prose>"', "unexpected '<'"),
        ("tstr .abnf int", "needs a text"),
        ("int .plus 1", ".plus cannot combine its two sides"),
        ('1 .plus "x"', ".plus cannot combine its two sides"),
        ('"x" .cat 1', ".cat cannot combine its two sides"),
        ("\"x\" .cat h'ff'", ".cat cannot combine its two sides"),
    ],
)
def test_unusable_controller_is_refused_with_its_place(cddl, message):
    with pytest.raises(CddlError) as caught:
        compile_cddl(f"a = int\nb = {cddl}", name="x.cddl")
    assert message in caught.value.message
    assert caught.value.where.startswith("x.cddl:2:")
