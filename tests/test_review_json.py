"""Reviewers that read the answer as JSON."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import schema_check
from evalkit.reviewers import ReviewerError, json_schema_match, problems, review, valid_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("null", "null"),
        ("true", "a boolean"),
        ('"text"', "text"),
        ("1", "a number"),
        ("-0.5e+3", "a number"),
        ("1e400", "a number"),
        ("9" * 5000, "a number"),
        ("[]", "a list of 0"),
        ('{"a": 1}', "an object with 1 key"),
        (' \r\n\t{"a": [1, {"b": null}], "c": "😀"} \n', "an object with 2 keys"),
        ("[" * 200 + "]" * 200, "a list of 1"),
        ('{"a":1,"a":2}', "an object with 1 key; the key 'a' appears twice in one object"),
        (r'"\ud800"', "text; it holds half of a surrogate pair"),
        (r'{"\udc00": 1}', "an object with 1 key; it holds half of a surrogate pair"),
        (r'"\ud83d\ude00"', "text"),
    ],
    ids=lambda text: text[:20],
)
def test_valid_json(answer, said):
    verdict = valid_json(answer)
    assert (verdict.passed, verdict.score, verdict.reason) == (True, 1.0, f"valid JSON: {said}")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ('{"score": NaN}', "NaN is not JSON (line 1, column 11)"),
        ("[1, Infinity]", "Infinity is not JSON (line 1, column 5)"),
        ("-Infinity", "-Infinity is not JSON (line 1, column 1)"),
        ('{"a":1,}', "(line 1, column 8)"),
        ("[1,]", "(line 1, column"),
        ("{'a':1}", "Expecting property name enclosed in double quotes (line 1, column 2)"),
        ('{"a":1} trailing', "Extra data (line 1, column 9)"),
        ('{"a":1}\n{"a":2}', "Extra data (line 2, column 1)"),
        ("1 2", "Extra data (line 1, column 3)"),
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("nul", "Expecting value"),
        ("True", "Expecting value"),
        ("01", "Extra data"),
        ("+1", "Expecting value"),
        (".5", "Expecting value"),
        ("1.", "Extra data"),
        ("0x10", "Extra data"),
        ('"\t"', "Invalid control character"),
        (r'"\x"', "Invalid \\escape"),
        ('"open', "Unterminated string"),
        ("// note\n1", "Expecting value"),
        ("\u00a01", "Expecting value"),
        ("\ufeff{}", "begins with a byte-order mark (line 1, column 1)"),
        ("[" * 5000, "nested deeper than 200 levels (line 1, column 201)"),
        ("[" * 5000 + "]" * 5000, "nested deeper than 200 levels (line 1, column 201)"),
        ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested deeper than 200 levels"),
        ('```json\n{"a": 1}\n```', "it stands in a Markdown fence (strip_fences: true accepts that)"),
        ("Here it is: {}", "Expecting value (line 1, column 1)"),
    ],
    ids=lambda text: str(text)[:20],
)
def test_what_is_not_json_fails_and_says_where(answer, reason):
    verdict = valid_json(answer)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert verdict.reason.startswith("not valid JSON: ")
    assert reason in verdict.reason


def test_unique_keys_refuses_a_key_that_stands_twice():
    verdict = valid_json('{"a": {"b": 1, "b": 2}}', unique_keys=True)
    assert not verdict.passed
    assert "the key 'b' appears twice in one object" in verdict.reason
    assert valid_json('{"a": {"b": 1}, "b": 2}', unique_keys=True).passed


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        ('```json\n{"a": 1}\n```', True),
        ('\n```\n{"a":\n 1}\n```\n', True),
        ('~~~~json\n{"a": 1}\n~~~~', True),
        ('{"a": 1}', True),
        ('Here:\n```json\n{"a": 1}\n```', False),
        ('```json\n{"a": 1}\n```\n```json\n{"a": 1}\n```', False),
        ('```json\n{"a": 1}', False),
        ("```json\n```", False),
        ("```", False),
    ],
)
def test_strip_fences_reads_one_fenced_block_and_nothing_else(answer, passed):
    assert valid_json(answer, strip_fences=True).passed is passed
    assert json_schema_match(answer, schema=True, strip_fences=True).passed is passed


@given(JSON)
@settings(deadline=None)
def test_everything_that_is_written_as_json_is_valid(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert valid_json(text).passed
        assert json_schema_match(text, schema={"const": value}).passed


DRAFT_4 = {"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}
TREE = {
    "type": "object",
    "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "value": {"type": "integer"}},
    "additionalProperties": False,
}
WITH_IDS = {
    "$id": "https://example.invalid/root",
    "$defs": {"word": {"$id": "word", "$anchor": "w", "type": "string"}},
    "items": {"$ref": "word"},
    "contains": {"$ref": "word#w"},
}


@pytest.mark.parametrize(
    ("schema", "answer", "passed"),
    [
        (True, "1", True),
        (False, "1", False),
        ({}, "null", True),
        ({"type": "integer"}, "5", True),
        ({"type": "integer"}, "5.0", True),
        ({"type": "integer"}, "5.5", False),
        ({"type": "integer"}, "true", False),
        ({"type": "number"}, "1e400", True),
        ({"maximum": 10}, "1e999999999", False),
        ({"type": "integer", "maximum": 10}, "9" * 5000, False),
        ({"type": "integer", "minimum": 10}, "9" * 5000, True),
        ({"const": 9007199254740993}, "9007199254740993", True),
        ({"const": 9007199254740993}, "9007199254740992", False),
        ({"type": "string", "minLength": 1}, r'"\ud800"', True),
        ({"required": ["a"]}, '{"a": 1, "a": 2}', True),
        (DRAFT_4, "1", False),
        (DRAFT_4, "1.5", True),
        ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]}, "[1]", False),
        ({"prefixItems": [{"type": "string"}]}, "[1]", False),
        (TREE, '{"left": {"value": 1}, "right": {"left": {}}}', True),
        (TREE, '{"left": {"value": "1"}}', False),
        (WITH_IDS, '["a"]', True),
        (WITH_IDS, "[1]", False),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, '{"type": "object"}', True),
        ({"$ref": "https://json-schema.org/draft/2020-12/schema"}, '{"type": "thing"}', False),
        ({"pattern": r"^(?=.*\d).{3,}$"}, '"ab1"', True),
        ({"pattern": "^(a+)+$"}, json.dumps("a" * 40 + "b"), False),
        ({"format": "no-such-format"}, '"x"', True),
        ({"const": {"$ref": "http://127.0.0.1:9/"}}, '{"$ref": "http://127.0.0.1:9/"}', True),
        ({"properties": {"$ref": {"type": "string"}}}, '{"$ref": 1}', False),
    ],
    ids=lambda value: str(value)[:40],
)
def test_json_schema(schema, answer, passed):
    verdict = json_schema_match(answer, schema=schema)
    assert (verdict.passed, verdict.score) == (passed, float(passed)), verdict.reason


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("date-time", "2024-04-01T12:00:00Z", "2024-13-01T12:00:00Z"),
        ("date", "2024-02-29", "2023-02-29"),
        ("time", "12:00:00Z", "25:00:00Z"),
        ("duration", "P3D", "3 days"),
        ("email", "kim@firm.example", "kim"),
        ("uri", "https://a.example/b", "not a uri"),
        ("ipv4", "127.0.0.1", "127.0.0.256"),
        ("ipv6", "::1", ":::1"),
        ("hostname", "a.example", "-a"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("json-pointer", "/a/0", "a/0"),
        ("regex", "a+", "(a"),
    ],
)
@pytest.mark.parametrize("draft", ["https://json-schema.org/draft/2020-12/schema", None])
def test_formats_are_checked(name, right, wrong, draft):
    schema = {"format": name} if draft is None else {"$schema": draft, "format": name}
    assert json_schema_match(json.dumps(right), schema=schema).passed
    verdict = json_schema_match(json.dumps(wrong), schema=schema)
    assert not verdict.passed
    assert name in verdict.reason


def test_a_reason_lists_where_the_schema_is_broken():
    schema = {
        "properties": {"a": {"items": {"type": "integer"}}, "b c": {"minLength": 3}},
        "required": ["z"],
    }
    verdict = json_schema_match('{"a": [1, "x"], "b c": "y"}', schema=schema)
    assert verdict.reason.startswith("breaks the schema: ")
    assert '"z" is a required property' in verdict.reason
    assert 'at a[1]: "x" is not of type "integer"' in verdict.reason
    assert 'at ["b c"]: "y" is shorter than 3 characters' in verdict.reason


def test_a_reason_stays_short_where_the_value_is_long():
    verdict = json_schema_match(json.dumps(["x" * 10_000] * 50), schema={"items": {"type": "integer"}})
    assert 'xxx" is not of type "integer"' in verdict.reason
    assert len(verdict.reason) < 2000


def test_an_answer_that_is_no_json_breaks_every_schema_and_says_so():
    assert json_schema_match("Paris", schema=True).reason == "not valid JSON: Expecting value (line 1, column 1)"
    assert "Markdown fence" in json_schema_match("```\n1\n```", schema=True).reason
    assert "appears twice" in json_schema_match('{"a": 1, "a": 2}', schema=True).reason


def _loop(**root):
    return {"$defs": {"loop": {"$ref": "#/$defs/loop"}}, "$ref": "#/$defs/loop", **root}


def _deep(levels):
    schema = True
    for _ in range(levels):
        schema = {"not": schema}
    return schema


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("{}", "it must be an object, or true or false"),
        (None, "it must be an object, or true or false"),
        ({"type": "strng"}, "at type: "),
        ({"minimum": "1"}, "at minimum: "),
        ({"required": "a"}, "at required: "),
        ({"pattern": "(["}, 'at pattern: "([" is not a "regex"'),
        ({"properties": {"a": {"pattern": "(?:a{1000}){1000}"}}}, "at properties.a.pattern: "),
        ({"minimum": 1, "exclusiveMinimum": True}, "at exclusiveMinimum: "),
        ({"$ref": "#/$defs/nothing"}, "'/$defs/nothing' does not exist"),
        ({"$ref": "https://schemas.example.invalid/a.json"}, "it refers to 'https://schemas.example.invalid/a.json'"),
        ({"$ref": "http://127.0.0.1:9/"}, "outside itself; remote references are never fetched"),
        ({"$ref": "file:///etc/hostname"}, "outside itself; remote references are never fetched"),
        ({"$defs": {"unused": {"items": {"$ref": "http://127.0.0.1:9/"}}}}, "outside itself"),
        ({"$ref": "other.json"}, "it refers to 'other.json', outside itself; remote references are never fetched"),
        ({"$dynamicRef": "http://127.0.0.1:9/"}, "it refers to 'http://127.0.0.1:9/', outside itself"),
        ({"$schema": "https://example.invalid/draft"}, "Unknown meta-schema: 'https://example.invalid/draft'"),
        (_loop(), "it refers to itself without end ('#/$defs/loop')"),
        ({"$ref": "#"}, "it refers to itself without end ('#')"),
        ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, "it refers to itself without end ('#')"),
        ({"dependentSchemas": {"a": {"not": {"$ref": "#"}}}}, "without end"),
        ({"allOf": [{"minLength": 1}] * 10_001}, "it has more than 10000 parts"),
        (_deep(100_000), "it is nested too deeply"),
        ({"const": float("nan")}, "it is not JSON"),
        ({"const": {1, 2}}, "it is not JSON"),
        ({"const": "\ud800"}, "surrogates not allowed"),
    ],
    ids=lambda value: str(value)[:40] if not isinstance(value, dict) else str(list(value))[:40],
)
def test_a_schema_that_cannot_be_used_is_refused_when_the_dataset_loads(schema, message):
    (problem,) = problems({"reviewer": "json_schema_match", "schema": schema})
    assert problem.startswith("json_schema_match: schema cannot be used: ")
    assert message in problem
    with pytest.raises(ValueError, match="schema cannot be used"):
        json_schema_match("1", schema=schema)


def test_a_schema_is_prepared_once_however_often_it_is_given():
    first = schema_check.prepare({"type": "integer", "minimum": 1})
    assert schema_check.prepare({"minimum": 1, "type": "integer"}) is first
    assert schema_check.prepare({"minimum": 2, "type": "integer"}) is not first


def test_a_pattern_that_goes_back_and_forth_for_ever_is_an_error_of_the_reviewer():
    spec = {"reviewer": "json_schema_match", "schema": {"items": {"not": {"pattern": r"^(a|a)*\1$"}}}}
    with pytest.raises(ReviewerError, match=r"its pattern .* was not done with a text of 41 characters"):
        review(spec, json.dumps(["fine", "a" * 40 + "b"]))
    assert review(spec, '["b"]').passed


@pytest.mark.parametrize(
    ("answer", "parameters"),
    [
        ('```json\n{"a": 1}\n```', {}),
        ("~~~\nnull\n~~~", {}),
        ("```\n{'a': 1}\n```", {}),
        ('```json\n{"a": 1,}\n```', {}),
        ("```\n```", {}),
        ("```\nNaN\n```", {}),
        ("```\n\ufeff1\n```", {}),
        ('```\n{"a": 1, "a": 2}\n```', {}),
        ('```\n{"a": 1, "a": 2}\n```', {"unique_keys": True}),
        ("````\n```\n1\n```\n````", {}),
    ],
)
@pytest.mark.parametrize("reviewer", [valid_json, json_schema_match])
def test_the_hint_at_a_fence_says_what_stripping_it_does(reviewer, answer, parameters):
    if reviewer is json_schema_match:
        parameters = {"schema": {"type": "object"}}
    refused = reviewer(answer, **parameters)
    accepted = reviewer(answer, strip_fences=True, **parameters).passed
    assert refused.passed is False
    assert ("strip_fences: true accepts that" in refused.reason) is accepted
    assert ("what stands inside is not accepted either" in refused.reason) is not accepted
