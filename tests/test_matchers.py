"""Matchers: what each is met by, how a miss is named, and which ones are refused before a run."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.arguments import argument_problems, compare_arguments, describe, matcher_problems
from evalkit.pairing import unpaired

ABSENT = object()


def check(expected, sent):
    return compare_arguments({"x": expected}, {} if sent is ABSENT else {"x": sent})


def kind(expected, sent):
    found = check(expected, sent).mismatches
    assert all(one.path == "x" for one in found)
    return found[0].kind if found else None


ONE_OF = {"$one_of": ["Paris", {"$regex": "R.*"}, 5]}
DAY = {"$date": "2024-04-01"}
NOON = {"$date": "2024-04-01T12:00:00+02:00"}
LOCAL = {"$date": "2024-04-01T12:00"}


@pytest.mark.parametrize(
    ("matcher", "sent", "expected_kind"),
    [
        (ONE_OF, "Paris", None),
        (ONE_OF, "Rome", None),
        (ONE_OF, 5.0, None),
        (ONE_OF, "paris", "case"),
        (ONE_OF, "London", "value"),
        (ONE_OF, 6, "number"),
        (ONE_OF, True, "type"),
        (ONE_OF, ABSENT, "missing"),
        ({"$one_of": ["a", {"$absent": True}]}, ABSENT, None),
        ({"$one_of": ["a", {"$absent": True}]}, "a", None),
        ({"$one_of": ["a", {"$absent": True}]}, "b", "extra"),
        ({"$one_of": [{"a": 1}, {"a": 2, "b": {"$any": True}}]}, {"a": 2, "b": None}, None),
        ({"$one_of": [{"a": 1}, {"a": 2}]}, {"a": 2, "b": 1}, "number"),
        ({"$any": True}, "whatever", None),
        ({"$any": True}, None, None),
        ({"$any": True}, {}, None),
        ({"$any": True}, ABSENT, "missing"),
        ({"$absent": True}, ABSENT, None),
        ({"$absent": True}, None, "extra"),
        ({"$absent": True}, "a", "extra"),
        ({"$type": "integer"}, 3, None),
        ({"$type": "integer"}, 3.0, None),
        ({"$type": "integer"}, 3.5, "type"),
        ({"$type": "integer"}, True, "type"),
        ({"$type": "integer"}, "3", "type"),
        ({"$type": "number"}, 3, None),
        ({"$type": "number"}, False, "type"),
        ({"$type": "boolean"}, True, None),
        ({"$type": "string"}, "", None),
        ({"$type": "string"}, None, "type"),
        ({"$type": "null"}, None, None),
        ({"$type": "array"}, [], None),
        ({"$type": "array"}, "[1]", "double_encoded"),
        ({"$type": "object"}, {"a": 1}, None),
        ({"$type": "object"}, '{"a": 1}', "double_encoded"),
        ({"$type": ["integer", "null"]}, None, None),
        ({"$type": ["integer", "null"]}, "a", "type"),
        ({"$type": "string"}, ABSENT, "missing"),
        ({"$text": "New York"}, "  new \n\u00a0YORK ", None),
        ({"$text": "caf\u00e9"}, "CAFE\u0301", None),
        ({"$text": "straße"}, "STRASSE", None),
        ({"$text": "New York"}, "NewYork", "whitespace"),
        ({"$text": "New York"}, "Newark", "value"),
        ({"$text": "5"}, 5, "type"),
        ({"$regex": "[a-z]+"}, "abc", None),
        ({"$regex": "[a-z]+"}, "abc1", "value"),
        ({"$regex": "[a-z]+"}, "abc\n", "value"),
        ({"$regex": "a|ab"}, "ab", None),
        ({"$regex": "(?i)ab"}, "AB", None),
        ({"$regex": r"\p{Lu}\w+"}, "Århus", None),
        ({"$regex": "caf\u00e9"}, "cafe\u0301", None),
        ({"$regex": "5"}, 5, "type"),
        ({"$contains": "pizza"}, "best pizza in Rome", None),
        ({"$contains": "Pizza"}, "best pizza in Rome", "case"),
        ({"$contains": "pasta"}, "best pizza in Rome", "value"),
        ({"$contains": "a"}, ["b", "a"], None),
        ({"$contains": "a"}, ["ab"], "value"),
        ({"$contains": "a"}, ["b", "A"], "case"),
        ({"$contains": "a"}, [], "value"),
        ({"$contains": {"id": 1}}, [{"id": 2}, {"id": 1.0}], None),
        ({"$contains": {"$approx": 3, "abs": 1}}, [9, 2.5], None),
        ({"$contains": 5}, "5", "type"),
        ({"$contains": "a"}, {"a": 1}, "type"),
        ({"$approx": 3.14, "rel": 0.01}, 3.15, None),
        ({"$approx": 3.14, "rel": 0.01}, 3.2, "number"),
        ({"$approx": 100, "abs": 5}, 105, None),
        ({"$approx": 100, "abs": 5}, 105.1, "number"),
        ({"$approx": 0.3, "abs": 0.1}, 0.4, None),
        ({"$approx": 0, "abs": 0.1, "rel": 0.5}, 0.1, None),
        ({"$approx": 1, "rel": 1}, True, "type"),
        ({"$approx": 1, "rel": 1}, "1", "type"),
        ({"$approx": 3.14}, 3.1400001, None),
        ({"$approx": 3.14}, 3.15, "number"),
        ({"$approx": 10**400, "rel": 0.1}, 1.5, "number"),
        ({"$unordered": ["a", "b", "b"]}, ["b", "a", "b"], None),
        ({"$unordered": ["a", "b", "b"]}, ["b", "a", "a"], "value"),
        ({"$unordered": ["a", "b"]}, ["a"], "list_length"),
        ({"$unordered": ["a", "b"]}, ["b", "A"], "case"),
        ({"$unordered": ["a", "b"]}, '["b", "a"]', "double_encoded"),
        ({"$unordered": ["a", "b"]}, "a", "type"),
        ({"$unordered": []}, [], None),
        ({"$unordered": [1, 2]}, [2.0, 1], None),
        ({"$unordered": [{"a": 1}, {"a": 2}]}, [{"a": 2}, {"a": 1}], None),
        ({"$unordered": [{"$any": True}, "a"]}, ["a", "b"], None),
        ({"$unordered": [{"$one_of": ["a", "b"]}, {"$one_of": ["a", "c"]}, "a"]}, ["a", "b", "c"], None),
        ({"$unordered": [[2, 1], [1, 2]]}, [[1, 2], [2, 1]], None),
        (DAY, "2024-04-01", None),
        (DAY, "20240401", None),
        (DAY, "2024-W14-1", None),
        (DAY, "2024-092", None),
        (DAY, "2024-04-01T00:00:00", None),
        (DAY, "2024-04-01T00:00Z", None),
        (DAY, "2024-03-31T24:00", None),
        (DAY, "2024-04-02", "value"),
        (DAY, "2024-04-01T09:00", "value"),
        (DAY, "2024/04/01", "date"),
        (DAY, "April 1, 2024", "date"),
        (DAY, "1 Apr 2024", "date"),
        (DAY, "04/01/2024", "date"),
        (DAY, "13/04/2024", "value"),
        (DAY, "2024-04", "value"),
        (DAY, "tomorrow", "value"),
        (DAY, 20240401, "type"),
        (NOON, "2024-04-01T10:00:00Z", None),
        (NOON, "2024-04-01 12:00+0200", None),
        (NOON, "20240401T100000.000Z", None),
        (NOON, "2024-04-01t10:00z", None),
        (NOON, "2024-04-01T12:00:00Z", "value"),
        (NOON, "2024-04-01T12:00:00", "date"),
        (LOCAL, "2024-04-01 12:00:00", None),
        (LOCAL, "2024-04-01T12:00Z", "date"),
        (LOCAL, "2024-04-01", "value"),
        ({"$similar": "best pizza in Rome", "min": 0.8}, "best pizza in Rome?", None),
        ({"$similar": "best pizza in Rome", "min": 0.8}, "where to park", "value"),
        ({"$similar": "best pizza in Rome"}, "best pizza in rome", None),
        ({"$similar": "abcde", "min": 0.8}, "abcdX", None),
        ({"$similar": "abcde", "min": 0.81}, "abcdX", "value"),
        ({"$similar": "abc", "min": 1}, "ABC", "case"),
        ({"$similar": "5", "min": 0.8}, 5, "type"),
        ({"$optional": "a"}, ABSENT, None),
        ({"$optional": "a"}, "a", None),
        ({"$optional": "a"}, "A", "case"),
        ({"$optional": "a"}, None, "type"),
        ({"$optional": {"$any": True}}, "Dear Kim", None),
        ({"$optional": {"$one_of": [1, 2]}}, 2, None),
        ({"$literal": {"$any": True}}, {"$any": True}, None),
        ({"$literal": {"$any": True}}, "a", "type"),
        ({"$literal": {"a": {"$type": "string"}}}, {"a": {"$type": "string"}}, None),
        ({"$literal": "a"}, "a", None),
        ({"$literal": {"$ref": "#/a"}}, ABSENT, "missing"),
    ],
)
def test_a_matcher_and_what_was_sent(matcher, sent, expected_kind):
    assert matcher_problems(matcher) == []
    result = check(matcher, sent)
    assert kind(matcher, sent) == expected_kind
    assert (result.right, result.checked) == (int(expected_kind is None), 1)


def test_a_literal_is_compared_without_matchers_down_to_its_leaves():
    result = check({"$literal": {"a": {"$type": "string"}, "b": 1}}, {"a": {"$type": "integer"}, "b": 2})
    assert [one.path for one in result.mismatches] == ["x"]
    assert (result.right, result.checked) == (0, 1)


def test_matchers_work_inside_objects_and_lists():
    expected = {"to": [{"$text": "Kim"}, {"$any": True}], "n": {"deep": {"$approx": 1, "abs": 0.1}}}
    assert compare_arguments(expected, {"to": ["KIM", None], "n": {"deep": 1.05}}).passed
    wrong = compare_arguments(expected, {"to": ["Tim", None], "n": {"deep": 2}})
    assert [(one.path, one.kind) for one in wrong.mismatches] == [("to[0]", "value"), ("n.deep", "number")]
    assert (wrong.right, wrong.checked) == (0, 2)


def test_one_argument_can_be_left_out_of_the_check():
    expected = {"to": "kim@firm.example", "subject": "Invoice 7", "body": {"$optional": {"$any": True}}}
    sent = {"to": "kim@firm.example", "subject": "Invoice 7"}
    assert compare_arguments(expected, sent).passed
    assert compare_arguments(expected, {**sent, "body": "Dear Kim..."}).passed


def test_a_mismatch_holds_the_matcher_as_it_was_written():
    (mismatch,) = check({"$one_of": ["a", "b"]}, "c").mismatches
    assert (mismatch.expected, mismatch.actual) == ({"$one_of": ["a", "b"]}, "c")
    assert describe(mismatch) == 'x: expected {"$one_of": ["a", "b"]}, got "c"'


@pytest.mark.parametrize(
    ("matcher", "sent", "note"),
    [
        (DAY, "04/05/2024", "ambiguous: 4 May 2024 or 5 April 2024; only ISO spellings such as 2024-04-01 count"),
        (DAY, "2024/04/01", "not an ISO spelling"),
        (DAY, "tomorrow", "not a date"),
        (NOON, "2024-04-01T12:00:00", "only one of the two times has a UTC offset"),
        ({"$absent": True}, 1, "must not be sent"),
        ({"$similar": "abcde", "min": 0.9}, "abcdX", "similarity 0.80, at least 0.9 expected"),
        ({"$unordered": ["a", "b", "c"]}, ["c", "x", "a"], "1 of 3 elements differ"),
        ({"$unordered": ["a"]}, ["a", "b"], "1 elements expected, got 2"),
    ],
)
def test_a_miss_says_why_where_its_kind_does_not(matcher, sent, note):
    (mismatch,) = check(matcher, sent).mismatches
    assert mismatch.note == note


def test_an_ambiguous_date_is_of_the_kind_date_whichever_day_is_expected():
    assert kind({"$date": "2030-01-01"}, "04/05/2024") == "date"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"$oneof": ["a"]}, "x: unknown matcher '$oneof'. Did you mean '$one_of'? Known: $one_of, $any, "),
        ({"$ref": "#/a"}, 'An object that itself begins with `$` is written {"$literal": …}'),
        ({"$one_of": []}, "x: $one_of takes a list of at least one value, got []"),
        ({"$one_of": "a"}, "x: $one_of takes a list of at least one value, got 'a'"),
        ({"$one_of": ["a", {"$txt": "b"}]}, "x: unknown matcher '$txt'. Did you mean '$text'?"),
        ({"$any": False}, 'x: $any is written {"$any": true}, got False'),
        ({"$absent": 1}, 'x: $absent is written {"$absent": true}, got 1'),
        ({"$type": "int"}, "x: $type takes a JSON type, got 'int'. Did you mean 'integer'? Types: string, number, "),
        ({"$type": ["string", 5]}, "x: $type takes a JSON type, got 5. Types: "),
        ({"$text": 5}, "x: $text takes text, got 5"),
        ({"$regex": "("}, "x: $regex: the pattern '(' cannot be used: missing )"),
        ({"$regex": "(?:a{9999}){9999}"}, "cannot be used: its repetitions unroll to more than"),
        ({"$regex": None}, "x: $regex takes text, got None"),
        ({"$contains": ""}, "x: $contains with empty text is met by every text"),
        ({"$approx": "3"}, "x: $approx takes a number, got '3'"),
        ({"$approx": True}, "x: $approx takes a number, got True"),
        ({"$approx": 3, "abs": -1}, "x: 'abs' beside $approx must be a number from 0 up, got -1"),
        ({"$approx": 3, "tol": 1}, "x: unknown key 'tol' beside $approx. $approx takes rel and abs"),
        ({"$similar": "a", "min": 80}, "x: 'min' beside $similar must be above 0 and at most 1, got 80"),
        ({"$similar": 5}, "x: $similar takes text, got 5"),
        ({"$text": "a", "min": 1}, "x: unknown key 'min' beside $text. $text stands alone"),
        ({"$date": "04/05/2024"}, "x: $date takes an ISO date or time such as 2024-04-01 or 2024-04-01T09:00Z"),
        ({"$unordered": "ab"}, "x: $unordered takes a list, got 'ab'"),
        ({"$unordered": ["a", {"$any": 1}]}, 'x[1]: $any is written {"$any": true}, got 1'),
        ({"$any": True, "$type": "string"}, "x: $any and $type in one object: a matcher has one `$` key."),
        ([1, {"$optional": 2}], "x[1]: $optional has no place inside a list, where every element is sent"),
        ({"$unordered": [{"$absent": True}]}, "x[0]: $absent has no place inside a list"),
        ({"a": {"b.c": {"$typ": "string"}}}, "x.a[\"b.c\"]: unknown matcher '$typ'. Did you mean '$type'?"),
        ({"$optional": {"$regex": "["}}, "x: $regex: the pattern '[' cannot be used"),
    ],
)
def test_a_broken_matcher_is_found_with_its_place_and_what_to_do(value, problem):
    problems = matcher_problems(value, "x")
    assert len(problems) == 1
    assert problem in problems[0]


def test_every_problem_is_found_at_once():
    assert len(matcher_problems({"a": {"$oneof": 1}, "b": [{"$type": "int"}], "c": {"$approx": "x", "rel": -1}})) == 4


def test_what_is_broken_all_the_same_is_met_by_nothing_and_says_so():
    (mismatch,) = check({"$oneof": ["a"]}, "a").mismatches
    assert mismatch.kind == "value"
    assert mismatch.note.startswith("the expectation is broken: unknown matcher '$oneof'")


@pytest.mark.parametrize(
    "value", [{"$literal": {"$x": {"$y": 1}}}, {"a": {"b": ["c", {"d": 1}]}}, "$any", ["$x"], None]
)
def test_what_is_no_matcher_has_no_problems(value):
    assert matcher_problems(value) == []


def test_names_of_arguments_may_begin_with_a_dollar():
    expected = {"$filter": "age gt 5", "$top": {"$type": "integer"}}
    assert argument_problems(expected) == []
    assert compare_arguments(expected, {"$filter": "age gt 5", "$top": 3}).passed
    assert argument_problems({"$top": {"$type": "int"}})[0].startswith('["$top"]: $type takes a JSON type')


def test_a_matcher_cannot_stand_in_place_of_all_arguments():
    (problem,) = argument_problems({"$one_of": [{"a": 1}]}, "expected_arguments")
    assert problem == (
        "expected_arguments: $one_of stands in place of the arguments. A matcher stands where one value would"
    )


def largest_pairing(edges, size):
    return max(
        sum((left, right) in edges for left, right in enumerate(order)) for order in itertools.permutations(range(size))
    )


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 5), st.data())
def test_as_many_elements_are_paired_as_can_be(size, data):
    pairs = st.tuples(st.integers(0, size - 1), st.integers(0, size - 1))
    edges = data.draw(st.sets(pairs, max_size=size * size))
    expected, actual = [f"e{n}" for n in range(size)], [f"a{n}" for n in range(size)]
    left, over = unpaired(expected, actual, lambda one, other: (int(one[1:]), int(other[1:])) in edges)
    assert len(left) == len(over) == size - largest_pairing(edges, size)


def test_a_long_list_is_paired_even_where_every_pair_is_looked_at():
    numbers = [{"$approx": n, "abs": 0.25} for n in range(120)]
    assert check({"$unordered": numbers}, [n + 0.2 for n in reversed(range(120))]).passed
