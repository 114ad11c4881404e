"""What `check_dataset` says of a dataset: its problems as rows, and advice on what it could show better."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalkit.argument_advice import call_advice, default_advice
from evalkit.dataset_advice import FEW_CASES, MOST_PAIRS, check_dataset
from evalkit.datasets import Dataset
from evalkit.look_alikes import near_pairs
from evalkit.tools import Tool

BOOK = Tool(
    "book_room",
    "Reserve a meeting room.",
    {
        "type": "object",
        "properties": {
            "date": {"type": "string", "pattern": "^[0-9-]+$"},
            "people": {"type": "integer", "minimum": 1},
            "names": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "size": {"enum": ["small", "large"]},
            "place": {"type": "object", "properties": {"floor": {"type": "integer"}}},
        },
        "required": ["date"],
    },
)
PING = Tool("ping", "Say that you are there.")


def dataset(cases: list[dict[str, Any]], tools: Any = (BOOK, PING)) -> Dataset:
    return Dataset(name="d", cases=cases, tools=tools)


def asked(number: int, **fields: Any) -> dict[str, Any]:
    words = [
        "alpha",
        "bravo",
        "charlie",
        "delta",
        "echo",
        "foxtrot",
        "golf",
        "hotel",
        "india",
        "juliet",
        "kilo",
        "lima",
    ]
    text = " ".join(words[(number * step + step) % 12] * (number % 5 + 1) for step in range(1, 8))
    return {"id": f"c{number}", "input": f"{number} {text}", "expected_tool": "book_room", **fields}


def said(frame: pd.DataFrame, where: str = "") -> list[str]:
    return [row.message for row in frame.itertuples() if row.where.startswith(where)]


# --- the frame -------------------------------------------------------------------------------------------------


def test_a_dataset_without_fault_gives_no_rows_but_the_columns() -> None:
    cases = [asked(n) for n in range(FEW_CASES)]
    cases += [asked(n, expected_tool="ping") for n in range(20, 20 + FEW_CASES)]
    frame = check_dataset(dataset([*cases, asked(40, expected_tool="none")]))
    assert list(frame.columns) == ["level", "case_id", "where", "message"]
    assert said(frame) == []
    assert {str(dtype) for dtype in frame.dtypes} == {"str"}


def test_problems_of_a_file_are_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.jsonl").write_text(
        '{"id": "a", "input": "x", "expected_tol": 1}\n{"id": "b", "input": "", "expected": 1}\n{\n'
    )
    frame = check_dataset("d.jsonl")
    assert frame.fillna("-").values.tolist() == [
        ["problem", "a", "d.jsonl, case 1 (line 1)", "unknown key 'expected_tol'. Did you mean 'expected_tool'?"],
        ["problem", "b", "d.jsonl, case 2 (line 2)", "`input` is blank"],
        ["problem", "-", "d.jsonl, case 3 (line 3)", "column 2: Expecting property name enclosed in double quotes"],
    ]


def test_a_file_of_which_nothing_can_be_read_is_one_row(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_bytes(b"[\xff]")
    frame = check_dataset(path)
    assert frame["level"].tolist() == ["problem"]
    assert "byte 1 (line 1) is 0xff, which is not UTF-8" in frame["message"][0]


def test_a_dataset_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no dataset file"):
        check_dataset(tmp_path / "nowhere.json")


def test_tools_may_be_given_apart(tmp_path: Path) -> None:
    path = tmp_path / "d.json"
    path.write_text(json.dumps([asked(1)]))
    assert check_dataset(path)["level"].tolist() == ["problem"]
    assert "problem" not in check_dataset(path, tools=[BOOK])["level"].tolist()


# --- counts ----------------------------------------------------------------------------------------------------


def test_tools_with_few_cases_or_none_are_named() -> None:
    frame = check_dataset(dataset([asked(1), asked(2, expected_tool="none")]))
    assert said(frame, "tool book_room") == [
        "1 case expects it: with half of them passed its rate is known to ± 45 points. "
        "From 10 on a rate begins to say something"
    ]
    assert said(frame, "tool ping") == ["no case expects it, so nothing is known of when it is missed"]


def test_a_dataset_without_negative_cases_is_told_so() -> None:
    found = said(check_dataset(dataset([asked(1)])), "dataset")
    assert found == ['no negative cases: a model that always calls a tool would not be noticed. Add some with "none"']


def test_final_answers_need_no_negative_cases() -> None:
    frame = check_dataset(dataset([{"input": "x", "expected": "y"}], tools=()))
    assert said(frame) == []


# --- inputs and descriptions that look alike -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({"input": "Book a room, please"}, {"input": "Book a  Room please"}, "nearly the same input as case 'a'."),
        (
            {"input": "Book it", "tags": []},
            {"input": "Book it", "calls": "only"},
            "the same input as case 'a'. Keep one",
        ),
        ({"input": "Book it"}, {"input": "Book it", "expected_tool": "none"}, "one of them can never pass"),
        ({"input": [{"role": "user", "content": "Book a room"}]}, {"input": "Book a room"}, "nearly the same input"),
    ],
)
def test_inputs_that_are_nearly_the_same_are_named(first: Any, second: Any, message: str) -> None:
    cases = [asked(1, **{"id": "a", **first}), asked(2, **{"id": "b", **second})]
    frame = check_dataset(dataset(cases))
    found = frame[frame["case_id"] == "b"]
    assert found["where"].tolist() == ["case 2"]
    assert message in found["message"].tolist()[0]


def test_a_common_cluster_says_that_likeness_is_meant() -> None:
    cases = [asked(n, input=f"Book a room please{'!' * n}", cluster="book") for n in range(3)]
    assert said(check_dataset(dataset(cases)), "case") == []
    cases[2]["cluster"] = "other"
    assert len(said(check_dataset(dataset(cases)), "case")) == 1


def test_many_near_duplicates_are_counted_and_not_all_listed() -> None:
    cases = [asked(n, input="Book a room" + "!" * (n % 3)) for n in range(MOST_PAIRS + 11)]
    frame = check_dataset(dataset(cases))
    assert len(said(frame, "case")) == MOST_PAIRS
    assert said(frame, "dataset")[0] == "10 more cases have inputs nearly like another's"


def test_descriptions_that_look_alike_or_are_missing_are_named() -> None:
    tools = [Tool("a", "Cancel an order of a customer."), Tool("b", "Cancel the order of a customer"), Tool("c")]
    frame = check_dataset(dataset([asked(1, expected_tool="a")], tools=tools))
    assert said(frame, "tool b")[-1] == "its description looks like that of a: say what tells them apart"
    assert said(frame, "tool c")[-1] == "it has no description, so a model has only its name to go by"


def test_each_text_is_paired_with_the_first_that_it_resembles() -> None:
    texts = [
        "where is the invoice",
        "something else",
        "Where is  the invoice",
        "where is the invoice?",
        "x" * 900,
        "x" * 950,
    ]
    assert near_pairs(texts, 92) == ([(0, 2), (0, 3), (4, 5)], 6, 0)


@pytest.mark.parametrize("count", [2, 300, 1500])
def test_pairs_are_found_wherever_they_stand(count: int) -> None:
    texts = [f"{n * 7919 % 100_003:>06} {'abcdefgh'[n % 8] * (n % 40)}" for n in range(count)]
    texts.append("a sentence quite unlike the others, with words")
    texts.insert(0, "a sentence quite unlike the others, with word")
    assert (0, count + 1) in near_pairs(texts, 92).pairs


def test_the_cost_is_bounded_and_what_is_left_out_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalkit.look_alikes.BUDGET", 2000)
    cases = [asked(n, expected_tool="none") for n in range(12)]
    message = said(check_dataset(dataset(cases)), "dataset")[0]
    looked_at = int(re.findall(r"only the first (\d+) were", message)[0])
    assert 1 <= looked_at < 12
    assert message.startswith(f"{12 - looked_at} cases were not compared with the others")


# --- arguments and defaults against the tool's own schema ------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        {"date": "2026-03-02"},
        {"date": {"$any": True}, "people": 3},
        {"date": {"$regex": "[a-z]+"}, "people": {"$type": "integer"}, "names": {"$contains": "Ana"}},
        {"date": {"$date": "2026-03-02"}, "people": {"$one_of": [1, 2]}, "size": {"$one_of": ["small", "large"]}},
        {"date": {"$text": "2026"}, "people": {"$optional": 4}, "names": {"$unordered": ["Ana", {"$any": True}]}},
        {"date": {"$similar": "2026-03-02"}, "people": {"$absent": True}, "place": {"floor": {"$approx": 2}}},
        {"date": {"$one_of": [{"$date": "2026-03-02"}, {"$any": True}]}, "place": {"floor": {"$any": True}}},
        {"date": "1", "people": 2.0},
    ],
)
def test_arguments_that_keep_to_the_schema_get_no_advice(arguments: dict[str, Any]) -> None:
    assert list(call_advice(BOOK, arguments)) == []


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ({"date": "soon"}, ['at date: "soon" does not match']),
        ({"date": "1", "people": "3"}, ['at people: "3" is not of type "integer"']),
        ({"date": "1", "people": True}, ["at people: true is not of type"]),
        ({"date": "1", "people": {"$one_of": [1, 0, "x"]}}, ["at people: 0 is less than", 'at people: "x" is not of']),
        ({"date": "1", "people": {"$optional": {"$one_of": [1, "x"]}}}, ['at people: "x" is not of type']),
        ({"date": {"$text": "soon"}}, ['at date: "soon" does not match']),
        ({"date": "1", "size": "tiny"}, ['at size: "tiny" is not one of']),
        ({"date": "1", "size": {"$literal": {"$any": 1}}}, ['at size: {"$any":1} is not one of']),
        ({"date": "1", "names": {"$unordered": ["a", 7, {"$any": True}]}}, ["at names.1: 7 is not", "at names: "]),
        ({"date": "1", "place": {"floor": "two", "x": {"$any": True}}}, ['at place.floor: "two" is not of type']),
        ({"people": 1}, ["book_room requires 'date', but the case says nothing of it. Write"]),
        ({"date": {"$absent": True}}, ["book_room requires 'date', which this case expects not to be sent"]),
        ({"date": "1", "peple": 3}, ["does not declare the expected argument 'peple'. Did you mean 'people'?"]),
        ({"date": "1", "colour": 3}, ["'colour'. It declares: date, people, names, size, place"]),
    ],
)
def test_arguments_that_break_the_schema_are_named(arguments: dict[str, Any], messages: list[str]) -> None:
    found = list(call_advice(BOOK, arguments))
    assert len(found) == len(messages)
    assert all(part in message for part, message in zip(messages, sorted(found, key=_order(messages)), strict=True))


def _order(parts: list[str]) -> Any:
    return lambda message: next((place for place, part in enumerate(parts) if part in message), len(parts))


def test_a_tool_that_takes_anything_refuses_nothing() -> None:
    tool = Tool("x", "", {"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}})
    assert list(call_advice(tool, {"a": 1})) == []
    assert 'at a: "b" is not of type' in next(call_advice(tool, {"a": "b"}))
    composed = Tool("x", "", {"type": "object", "allOf": [{"properties": {"a": {}}}]})
    assert list(call_advice(composed, {"a": 1})) == []
    assert next(call_advice(PING, {"a": 1})) == (
        "ping does not declare the expected argument 'a'. It declares no parameters"
    )


def test_secondary_arguments_are_looked_at_too() -> None:
    secondary = [{"tool": "book_room", "arguments": {"date": 7}}, "none"]
    frame = check_dataset(dataset([asked(1, expected_tool="ping", secondary_tools=secondary)]))
    assert said(frame, "case 1") == [
        'the expected arguments break the schema of book_room at date: 7 is not of type "string"'
    ]


@pytest.mark.parametrize(
    ("properties", "messages"),
    [
        ({"n": {"type": "integer", "default": 1}}, []),
        (
            {"n": {"type": "integer", "default": "1"}},
            ["the default of 'n' breaks its own schema: \"1\" is not of type"],
        ),
        ({"n": {"enum": ["a"], "default": None}}, ["the default of 'n' breaks its own schema: null is not one of"]),
        ({"o": {"type": "object", "properties": {"n": {"type": "string", "default": 1}}}}, ["the default of 'o.n'"]),
        ({"n": {"$ref": "#/$defs/day", "default": "x"}}, ["the default of 'n' breaks its own schema"]),
        ({"n": {"$ref": "#/$defs/day", "default": 3}}, []),
        ({"default": {"type": "string"}}, []),
    ],
)
def test_defaults_that_break_their_schema_are_named(properties: dict[str, Any], messages: list[str]) -> None:
    schema = {"type": "object", "properties": properties, "$defs": {"day": {"type": "integer"}}}
    found = list(default_advice(Tool("x", "", schema)))
    assert len(found) == len(messages)
    assert all(message.startswith(part) for part, message in zip(messages, found, strict=True))


def test_a_required_parameter_that_is_not_declared_is_named() -> None:
    tool = Tool("x", "", {"type": "object", "properties": {"path": {}}, "required": ["pth"]})
    assert list(default_advice(tool)) == ["it requires 'pth', which it does not declare. Did you mean 'path'?"]


@pytest.mark.parametrize("value", [10**400, {"a": "x" * 100_000}, [[[]]] * 1000, "\x00", 1e308])
def test_odd_values_are_no_crash(value: Any) -> None:
    list(call_advice(BOOK, {"date": "1", "people": value}))
    tool = Tool("x", "", {"type": "object", "properties": {"p": {"type": "string", "default": value}}})
    assert all("the default of 'p'" in message for message in default_advice(tool))
