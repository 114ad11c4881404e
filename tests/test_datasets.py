"""Cases and datasets: what is refused, what a case becomes, and what stays the same when a file is edited."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import jsontext, reviewers
from evalkit.datasets import Dataset, EvalCase, SecondaryTool, load_dataset, messages_of
from evalkit.errors import DatasetError
from evalkit.tools import Tool

TOOLS = [Tool("list_files"), Tool("read_file")]
ASK = {"input": "What files are there?", "expected_tool": "list_files"}
ANSWER = {"input": "Name the capital of France", "expected": "Paris"}


def problems_of(make: Callable[[], Any]) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        make()
    return [str(problem) for problem in caught.value.problems]


def refused(case: Any) -> list[str]:
    return problems_of(lambda: EvalCase.from_dict(case))


# --- what is refused of one case -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (7, "a case is an object with `input` and what is expected, got 7"),
        ({"expected_tool": "list_files"}, "it has no `input`"),
        ({**ASK, "input": None}, "it has no `input`"),
        ({**ASK, "input": ""}, "`input` is blank"),
        ({**ASK, "input": " \n\t\u00a0"}, "`input` is blank"),
        ({**ASK, "input": 7}, "`input` must be text or a list of messages, got 7"),
        (
            {"input": "x", "expected_tol": "a", "expected_tool": "a"},
            "unknown key 'expected_tol'. Did you mean 'expected_tool'?",
        ),
        ({**ASK, "golden": 1}, "unknown key 'golden'. A case takes: input, expected_tool, "),
        ({**ASK, "__class__": 1}, "unknown key '__class__'. A case takes: "),
        ({**ASK, "expected_tool": ""}, '`expected_tool` must be a tool\'s name, "none" or "any", got'),
        ({**ASK, "expected_tool": ["list_files"]}, "`expected_tool` must be a tool's name"),
        ({**ASK, "expected_tool": "list_files "}, "`expected_tool` 'list_files ' has white space around it"),
        ({**ASK, "calls": "frist"}, "`calls` must be one of first, any, only, got 'frist'. Did you mean 'first'?"),
        ({**ASK, "extra_arguments": True}, "`extra_arguments` must be one of declared, none, any, got True"),
        ({**ASK, "text_calls": "yes"}, "`text_calls` must be one of reject, accept, got 'yes'"),
        ({**ASK, "kind": "tool"}, "`kind` must be one of tool_choice, final_answer, got 'tool'"),
        ({**ASK, "secondary_tools": "read_file"}, '`secondary_tools` must be a list such as ["list_files"]'),
        ({**ASK, "secondary_tools": ["read_file", 7]}, "`secondary_tools` 2: must be a tool's name"),
        ({**ASK, "secondary_tools": [{"tol": "a"}]}, "`secondary_tools` 1: unknown key 'tol'. Did you mean 'tool'?"),
        (
            {**ASK, "secondary_tools": [{"tool": "read_file", "arguments": "x"}]},
            "`secondary_tools` 1: must be an object",
        ),
        ({**ASK, "secondary_tools": ["list_files"]}, "`secondary_tools` 1: 'list_files' is the expected tool itself"),
        ({**ASK, "secondary_tools": ["read_file", "read_file"]}, "`secondary_tools` 2: 'read_file' stands there twice"),
        (
            {**ASK, "secondary_tools": [{"tool": "read_file", "arguments": {}}, "read_file"]},
            "'read_file' stands there twice",
        ),
        ({**ASK, "secondary_tools": ["any"]}, '"any" would make every tool acceptable'),
        ({**ASK, "secondary_tools": [{"tool": "none", "arguments": {}}]}, '"none" is no call, so it has no arguments'),
        (
            {**ASK, "expected_tool": "any", "secondary_tools": ["read_file"]},
            "'read_file' can never be met, since `expected_tool` \"any\" takes every tool",
        ),
        ({**ASK, "expected_tool": "none", "secondary_tools": ["none"]}, "'none' is the expected tool itself"),
        (
            {**ASK, "expected_tool": "none", "expected_arguments": {}},
            '`expected_arguments` can never be met where `expected_tool` is "none"',
        ),
        (
            {**ASK, "expected_tool": "any", "expected_arguments": {"a": 1}},
            '`expected_arguments` belong to one tool, but `expected_tool` is "any"',
        ),
        ({**ASK, "expected_arguments": ["a"]}, "`expected_arguments` must be an object such as"),
        ({**ASK, "expected_arguments": {"a": {"b", "c"}}}, "`expected_arguments` at a: a set has no JSON form"),
        ({**ASK, "expected_arguments": {"a": [1, float("nan")]}}, "`expected_arguments` at a[1]: nan is not JSON"),
        ({**ASK, "expected_arguments": {"a": {7: 1}}}, "`expected_arguments` at a: the key 7 is not text"),
        (
            {**ASK, "expected_arguments": {"a": {"$contian": "x"}}},
            "`expected_arguments` at a: unknown matcher '$contian'. Did you mean '$contains'?",
        ),
        (
            {**ASK, "expected_arguments": {"a": {"b": {"$regex": "("}}}},
            "`expected_arguments` at a.b: $regex: the pattern '(' cannot be",
        ),
        (
            {**ASK, "expected_arguments": {"$any": True}},
            "`expected_arguments` hold a matcher: $any stands in place of the arguments",
        ),
        (
            {**ASK, "secondary_tools": [{"tool": "read_file", "arguments": {"a": {"$date": "soon"}}}]},
            "`secondary_tools` 1: at a: $date takes an ISO date",
        ),
        (
            {**ASK, "expected_arguments": {"a": 1}, "expected_parameters": {"a": 1}},
            "`expected_parameters` is another spelling of `expected_arguments`: give one of them",
        ),
        ({"input": "x"}, 'it checks nothing. Give `expected_tool` (a name, "none" for no call, "any" for whichever)'),
        ({"input": "x", "expected_tool": None}, "it checks nothing"),
        ({"input": "x", "secondary_tools": []}, "it checks nothing"),
        ({"input": "x", "expected_arguments": {}}, "`expected_arguments` without `expected_tool`"),
        (
            {"input": "x", "calls": "only", "secondary_tools": ["a"]},
            "`secondary_tools` and `calls` without `expected_tool`",
        ),
        (
            {**ASK, "expected": "x"},
            "both kinds of case in one: `expected_tool` (tool choice) and `expected` (final answer). Make",
        ),
        ({**ANSWER, "calls": "only"}, "both kinds of case in one: `calls` (tool choice) and `expected` (final answer)"),
        ({**ASK, "kind": "final_answer"}, "its `kind` is final_answer, but `expected_tool` belongs to tool_choice"),
        ({**ANSWER, "kind": "tool_choice"}, "its `kind` is tool_choice, but `expected` belongs to final_answer"),
        ({**ANSWER, "reviewers": "exact_match"}, '`reviewers` must be a list such as ["exact_match"]'),
        ({**ANSWER, "reviewers": ["exact_mach"]}, "unknown reviewer 'exact_mach'. Did you mean 'exact_match'?"),
        (
            {**ANSWER, "reviewers": [{"name": "exact_match"}]},
            '`reviewers` 1: each is a name or {"reviewer": name, …parameters}',
        ),
        ({**ANSWER, "reviewers": [7]}, "`reviewers` 1: each is a name"),
        ({"input": "x", "reviewers": ["string_contains"]}, "string_contains: search_string is missing"),
        (
            {"input": "x", "reviewers": [{"reviewer": "string_contains", "search_string": " "}]},
            "string_contains: search_string must not be blank",
        ),
        ({"input": "x", "reviewers": ["exact_match"]}, "exact_match: expected is missing"),
        (
            {**ANSWER, "reviewers": ["valid_json"]},
            "`expected` is read by none of its reviewers (valid_json). Add one that does, or leave it out",
        ),
        (
            {
                "input": "x",
                "reviewers": [
                    {"reviewer": "json_schema_match", "schema": {"$ref": "https://schemas.example.invalid/a.json"}}
                ],
            },
            "json_schema_match: schema",
        ),
        ({**ASK, "tags": "weather"}, '`tags` must be a list such as ["billing", "urgent"], got \'weather\''),
        ({**ASK, "tags": ["a", " "]}, "`tags` must hold words on one line, got ' '"),
        ({**ASK, "cluster": ""}, "`cluster` is blank"),
        ({**ASK, "notes": 7}, "`notes` must be text, got 7"),
        ({**ASK, "id": " "}, "`id` is blank"),
        ({**ASK, "id": True}, "`id` must be text, got True"),
        ({**ASK, "id": 1.5}, "`id` must be text, got 1.5"),
        ({**ASK, "id": "a\nb"}, "`id` has a line break or control character in it: 'a\\nb'"),
        ({**ASK, "id": "a\x00b"}, "`id` has a line break or control character in it"),
        ({**ASK, "id": "a\u2028b"}, "`id` has a line break or control character in it"),
        ({**ASK, "id": "x" * 201}, "`id` is over 200 characters long"),
    ],
)
def test_a_case_that_makes_no_sense_is_refused(case: Any, message: str) -> None:
    (problem,) = refused(case)
    assert problem.startswith(message) or message in problem


def test_every_fault_of_a_case_is_said_at_once() -> None:
    case = {"inptu": "x", "expected_tool": "a", "calls": "all", "tags": "t", "secondary_tools": ["a"], "id": 1.5}
    assert [re.findall(r"`(\w+)`|'(\w+)'", problem)[0] for problem in refused(case)] == [
        ("", "inptu"),
        ("calls", ""),
        ("tags", ""),
        ("id", ""),
        ("input", ""),
        ("secondary_tools", ""),
    ]


def test_the_constructor_refuses_what_a_file_would() -> None:
    assert problems_of(lambda: EvalCase("x", "none", expected_arguments={})) == refused(
        {"input": "x", "expected_tool": "none", "expected_arguments": {}}
    )


USER = {"role": "user", "content": "Hello"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ASSISTANT = {"role": "assistant", "content": None, "tool_calls": [CALL]}


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([], "`input` is an empty list of messages"),
        (["Hello"], "`input`, message 1: a message is an object with `role` and `content`, got 'Hello'"),
        ([{"content": "x"}], "`input`, message 1: it has no `role`"),
        ([{"role": "usr", "content": "x"}], "unknown role 'usr'. Did you mean 'user'?"),
        ([{"role": 7, "content": "x"}], "unknown role 7"),
        ([{"role": "user"}], "`input`, message 1: it has no `content`"),
        ([{"role": "user", "contnet": "x"}], "it has no `content`, but 'contnet'. Did you mean `content`?"),
        ([{"role": "user", "content": "  "}], "its `content` is blank"),
        ([{"role": "user", "content": []}], "`content` must be text or a list of parts, each with a `type`"),
        ([{"role": "user", "content": [{"text": "x"}]}], "`content` must be text or a list of parts"),
        ([{"role": "user", "content": {"a": 1}}], "`content` must be text or a list of parts"),
        ([USER, {"role": "assistant", "content": None}], "`input`, message 2: it has no `content`"),
        ([USER, {"role": "assistant", "tool_calls": []}], "`tool_calls` must be a list of calls, got []"),
        ([USER, {"role": "assistant", "tool_calls": [{"id": "c1"}]}], 'call 1 must be {"id": …'),
        ([USER, {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}], "call 1 has no `id`"),
        ([USER, {"role": "assistant", "tool_calls": [CALL, CALL]}], "call 2 has the id 'c1' of an earlier call"),
        (
            [USER, {"role": "assistant", "tool_calls": [{**CALL, "function": {"name": "f", "arguments": 7}}]}],
            "has `arguments` that are neither text nor an object: 7",
        ),
        (
            [USER, ASSISTANT, {"role": "tool", "content": "x"}],
            "`input`, message 3: a tool's message needs the `tool_call_id`",
        ),
        (
            [USER, ASSISTANT, {"role": "tool", "content": "x", "tool_call_id": "c2"}],
            "`tool_call_id` 'c2' is not the id of an earlier call. Calls so far: c1",
        ),
        ([USER, {"role": "tool", "content": "x", "tool_call_id": "c1"}], "There is no call before it"),
        (
            [{"role": "system", "content": "Be brief."}],
            "`input` must end in a message of a user, tool or assistant, got one of 'system'",
        ),
    ],
)
def test_a_dialogue_that_cannot_be_sent_is_refused(messages: list[Any], message: str) -> None:
    (problem,) = refused({"input": messages, "expected_tool": "f"})
    assert message in problem


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "system", "content": "Be brief."}, USER],
        [USER, {"role": "assistant", "content": "Well,"}],
        [USER, ASSISTANT],
        [USER, ASSISTANT, {"role": "tool", "tool_call_id": "c1", "content": ""}],
        [
            {
                "role": "user",
                "content": [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {}}],
            }
        ],
        [{"role": "user", "name": "Robin", "content": "Hi"}],
    ],
)
def test_a_dialogue_is_sent_as_it_is(messages: list[dict[str, Any]]) -> None:
    case = EvalCase.from_dict({"input": messages, "expected_tool": "f"})
    assert case.messages() == messages
    assert EvalCase.from_dict(case.as_dict()) == case


def test_recorded_arguments_may_be_written_as_an_object() -> None:
    call = {"id": "c1", "function": {"name": "f", "arguments": {"path": "ä"}}}
    case = EvalCase([USER, {"role": "assistant", "tool_calls": [call]}], "f")
    sent = case.messages()[1]["tool_calls"][0]
    assert sent == {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"path": "ä"}'}}


def test_the_system_prompt_goes_first_unless_the_dialogue_brings_its_own() -> None:
    prompt = {"role": "system", "content": "Be kind."}
    own = [{"role": "developer", "content": "Be brief."}, USER]
    assert messages_of("Hello", "Be kind.") == [prompt, USER]
    assert messages_of([USER], "Be kind.") == [prompt, USER]
    assert messages_of(own, "Be kind.") == own
    assert messages_of("Hello") == [USER]
    with pytest.raises(DatasetError, match="`input` is blank"):
        messages_of(" ")


FIELDS = [*EvalCase.__dataclass_fields__, "expected_parameters", "expected_tol"]
WORDS = st.sampled_from(["none", "any", "first", "list_files", "tool", "arguments", "reviewer", "exact_match", "$any"])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(WORDS, v, max_size=3), max_leaves=8)


@given(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6))
def test_any_mapping_is_refused_or_a_case_that_survives_its_own_form(mapping: dict[str, Any]) -> None:
    try:
        case = EvalCase.from_dict({"input": "x", **mapping})
    except DatasetError:
        return
    assert EvalCase.from_dict(case.as_dict()) == case


# --- what a case becomes ---------------------------------------------------------------------------------------


def test_a_case_is_normalised_and_copied() -> None:
    arguments = {"path": ["a", ("b", "c")]}
    case = EvalCase(
        "Read it",
        "read_file",
        secondary_tools=["none", {"tool": "list_files", "arguments": {}}],
        expected_arguments=arguments,
        tags=["a", "b", "a "],
        id=" 007 ",
    )
    arguments["path"].append("d")
    assert case.secondary_tools == (SecondaryTool("none"), SecondaryTool("list_files", {}))
    assert case.expected_arguments == {"path": ["a", ["b", "c"]]}
    assert (case.id, case.case_id, case.tags, case.kind) == ("007", "007", ("a", "b"), "tool_choice")
    with pytest.raises(dataclasses.FrozenInstanceError):
        case.id = "x"  # type: ignore[misc]


def test_another_spelling_of_expected_arguments_is_read() -> None:
    case = EvalCase.from_dict({**ASK, "expected_parameters": {"a": 1}})
    assert case.expected_arguments == {"a": 1}
    assert case == EvalCase.from_dict({**ASK, "expected_arguments": {"a": 1}})


@pytest.mark.parametrize("given", ["007", "1e3", "true", "NA", "null", "a/b", "../x", "ä 🌧", "-", "x" * 200])
def test_ids_stay_the_text_they_are(given: str) -> None:
    assert EvalCase.from_dict({**ASK, "id": given}).id == given


def test_an_id_that_is_a_whole_number_becomes_its_digits() -> None:
    assert EvalCase.from_dict({**ASK, "id": 12345678901234567890}).id == "12345678901234567890"


def test_expected_alone_means_exact_match() -> None:
    case = EvalCase.from_dict(ANSWER)
    assert (case.kind, case.reviewers) == ("final_answer", ({"reviewer": "exact_match"},))
    assert EvalCase.from_dict({**ANSWER, "reviewers": []}) == case
    assert EvalCase.from_dict({"input": "x", "expected": []}).expected == []


def test_reviewers_are_specs() -> None:
    case = EvalCase.from_dict(
        {
            **ANSWER,
            "reviewers": ["exact_match", {"reviewer": "string_contains", "search_string": "paris"}, "exact_match"],
        }
    )
    contains = {"reviewer": "string_contains", "search_string": "paris"}
    assert case.reviewers == ({"reviewer": "exact_match"}, contains)


def test_a_reviewer_of_ones_own_can_be_named() -> None:
    @reviewers.reviewer(name="says_please")
    def says_please(answer: str, polite: bool = True) -> bool:
        return ("please" in answer) is polite

    assert EvalCase.from_dict({"input": "x", "reviewers": ["says_please"]}).kind == "final_answer"
    wrong = {"input": "x", "reviewers": [{"reviewer": "says_please", "polte": True}]}
    assert refused(wrong)[0].startswith("says_please: unknown parameter 'polte'. Did you mean 'polite'?")


@pytest.mark.parametrize(
    "case",
    [
        ASK,
        ANSWER,
        {**ASK, "secondary_tools": ["none", {"tool": "x", "arguments": {"a": {"$any": True}}}], "tags": ["t"]},
        {**ASK, "expected_arguments": {}, "calls": "only", "extra_arguments": "none", "text_calls": "accept"},
        {**ASK, "expected_arguments": {"n": 9007199254740993, "x": 1e-5, "b": True, "z": None, "s": "NUL \x00"}},
        {"input": "x", "expected": False, "notes": "why\nso", "cluster": "c", "id": "7"},
        {"input": "x", "expected": {"a": [1, {"b": None}]}, "reviewers": ["exact_match"]},
        {"input": [USER], "expected_tool": "any", "secondary_tools": ["none"]},
    ],
)
def test_a_case_survives_its_own_form(case: dict[str, Any]) -> None:
    made = EvalCase.from_dict(case)
    again = EvalCase.from_dict(jsontext.read(jsontext.write(made.as_dict())))
    assert again == made == dataclasses.replace(made)
    assert (again.case_hash, hash(again)) == (made.case_hash, hash(made))


def test_text_that_cannot_be_encoded_is_kept_as_its_escape() -> None:
    case = EvalCase("half \ud83d", "f\udc00", expected_arguments={"\ud800": ["\udfff"]}, id="\ud83d")
    assert (case.input, case.expected_tool, case.id) == ("half \\ud83d", "f\\udc00", "\\ud83d")
    assert case.expected_arguments == {"\\ud800": ["\\udfff"]}
    json.dumps(case.as_dict(), ensure_ascii=False).encode()


def test_large_numbers_are_exact() -> None:
    case = EvalCase.from_dict({**ASK, "expected_arguments": {"order_id": 1234567890123456789, "x": Decimal("1e400")}})
    assert case.as_dict()["expected_arguments"] == {"order_id": 1234567890123456789, "x": Decimal("1e400")}


def test_endless_nesting_is_refused_and_no_crash() -> None:
    deep: list[Any] = []
    for _ in range(10_000):
        deep = [deep]
    for case in ({**ASK, "expected_arguments": {"a": deep}}, {"input": "x", "expected": deep}):
        assert "nested deeper than 200 levels" in refused(case)[0]
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert "nested deeper than 200 levels" in refused({**ASK, "expected_arguments": loop})[0]


# --- ids and fingerprints --------------------------------------------------------------------------------------


def test_a_case_without_id_gets_a_readable_one_from_its_input() -> None:
    case = EvalCase.from_dict(ASK)
    assert re.fullmatch(r"what-files-are-there-[0-9a-f]{8}", case.id)
    assert EvalCase(**ASK).id == case.id
    assert re.fullmatch(r"case-[0-9a-f]{8}", EvalCase("天気は？", "f").id)
    assert EvalCase([{"role": "system", "content": "Be brief."}, USER], "f").id.startswith("hello-")


@pytest.mark.parametrize("change", [{"tags": ["a"]}, {"notes": "n"}, {"cluster": "c"}, {"kind": "tool_choice"}])
def test_what_is_not_content_changes_neither_id_nor_hash(change: dict[str, Any]) -> None:
    changed, case = EvalCase.from_dict({**ASK, **change}), EvalCase.from_dict(ASK)
    assert (changed.id, changed.case_hash) == (case.id, case.case_hash)


@pytest.mark.parametrize(
    "change",
    [
        {"expected_tool": "read_file"},
        {"secondary_tools": ["none"]},
        {"expected_arguments": {}},
        {"calls": "only"},
        {"extra_arguments": "any"},
        {"text_calls": "accept"},
    ],
)
def test_another_expectation_changes_the_hash_and_keeps_the_id(change: dict[str, Any]) -> None:
    changed, case = EvalCase.from_dict({**ASK, **change}), EvalCase.from_dict(ASK)
    assert changed.id == case.id
    assert changed.case_hash != case.case_hash


def test_another_input_changes_id_and_hash() -> None:
    changed, case = EvalCase.from_dict({**ASK, "input": "What files are there"}), EvalCase.from_dict(ASK)
    assert changed.id != case.id
    assert changed.case_hash != case.case_hash


SAME_INPUT = [ASK, {**ASK, "expected_tool": "read_file"}, {**ASK, "expected_arguments": {"path": "."}}]


def ids_of(cases: list[Any]) -> list[str]:
    return [case.id for case in Dataset(name="d", cases=cases, tools=TOOLS).cases]


def test_cases_that_share_an_input_get_ids_from_what_they_expect_too() -> None:
    alone = EvalCase.from_dict(ASK).id
    ids = ids_of(SAME_INPUT)
    assert len({*ids, alone}) == 4
    assert all(re.fullmatch(r"what-files-are-there-[0-9a-f]{8}", id) for id in ids)
    assert ids_of(SAME_INPUT[::-1]) == ids[::-1]
    assert ids_of([ANSWER, *SAME_INPUT]) == [EvalCase.from_dict(ANSWER).id, *ids]


def test_ids_are_shared_by_mappings_cases_and_frames() -> None:
    import pandas as pd

    ids = ids_of(SAME_INPUT)
    cases = [EvalCase.from_dict(case) for case in SAME_INPUT]
    frame = pd.DataFrame(SAME_INPUT)
    assert ids_of(cases) == ids
    assert ids_of([case.as_dict() for case in cases]) == ids
    assert [case.id for case in Dataset.from_frame(frame, tools=TOOLS).cases] == ids


@pytest.mark.parametrize("cases", [[ASK, ANSWER], SAME_INPUT, [{**ASK, "id": "mine"}, ASK]])
def test_ids_outlive_being_stored_replaced_and_selected(cases: list[Any]) -> None:
    dataset = Dataset(name="d", cases=cases, tools=TOOLS)
    assert Dataset.from_dict(dataset.as_dict()) == dataset
    assert dataclasses.replace(dataset, system_prompt="Be kind.").cases == dataset.cases
    kept = dataset.select(limit=1)
    assert Dataset.from_dict(kept.as_dict()).cases == dataset.cases[:1]


def test_an_id_of_ones_own_beside_an_automatic_one_changes_neither() -> None:
    assert ids_of([{**ASK, "id": "mine"}, SAME_INPUT[1]]) == ["mine", EvalCase.from_dict(ASK).id]


def test_a_case_that_stands_twice_among_others_of_its_input_is_refused() -> None:
    (problem,) = problems_of(lambda: Dataset(name="d", cases=[*SAME_INPUT, ASK], tools=TOOLS))
    assert "case 4: it is case 1 once more, word for word" in problem


def test_an_unsaid_setting_hashes_as_the_built_in_one() -> None:
    said = EvalCase.from_dict({**ASK, "calls": "first", "extra_arguments": "declared", "text_calls": "reject"})
    assert said.case_hash == EvalCase.from_dict(ASK).case_hash


def test_an_id_of_ones_own_is_not_part_of_the_hash() -> None:
    assert EvalCase.from_dict({**ASK, "id": "x"}).case_hash == EvalCase.from_dict(ASK).case_hash


def test_inserting_a_case_above_changes_nothing_below() -> None:
    below = [ASK, ANSWER, {"input": "Tell me a joke", "expected_tool": "none"}]
    before = Dataset(name="d", cases=below, tools=TOOLS)
    after = Dataset(name="d", cases=[{"input": "Hi", "expected_tool": "none"}, *below], tools=TOOLS)
    assert [case.id for case in after.cases[1:]] == [case.id for case in before.cases]
    assert after.dataset_hash != before.dataset_hash


def test_defaults_of_the_dataset_do_not_change_ids() -> None:
    cases = [ASK, ANSWER]
    plain = Dataset.from_dict({"cases": cases, "tools": TOOLS})
    full = Dataset.from_dict(
        {"cases": cases, "tools": TOOLS, "defaults": {"calls": "only", "tags": ["t"]}, "reviewers": ["valid_json"]}
    )
    assert [case.id for case in full.cases] == [case.id for case in plain.cases]
    assert [case.case_hash for case in full.cases] != [case.case_hash for case in plain.cases]


# --- datasets --------------------------------------------------------------------------------------------------


def test_a_dataset_knows_its_parts() -> None:
    dataset = Dataset(name="d", cases=[ASK, EvalCase(**ANSWER)], tools=TOOLS, system_prompt="Be kind.")
    assert [case.kind for case in dataset.cases] == ["tool_choice", "final_answer"]
    assert repr(dataset) == "Dataset('d': 2 cases (1 tool choice, 1 final answer), 2 tools)"
    assert (len(dataset), list(dataset)) == (2, list(dataset.cases))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cases": []}, "it has no cases"),
        ({"cases": "x"}, "`cases` must be a list of cases, got 'x'"),
        ({"cases": ASK}, "`cases` must be a list of cases"),
        ({"cases": None}, "`cases` must be a list of cases"),
        ({"name": ""}, "`name` must be text that is not blank, got ''"),
        ({"name": None}, "`name` must be text that is not blank"),
        ({"system_prompt": "  "}, "`system_prompt` must be text that is not blank"),
        ({"tools": [{"name": "none"}]}, "tool 1: the tool 'none': it cannot be called that"),
        ({"tools": [*TOOLS, Tool("list_files")]}, "tool 3: the tool 'list_files' is already defined (tool 1)"),
        (
            {"tools": [Tool("list_fles")]},
            "the tool 'list_files' is not defined. Did you mean 'list_fles'? Defined: list_fles",
        ),
        (
            {"tools": ()},
            "the tool 'list_files' is not defined, and the dataset has no tools. Give them with `tools`",
        ),
        (
            {"cases": [{**ASK, "secondary_tools": ["read_fiel"]}]},
            "case 1: `secondary_tools` 1: the tool 'read_fiel' is not defined.",
        ),
        ({"cases": [{"input": "x", "expected_tool": "None"}]}, "the tool 'None' is not defined. Did you mean 'none'?"),
        (
            {"cases": [{"input": "x", "expected_tool": "any"}], "tools": ()},
            "some tool is expected, and the dataset has no tools",
        ),
        ({"cases": [ASK, {**ASK, "calls": "x"}]}, "case 2: `calls` must be one of"),
        ({"cases": [{**ASK, "id": "a"}, {**ANSWER, "id": "a "}]}, "case 2: the id 'a' is that of case 1 too"),
        ({"cases": [{**ASK, "id": 1}, {**ANSWER, "id": "1"}]}, "case 2: the id '1' is that of case 1 too"),
        ({"cases": [ASK, ANSWER, {**ASK, "tags": ["t"]}]}, "case 3: it is case 1 once more, word for word"),
    ],
)
def test_a_dataset_that_cannot_be_run_is_refused(given: dict[str, Any], message: str) -> None:
    (problem,) = problems_of(lambda: Dataset(**{"name": "d", "cases": [ASK], "tools": TOOLS, **given}))
    assert message in problem


def test_a_dataset_without_tools_may_expect_none_and_answers() -> None:
    dataset = Dataset(name="d", cases=[{"input": "Hi", "expected_tool": "none"}, ANSWER])
    assert dataset.tools == ()


def test_a_frame_as_cases_says_what_to_use() -> None:
    import pandas as pd

    with pytest.raises(DatasetError, match=r"Use Dataset\.from_frame"):
        Dataset(name="d", cases=pd.DataFrame([ASK]), tools=TOOLS)  # type: ignore[arg-type]


def test_all_faults_of_all_cases_are_listed_in_one_error() -> None:
    cases = [{**ASK, "id": "a"}, {"input": "", "expected_tool": "x"}, {**ASK, "id": "a", "calls": "q"}, {"input": "y"}]
    problems = problems_of(lambda: Dataset(name="d", cases=cases, tools=[{"name": "any"}]))
    assert [problem.split(":")[0] for problem in problems] == ["case 2", "case 3", "case 4", "tool 1", "case 3"]


def test_fingerprints_follow_what_they_stand_for() -> None:
    base = Dataset(name="d", cases=[ASK, ANSWER], tools=TOOLS, system_prompt="Be kind.")

    def differing(**change: Any) -> list[str]:
        other = dataclasses.replace(base, **change)
        names = ("dataset_hash", "tools_hash", "prompt_hash")
        return [name for name in names if getattr(other, name) != getattr(base, name)]

    assert differing(name="e", description="x") == []
    assert differing(cases=[ANSWER, ASK]) == ["dataset_hash"]
    assert differing(cases=[{**ASK, "tags": ["t"]}, ANSWER]) == ["dataset_hash"]
    assert differing(cases=[{**ASK, "id": "t"}, ANSWER]) == ["dataset_hash"]
    assert differing(cases=[{**ASK, "notes": "n"}, ANSWER]) == []
    assert differing(tools=TOOLS[::-1]) == ["tools_hash"]
    assert differing(tools=[Tool("list_files", "Now described."), TOOLS[1]]) == ["tools_hash"]
    assert differing(system_prompt=None) == ["prompt_hash"]


def test_a_dataset_survives_its_own_form() -> None:
    cases = [{**ASK, "secondary_tools": [{"tool": "read_file", "arguments": {"path": "x"}}]}, ANSWER]
    dataset = Dataset(
        name="d", cases=cases, tools=[*TOOLS, Tool("a.b", strict=True)], system_prompt="p", description="q"
    )
    again = Dataset.from_dict(jsontext.read(jsontext.write(dataset.as_dict())))
    assert again == dataset
    assert (again.dataset_hash, again.tools_hash, hash(again)) == (
        dataset.dataset_hash,
        dataset.tools_hash,
        hash(dataset),
    )


# --- the full form ---------------------------------------------------------------------------------------------


def full(**options: Any) -> Dataset:
    return Dataset.from_dict({"cases": [ASK, ANSWER], "tools": TOOLS, **options})


def test_defaults_reach_the_cases_that_say_nothing() -> None:
    own = {**ASK, "input": "And here?", "calls": "any", "tags": ["mine"]}
    defaults = {"calls": "only", "extra_arguments": "none", "text_calls": "accept", "tags": ["all"]}
    first, second, answer = full(cases=[ASK, own, ANSWER], defaults=defaults).cases
    assert (first.calls, first.extra_arguments, first.text_calls, first.tags) == ("only", "none", "accept", ("all",))
    assert (second.calls, second.extra_arguments, second.tags) == ("any", "none", ("mine",))
    assert (answer.calls, answer.extra_arguments, answer.tags) == (None, None, ("all",))


def test_an_empty_list_of_tags_is_a_list_of_tags() -> None:
    assert full(cases=[{**ASK, "tags": []}], defaults={"tags": ["all"]}).cases[0].tags == ()


def test_reviewers_of_the_dataset_go_to_every_final_answer() -> None:
    names = lambda case: [spec["reviewer"] for spec in case.reviewers]  # noqa: E731
    own = {"input": "As JSON", "reviewers": ["valid_xml", "valid_json"]}
    bare = {"input": "Anything", "kind": "final_answer"}
    asked, answer, both, alone = full(cases=[ASK, ANSWER, own, bare], reviewers=["valid_json"]).cases
    assert names(asked) == []
    assert names(answer) == ["valid_json", "exact_match"]
    assert names(both) == ["valid_xml", "valid_json"]
    assert names(alone) == ["valid_json"]
    assert names(full(reviewers=["levenshtein"]).cases[1]) == ["levenshtein"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"casse": []}, "unknown key 'casse'. Did you mean 'cases'?"),
        ({"model": "x"}, "unknown key 'model'. A dataset takes: name, description, "),
        ({"defaults": {"call": "only"}}, "`defaults`: unknown key 'call'. Did you mean 'calls'?"),
        ({"defaults": {"calls": "all"}}, "`defaults`: `calls` must be one of first, any, only"),
        ({"defaults": ["only"]}, "`defaults` must be an object"),
        ({"reviewers": "exact_match"}, "`reviewers` must be a list"),
        ({"reviewers": ["exact_mach"]}, "`reviewers`: unknown reviewer 'exact_mach'. Did you mean 'exact_match'?"),
        ({"reviewers": ["string_contains"]}, "`reviewers`: string_contains: search_string is missing"),
        ({"tools": 7}, "`tools` must be a list of definitions, or the path of a JSON file relative to this one, got 7"),
        ({"tools": "tools.json"}, "`tools` must be a list of definitions"),
        ({"cases": None}, "it has no list of `cases`"),
        ({"cases": {}}, "it has no list of `cases`"),
        ({"name": 7}, "`name` must be text that is not blank, got 7"),
    ],
)
def test_what_stands_around_the_cases_is_checked_once(options: dict[str, Any], message: str) -> None:
    (problem,) = problems_of(lambda: full(**options))
    assert message in problem


def test_a_form_that_is_no_object_is_refused() -> None:
    with pytest.raises(DatasetError, match="a dataset's full form is an object with `cases`"):
        Dataset.from_dict([ASK])  # type: ignore[arg-type]


# --- selecting -------------------------------------------------------------------------------------------------


@pytest.fixture
def weather() -> Dataset:
    cases = [
        {"input": f"Rain {n}?", "expected_tool": "none", "id": f"weather-{n}", "tags": ["rain", f"t{n}"]}
        for n in (1, 2, 3)
    ]
    return Dataset(name="weather", cases=cases)


@pytest.mark.parametrize(
    ("how", "ids"),
    [
        ({}, ["weather-1", "weather-2", "weather-3"]),
        ({"cases": ["weather-3", "weather-1"]}, ["weather-1", "weather-3"]),
        ({"cases": "weather-2"}, ["weather-2"]),
        ({"tags": ["t1", "t3"]}, ["weather-1", "weather-3"]),
        ({"tags": "rain", "limit": 2}, ["weather-1", "weather-2"]),
        ({"cases": ["weather-1", "weather-2"], "tags": ["t2"]}, ["weather-2"]),
        ({"limit": 99}, ["weather-1", "weather-2", "weather-3"]),
    ],
)
def test_cases_are_selected_in_their_order(how: dict[str, Any], ids: list[str], weather: Dataset) -> None:
    assert [case.id for case in weather.select(**how).cases] == ids


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"cases": ["wether-1"]}, "no case 'wether-1'. Did you mean 'weather-1'?"),
        ({"cases": ["x"]}, "no case 'x'. There are: weather-1, weather-2, weather-3"),
        ({"tags": ["rian"]}, "no tag 'rian'. Did you mean 'rain'?"),
        ({"cases": []}, "no case is named, so nothing would be selected"),
        ({"tags": []}, "no tag is named, so nothing would be selected"),
        (
            {"cases": ["weather-1"], "tags": ["t2"]},
            "no case of 'weather' has both one of these ids and one of these tags",
        ),
        ({"limit": 0}, "limit must be at least 1, got 0"),
        ({"limit": True}, "limit must be at least 1, got True"),
        ({"limit": 1.5}, "limit must be at least 1, got 1.5"),
    ],
)
def test_selecting_nothing_is_an_error(how: dict[str, Any], message: str, weather: Dataset) -> None:
    assert message in problems_of(lambda: weather.select(**how))[0]


def test_every_unknown_id_is_named(weather: Dataset) -> None:
    assert len(problems_of(lambda: weather.select(cases=["a", "weather-1", "b"]))) == 2


# --- loading by name -------------------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "eval_data").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "eval_data" / "files.json").write_text(json.dumps([ASK]))
    (tmp_path / "eval_data" / "files.tools.json").write_text(json.dumps([tool.chat() for tool in TOOLS]))
    monkeypatch.chdir(tmp_path / "notebooks")
    return tmp_path


@pytest.mark.parametrize("name", ["files", "files.json", "../eval_data/files.json"])
def test_a_dataset_is_found_by_name_or_path(name: str, project: Path) -> None:
    dataset = load_dataset(name)
    assert (dataset.name, dataset.path) == ("files", project / "eval_data" / "files.json")
    assert [tool.name for tool in dataset.tools] == ["list_files", "read_file"]
    assert load_dataset(project / "eval_data" / "files.json") == dataset


def test_a_frame_for_a_dataset_says_how_to_make_one_of_it() -> None:
    import pandas as pd

    with pytest.raises(DatasetError, match=r"got DataFrame. Make one of a frame: ek.Dataset.from_frame\(df, tools=…\)"):
        load_dataset(pd.DataFrame([ASK]))  # type: ignore[arg-type]


def test_the_tools_of_another_dataset_can_be_offered(project: Path) -> None:
    ask = {"input": "Read a", "expected_tool": "read_file"}
    assert [tool.name for tool in Dataset(name="d", cases=[ask], tools=load_dataset("files")).tools] == [
        "list_files",
        "read_file",
    ]


@pytest.mark.parametrize("name", ["files", "files.json"])
def test_the_name_of_a_dataset_as_tools_says_what_to_give(name: str, project: Path) -> None:
    advice = f'{name!r} is a dataset; for its tools give ek.load_dataset("{name}")'
    assert advice in problems_of(lambda: Dataset(name="d", cases=[ASK], tools=name))[0]


@pytest.mark.parametrize("name", ["file", "files.tools.json"])
def test_what_is_no_dataset_is_only_said_to_be_missing(name: str, project: Path) -> None:
    (problem,) = problems_of(lambda: Dataset(name="d", cases=[ASK], tools=name))
    assert problem == f"{name}: the tools cannot be read: No such file or directory"


def test_a_dataset_that_is_not_there_is_named_with_the_nearest(project: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no dataset 'fils' in eval_data/. Did you mean 'files'\?") as caught:
        load_dataset("fils")
    assert isinstance(caught.value, DatasetError)
    with pytest.raises(DatasetError, match=r"no dataset file ../eval_data/file.json. Did you mean 'files.json'\?"):
        load_dataset("../eval_data/file.json")


def test_outside_a_project_a_name_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match="no dataset 'files': there is no such file here, and no eval_data/ in"):
        load_dataset("files")


def test_a_name_with_two_files_must_say_which(project: Path) -> None:
    (project / "eval_data" / "files.csv").write_text("input,expected_tool\nHi,none\n")
    with pytest.raises(DatasetError, match=r"'files' is more than one file in eval_data/: files.csv, files.json"):
        load_dataset("files")
    assert load_dataset("files.csv").cases[0].expected_tool == "none"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "a dataset is a name in eval_data/ or the path of a file, got ''"),
        ("a\x00b", "a dataset is a name in eval_data/"),
        ("../eval_data", "../eval_data is a folder. Name a file in it: files.json"),
        ("notes.txt", "notes.txt: a dataset file ends in .json, .jsonl, .ndjson, .csv, got '.txt'"),
        (7, "a dataset is a name in eval_data/, a path or a Dataset, got int"),
        ([ASK], "got list. Make one of cases: ek.Dataset(name=…, cases=…, tools=…)"),
        ({"cases": [ASK]}, "got dict. Make one of its full form: ek.Dataset.from_dict(…)"),
    ],
)
def test_what_is_no_dataset_is_refused(source: Any, message: str, project: Path) -> None:
    (project / "notebooks" / "notes.txt").write_text("x")
    with pytest.raises(DatasetError, match=re.escape(message)):
        load_dataset(source)


def test_tools_that_are_given_go_before_those_of_the_file(project: Path) -> None:
    def list_files(directory: str) -> str:
        """List them."""
        return directory

    assert [tool.description for tool in load_dataset("files", tools=[list_files]).tools] == ["List them."]
    with pytest.raises(DatasetError, match="the tool 'list_files' is not defined"):
        load_dataset("files", tools=[])


def test_a_dataset_can_be_loaded_again_with_other_tools(project: Path) -> None:
    dataset = load_dataset("files")
    assert load_dataset(dataset) is dataset
    assert load_dataset(dataset, tools=TOOLS[:1]).tools == (TOOLS[0],)
    with pytest.raises(DatasetError, match="the tool 'list_files' is not defined"):
        load_dataset(dataset, tools=TOOLS[1:])
