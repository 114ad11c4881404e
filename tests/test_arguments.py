"""Expected against actual arguments: every row of the tables, the paths, the score, and properties of all JSON."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.arguments import compare_arguments, compare_values, describe, mismatch_rows
from evalkit.differences import kind_of_difference
from evalkit.jsontext import read
from evalkit.records import Mismatch

ABSENT = object()


def schema(**properties):
    return {"type": "object", "properties": properties}


def found(check):
    return [(one.path, one.kind, one.ok) for one in check.mismatches]


@pytest.mark.parametrize(
    ("expected", "sent", "kind"),
    [
        (1, 1.0, None),
        (1, Decimal("1e0"), None),
        (5, "5", "type"),
        ("12", 12, "type"),
        (True, 1, "type"),
        (1, True, "type"),
        (0, False, "type"),
        (True, "true", "type"),
        (True, False, "value"),
        (None, None, None),
        (None, "", "type"),
        (None, "null", "type"),
        ("", None, "type"),
        ([1, 2], [2, 1], "list_order"),
        ([1, 2], [1], "list_length"),
        ([], [1], "list_length"),
        ([], [], None),
        ("a", ["a"], "type"),
        (["a"], "a", "type"),
        ({"a": 1}, '{"a": 1}', "double_encoded"),
        ({"a": 1}, '{"a": 2}', "double_encoded"),
        ({"a": 1}, "{'a': 1}", "type"),
        ({"a": 1}, "[1]", "type"),
        ({}, "{}", "double_encoded"),
        ([1, 2], "[1, 2]", "double_encoded"),
        ("Paris", '"Paris"', "double_encoded"),
        ({"a": 1}, [1], "type"),
        ({"a": 1}, None, "type"),
        ("Paris", "paris", "case"),
        ("straße", "STRASSE", "case"),
        ("a", "a ", "whitespace"),
        ("a", "a\n", "whitespace"),
        ("New York", "NewYork", "whitespace"),
        ("10\u00a0kg", "10 kg", "whitespace"),
        ("caf\u00e9", "cafe\u0301", None),
        ("café", "cafe", "unicode"),
        ("１２３", "123", "unicode"),
        ("ﬁle", "file", "unicode"),
        ("10²", "102", "unicode"),
        ("ab", "a\u200bb", "unicode"),
        ("O'Hare", "O’Hare", "punctuation"),
        ("St. John's", "St Johns", "punctuation"),
        ("?", "!", "value"),
        ("1.5", "15", "value"),
        ("-5", "5", "value"),
        ("5%", "5", "value"),
        ("1,000", "1000", "value"),
        ("C++", "C", "value"),
        ("New York", "new  york", "case"),
        ("Hello, world!", "hello world", "case"),
        ("a – b", "a-b", "whitespace"),
        (0.3, 0.1 + 0.2, None),
        (100, 99, "number"),
        (3, 2.9999999999999996, None),
        (1.0, 1.0 + 1e-8, "number"),
        (0.0, 1e-12, "number"),
        (0, -0.0, None),
        (9007199254740993, 9007199254740992, "number"),
        (9007199254740993, 9007199254740992.0, "number"),
        (1234567890123456789, 1234567890123456789, None),
        (1234567890123456789, 1.2345678901234568e18, "number"),
        (10**400, 10**400 + 1, "number"),
        (Decimal("1e400"), 10**400, None),
        (Decimal("1e400"), 1.5, "number"),
        (10**400, 1.5, "number"),
        ("2024-04-01", "2024/04/01", "date"),
        ("2024-04-01", "20240401", "date"),
        ("2024-04-01", "April 1, 2024", "date"),
        ("2024-04-01", "01/04/2024", "date"),
        ("2024-04-01", "2024-04-02", "value"),
        ("2024-04-01T09:00Z", "2024-04-01T11:00+02:00", "date"),
        ("London", "Lisbon", "value"),
        ("", " ", "whitespace"),
        ("", "x", "value"),
    ],
)
def test_one_argument_expected_and_sent(expected, sent, kind):
    check = compare_arguments({"x": expected}, {"x": sent})
    assert found(check) == ([] if kind is None else [("x", kind, False)])
    assert check.passed is (kind is None)
    assert check.score == (1.0 if kind is None else 0.0)


@pytest.mark.parametrize(
    ("expected", "sent", "passed"),
    [
        ({"numbers": [12.0, 15.5], "limit": 10}, {"numbers": [12, 15.5], "limit": 10.0}, True),
        ({"a": {"b": [1, {"c": 2.0}]}}, {"a": {"b": [1.0, {"c": 2}]}}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({"a": None}, {}, False),
        ({"order_id": 1234567890123456789}, {"order_id": 1234567890123456789}, True),
        ({"city": "Oslo"}, {"ticket": 7}, False),
        ({"a": (1, 2)}, {"a": [1, 2]}, True),
        ({}, {}, True),
    ],
)
def test_objects_are_equal_by_value_whatever_their_spelling(expected, sent, passed):
    assert compare_arguments(expected, sent).passed is passed


@pytest.mark.parametrize(
    ("text", "other", "same"),
    [
        ("1", "1e0", True),
        ("1e400", "1e400", True),
        ("1e400", "10e399", True),
        ("1e400", "1e401", False),
        ("9" * 4500, "9" * 4500, True),
        ("9" * 4500, "9" * 4499 + "8", False),
        ("12345678901234567890123456789", "12345678901234567890123456788", False),
    ],
)
def test_numbers_of_any_size_keep_their_value_from_json_text(text, other, same):
    assert (kind_of_difference(read(text), read(other)) is None) is same


@pytest.mark.parametrize(
    ("expected", "sent", "mismatches", "right", "checked"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, [("x.b", "missing", False)], 1, 2),
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [("x.b", "number", False)], 1, 2),
        ({"a": 1, "b": 2}, "a", [("x", "type", False)], 0, 2),
        ({"a": 1, "b": {"c": 2, "d": []}}, ABSENT, [("x", "missing", False)], 0, 3),
        ({"a": 1}, {"a": 1, "b": 2}, [("x.b", "extra", False)], 1, 2),
        ({}, {"a": 1, "b": 2}, [("x.a", "extra", False), ("x.b", "extra", False)], 1, 3),
        ({}, ABSENT, [("x", "missing", False)], 0, 1),
        (
            {"a.b": 1, "c d": 2},
            {"a.b": 2, "c d": 3},
            [('x["a.b"]', "number", False), ('x["c d"]', "number", False)],
            0,
            2,
        ),
        ([1, 2, 3], [1, 9, 8], [("x[1]", "number", False), ("x[2]", "number", False)], 0, 1),
        ([1, 2, 3], [3, 2, 1], [("x", "list_order", False)], 0, 1),
        (["a", "a", "b"], ["b", "a", "a"], [("x", "list_order", False)], 0, 1),
        (["a", "b"], ["b", "c"], [("x[0]", "value", False), ("x[1]", "value", False)], 0, 1),
        (
            [{"name": "a"}, {"name": "b"}],
            [{"name": "a"}, {"name": "B", "z": 1}],
            [("x[1].name", "case", False), ("x[1].z", "extra", False)],
            0,
            1,
        ),
        ([[1, 2], [3]], [[3], [1, 2]], [("x", "list_order", False)], 0, 1),
        ([[1, 2]], [[2, 1]], [("x[0]", "list_order", False)], 0, 1),
        ([{"$text": "a"}, 2], ["A", 2.0], [], 1, 1),
        (list(range(500)), list(range(500))[::-1], [("x", "list_order", False)], 0, 1),
    ],
)
def test_every_difference_is_listed_with_its_path_and_leaves_are_counted(expected, sent, mismatches, right, checked):
    actual = {} if sent is ABSENT else {"x": sent}
    check = compare_arguments({"x": expected}, actual)
    assert found(check) == mismatches
    assert (check.right, check.checked) == (right, checked)
    assert check.score == right / checked


def test_wrong_missing_and_unexpected_arguments_are_told_apart_by_name():
    check = compare_arguments({"base": 10, "height": 5, "unit": "cm"}, {"base": 999, "height": 5, "colour": "red"})
    assert check.mismatches == (
        Mismatch("base", "number", 10, 999),
        Mismatch("unit", "missing", "cm", None),
        Mismatch("colour", "extra", None, "red"),
    )
    assert (check.right, check.checked) == (1, 4)


NULLABLE = schema(x={"type": ["string", "null"], "default": None}, y={"type": "integer", "default": 10}, z={})


@pytest.mark.parametrize(
    ("expected", "sent", "mismatches", "score"),
    [
        ({"x": None}, {}, [("x", "missing", True)], 1.0),
        ({"y": 10.0}, {}, [("y", "missing", True)], 1.0),
        ({"y": 11}, {}, [("y", "missing", False)], 0.0),
        ({"z": None}, {}, [("z", "missing", False)], 0.0),
        ({"y": {"$approx": 10.01, "rel": 0.1}}, {}, [("y", "missing", True)], 1.0),
        ({"y": {"$any": True}}, {}, [("y", "missing", False)], 0.0),
    ],
)
def test_an_argument_not_sent_is_right_where_its_declared_default_is_expected(expected, sent, mismatches, score):
    check = compare_arguments(expected, sent, parameters=NULLABLE)
    assert found(check) == mismatches
    assert check.score == score


DECLARED = schema(q={"type": "string"}, limit={"type": "integer", "default": 10}, sort={"type": "string"})


@pytest.mark.parametrize(
    ("extra", "sent", "mismatches", "right", "checked"),
    [
        ("declared", {"limit": 10}, [("limit", "extra_default", True)], 1, 1),
        ("declared", {"limit": 10.0}, [("limit", "extra_default", True)], 1, 1),
        ("declared", {"limit": 5}, [("limit", "extra_optional", True)], 1, 1),
        ("declared", {"sort": None}, [("sort", "extra_optional", True)], 1, 1),
        ("declared", {"page": 2}, [("page", "extra", False)], 1, 2),
        ("declared", {"page": 2, "limit": 10}, [("page", "extra", False), ("limit", "extra_default", True)], 1, 2),
        ("none", {"limit": 10}, [("limit", "extra", False)], 1, 2),
        ("none", {"sort": "up", "page": 2}, [("sort", "extra", False), ("page", "extra", False)], 1, 3),
        ("any", {"page": 2, "limit": 5}, [("page", "extra", True), ("limit", "extra_optional", True)], 1, 1),
    ],
)
def test_arguments_that_were_not_expected(extra, sent, mismatches, right, checked):
    check = compare_arguments({"q": "a"}, {"q": "a", **sent}, parameters=DECLARED, extra=extra)
    assert found(check) == mismatches
    assert (check.right, check.checked) == (right, checked)


@pytest.mark.parametrize("extra", ["declared", "none"])
@pytest.mark.parametrize("sent", [{"limit": 10}, {"limit": 5}, {"page": 1}])
def test_expecting_no_arguments_means_exactly_none(extra, sent):
    check = compare_arguments({}, sent, parameters=DECLARED, extra=extra)
    assert found(check) == [(next(iter(sent)), "extra", False)]
    assert (check.score, check.passed) == (0.0, False)


def test_nothing_to_check_scores_one():
    assert compare_arguments({}, {}).score == 1.0
    check = compare_arguments({}, {"page": 1}, extra="any")
    assert (check.score, check.passed, found(check)) == (1.0, True, [("page", "extra", True)])


def test_without_a_schema_any_unexpected_argument_is_extra():
    assert found(compare_arguments({"q": "a"}, {"q": "a", "limit": 10})) == [("limit", "extra", False)]


def test_an_unknown_mode_for_extra_arguments_is_refused_with_a_near_miss():
    with pytest.raises(ValueError, match=r"extra must be one of declared, none, any; got 'declare'. Did you mean 'dec"):
        compare_arguments({}, {}, extra="declare")


NESTED = {
    "type": "object",
    "$defs": {
        "Place": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "country": {"type": "string", "default": "NO"}},
        },
        "Loop": {"$ref": "#/$defs/Loop"},
        "with/slash~": {"type": "object", "properties": {"a": {}}},
    },
    "properties": {
        "where": {"$ref": "#/$defs/Place"},
        "via": {"type": "array", "items": {"$ref": "#/$defs/Place"}},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
        "either": {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "object", "properties": {"b": {}}}]},
        "both": {"allOf": [{"$ref": "#/$defs/Place"}, {"properties": {"zip": {"default": "0150"}}}]},
        "loop": {"$ref": "#/$defs/Loop"},
        "broken": {"$ref": "#/$defs/Nowhere"},
        "remote": {"$ref": "https://schemas.example.invalid/a.json"},
        "escaped": {"$ref": "#/$defs/with~1slash~0"},
    },
}


@pytest.mark.parametrize(
    ("name", "expected", "sent", "mismatches"),
    [
        ("where", {"city": "Oslo"}, {"city": "Oslo", "country": "NO"}, [("where.country", "extra_default", True)]),
        ("where", {"city": "Oslo"}, {"city": "Oslo", "country": "SE"}, [("where.country", "extra_optional", True)]),
        ("where", {"city": "Oslo"}, {"city": "Oslo", "planet": "Earth"}, [("where.planet", "extra", False)]),
        ("where", {"city": "Oslo", "country": "NO"}, {"city": "Oslo"}, [("where.country", "missing", True)]),
        ("via", [{"city": "Ås"}], [{"city": "Ås", "country": "SE"}], [("via[0].country", "extra_optional", True)]),
        ("via", [{"city": "Ås"}], [{"city": "Ås", "x": 1}], [("via[0].x", "extra", False)]),
        ("maybe", {"city": "Oslo"}, {"city": "Oslo", "country": "NO"}, [("maybe.country", "extra_default", True)]),
        ("maybe", None, ABSENT, [("maybe", "missing", True)]),
        ("either", {"a": 1}, {"a": 1, "b": 2}, [("either.b", "extra_optional", True)]),
        (
            "both",
            {},
            {"country": "NO", "zip": "0150"},
            [("both.country", "extra_default", True), ("both.zip", "extra_default", True)],
        ),
        ("loop", {}, {"a": 1}, [("loop.a", "extra", False)]),
        ("broken", {}, {"a": 1}, [("broken.a", "extra", False)]),
        ("remote", {}, {"a": 1}, [("remote.a", "extra", False)]),
        ("escaped", {}, {"a": 1}, [("escaped.a", "extra_optional", True)]),
        ("where", {"$one_of": [{"city": "Oslo"}]}, {"city": "Oslo", "country": "NO"}, []),
        ("via", {"$unordered": [{"city": "B"}, {"city": "A"}]}, [{"city": "A", "country": "NO"}, {"city": "B"}], []),
    ],
)
def test_nested_objects_are_judged_by_their_own_part_of_the_schema(name, expected, sent, mismatches):
    actual = {} if sent is ABSENT else {name: sent}
    assert found(compare_arguments({name: expected}, actual, parameters=NESTED)) == mismatches


def test_a_changed_schema_counts_at_once():
    parameters = schema(a={"default": 1})
    assert compare_arguments({"a": 1}, {}, parameters=parameters).passed
    parameters["properties"]["a"]["default"] = 2
    assert not compare_arguments({"a": 1}, {}, parameters=parameters).passed


def test_a_schema_that_is_no_json_declares_nothing():
    assert found(compare_arguments({}, {"a": 1}, parameters={"properties": {1, 2}})) == [("a", "extra", False)]


@pytest.mark.parametrize(
    ("mismatch", "said"),
    [
        (Mismatch("limit", "type", 5, "5"), 'limit: expected 5, got "5" (another type)'),
        (Mismatch("x.b", "missing", 2), "x.b: not sent, expected 2"),
        (Mismatch("verbose", "extra", None, True), "verbose: not expected, got true"),
        (
            Mismatch("x", "whitespace", "10\u00a0kg", "10 kg"),
            r'x: expected "10\u00a0kg", got "10 kg" (differs in white space)',
        ),
        (Mismatch("", "value", "a", "b"), 'the value: expected "a", got "b"'),
        (Mismatch("x", "value", "a", "b" * 200), f'x: expected "a", got "{"b" * 79}…'),
        (
            Mismatch("d", "date", "2024-04-01", "04/01/2024", note="ambiguous"),
            'd: expected "2024-04-01", got "04/01/2024" (another spelling of a date; ambiguous)',
        ),
        (Mismatch("x", "value", {1, 2}, float("nan")), "x: expected {1, 2}, got nan"),
    ],
)
def test_a_mismatch_is_told_in_words(mismatch, said):
    assert describe(mismatch) == said


def test_mismatches_become_plain_rows():
    rows = mismatch_rows(
        [Mismatch("x", "number", (1, Decimal("1e400")), {"a": {1}}, note="n"), Mismatch("y", "extra", ok=True)]
    )
    assert rows == [
        {"path": "x", "kind": "number", "expected": [1, "1E+400"], "actual": {"a": "{1}"}, "ok": False, "note": "n"},
        {"path": "y", "kind": "extra", "expected": None, "actual": None, "ok": True, "note": ""},
    ]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_values_are_compared_from_any_path_and_literally_where_asked():
    assert found(compare_values({"a": 1}, {"a": 2}, "answer")) == [("answer.a", "number", False)]
    assert compare_values({"$any": True}, 5).passed
    assert not compare_values({"$any": True}, 5, literal=True).passed
    assert compare_values({"$any": True}, {"$any": True}, literal=True).passed
    assert found(compare_values("a", "b")) == [("", "value", False)]


@pytest.mark.parametrize("build", [lambda v: [v], lambda v: {"a": v}, lambda v: [{"a": v}]])
def test_deep_nesting_is_compared_without_a_crash(build):
    one, other = 1, 2
    for _ in range(95):
        one, other = build(one), build(other)
    assert compare_values(one, one).passed
    assert [kind for _, kind, _ in found(compare_values(one, other))] == ["number"]


def test_lists_that_differ_deep_inside_take_no_exponential_time():
    one, other = 1, 2
    for _ in range(60):
        one, other = [one, "x"], [other, "x"]
    assert [kind for _, kind, _ in found(compare_values(one, other))] == ["number"]


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["2024-04-01", "04/05/2024", "１２３", "caf\u00e9", "cafe\u0301", "{}", "[1]", "\ud83d", 10**30])
)
keys = st.text(max_size=4) | st.sampled_from(["$any", "$one_of", "$regex", "$type", "$unordered", "$date", "$x"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


@settings(max_examples=150, deadline=None)
@given(values)
def test_every_json_value_equals_itself(value):
    check = compare_values(value, value, literal=True)
    assert check.passed
    assert check.mismatches == ()
    assert compare_arguments({"x": {"$literal": value}}, {"x": value}).passed


@settings(max_examples=150, deadline=None)
@given(values, values)
def test_any_two_json_values_can_be_compared(expected, actual):
    for literal in (True, False):
        check = compare_values(expected, actual, literal=literal)
        assert 0 <= check.score <= 1
        assert check.passed is (not any(not one.ok for one in check.mismatches))
        json.dumps(mismatch_rows(check.mismatches), allow_nan=False)
        assert all(describe(one) for one in check.mismatches)


@settings(max_examples=100, deadline=None)
@given(values, values)
def test_literal_equality_is_symmetric(one, other):
    assert compare_values(one, other, literal=True).passed is compare_values(other, one, literal=True).passed


@settings(max_examples=100, deadline=None)
@given(st.lists(values, max_size=6), st.randoms())
def test_a_reordered_list_differs_in_order_alone(elements, random):
    shuffled = list(elements)
    random.shuffle(shuffled)
    check = compare_values(elements, shuffled, literal=True)
    assert [kind for _, kind, _ in found(check)] in ([], ["list_order"])
