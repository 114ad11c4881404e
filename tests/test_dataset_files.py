"""Datasets as people have them: JSON, JSONL, CSV, frames; in UTF-8 whatever its clothes; every fault with its line."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evalkit import dataset_files
from evalkit.datasets import Dataset, EvalCase, load_dataset
from evalkit.errors import DatasetError

BOM = b"\xef\xbb\xbf"
TOOLS = [{"name": "get_weather"}, {"name": "list_files"}, {"name": "read_file"}, {"name": "refund_order"}]
WEATHER = {"id": "w1", "input": "Wetter in Köln? 🌧", "expected_tool": "get_weather"}
FILES = {
    "id": "w2",
    "input": "What files\nare there?",
    "expected_tool": "list_files",
    "secondary_tools": ["none", {"tool": "read_file", "arguments": {"path": "x,y"}}],
    "expected_arguments": {"order_id": 1234567890123456789, "n": {"$approx": 1.5}},
    "tags": ["a", "b"],
}


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(name: str, content: bytes | str, tools: Any = TOOLS) -> Dataset:
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return load_dataset(name, tools=tools)


def problems(name: str, content: bytes | str, tools: Any = TOOLS) -> list[str]:
    with pytest.raises(DatasetError) as caught:
        load(name, content, tools)
    return [str(problem) for problem in caught.value.problems]


def jsonl(*cases: Any) -> str:
    return "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in cases)


CSV = """id,input,expected_tool,secondary_tools,expected_arguments,tags
w1,Wetter in Köln? 🌧,get_weather,,,
w2,"What files
are there?",list_files,"[""none"", {""tool"": ""read_file"", ""arguments"": {""path"": ""x,y""}}]",\
"{""order_id"": 1234567890123456789, ""n"": {""$approx"": 1.5}}","[""a"", ""b""]"
"""
FORMS = {
    "D.JSON": json.dumps([WEATHER, FILES], ensure_ascii=False),
    "d.json": json.dumps([WEATHER, FILES], ensure_ascii=False, indent=2) + "\n",
    "d.jsonl": jsonl(WEATHER, FILES),
    "d.ndjson": jsonl(WEATHER, FILES),
    "d.csv": CSV,
}


# --- one dataset, many clothes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("mark", [b"", BOM])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_form_gives_the_same_cases(name: str, mark: bytes, end: bytes) -> None:
    dataset = load(name, mark + FORMS[name].encode().replace(b"\n", end))
    assert list(dataset.cases) == [EvalCase.from_dict(WEATHER), EvalCase.from_dict(FILES)]
    assert [case.id for case in dataset.cases] == ["w1", "w2"]
    assert dataset.name in ("d", "D")


def test_the_locale_does_not_matter(tmp_path: Path) -> None:
    Path("d.jsonl").write_bytes(BOM + jsonl(WEATHER, FILES).replace("\n", "\r\n").encode())
    Path("d.tools.json").write_text(json.dumps(TOOLS))
    code = "import evalkit.datasets as d; print(ascii([c.input for c in d.load_dataset('d.jsonl').cases]))"
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (ascii([WEATHER["input"], FILES["input"]]), "")


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("mark", [b"", BOM])
def test_latin_1_is_refused_with_the_byte(name: str, mark: bytes) -> None:
    content = mark + FORMS[name].replace("🌧", "").encode("latin-1")
    (problem,) = problems(name, content)
    place = content.index(b"\xf6")
    line = content.count(b"\n", 0, place) + 1
    assert problem.startswith(f"{name}: byte {place} (line {line}) is 0xf6, which is not UTF-8")


def test_utf_16_is_named() -> None:
    assert problems("d.json", FORMS["d.json"].encode("utf-16"))[0].startswith(
        "d.json: byte 0: this is UTF-16, not UTF-8"
    )


def test_line_separators_inside_text_are_text() -> None:
    case = {**WEATHER, "input": "one\u2028two\u0085three\x1cfour"}
    assert load("d.jsonl", jsonl(case)).cases[0].input == case["input"]
    assert load("d.csv", f"input,expected_tool\n{case['input']},none\n").cases[0].input == case["input"]


@pytest.mark.parametrize("text", ["NUL \x00 in it", "half \ud83d", "<script>", "\u202eright to left", "x" * 1_000_000])
def test_odd_text_is_kept(text: str) -> None:
    dataset = load("d.json", json.dumps([{"input": text, "expected_tool": "none"}]))
    assert dataset.cases[0].input == text.replace("\ud83d", "\\ud83d")
    assert Dataset.from_dict(dataset.as_dict()).cases == dataset.cases


def test_a_file_of_many_cases_is_read_whole() -> None:
    cases = [{"id": f"c{n}", "input": f"Question {n}", "expected_tool": "none"} for n in range(10_000)]
    dataset = load("d.json", json.dumps({"cases": cases}, indent=1))
    assert len(dataset) == 10_000
    cases[9_998]["calls"] = "x"
    assert problems("d.json", json.dumps({"cases": cases}, indent=1))[0].startswith(
        "d.json, case 9999 (line 49993): `calls`"
    )


PIECES = [
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b":",
    b'"',
    b'"input":"x"',
    b'"cases"',
    b"\n",
    b"\r",
    b"\xff",
    b"\x00",
    b"1e999",
]
PIECES += [b'"expected_tool":"none"', b'""', b"\\ud800", "ä".encode(), BOM, b"input,expected_tool\n", b"9" * 5000]


@given(st.lists(st.sampled_from(PIECES), max_size=12), st.sampled_from([".json", ".jsonl", ".csv"]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_bytes_are_a_dataset_or_refused_in_sentences(pieces: list[bytes], ending: str) -> None:
    found: list[str] = []
    try:
        load(f"d{ending}", b"".join(pieces))
    except DatasetError as error:
        found = error.problems
    assert all(f"d{ending}" in problem for problem in found)


# --- JSON ------------------------------------------------------------------------------------------------------

PLAIN = """[
  {"input": "a", "expected_tool": "none"},

  {"input": "b",
   "expected_tol": "none"},
  {"input": "c", "expected_tool": "none", "input": "d"},
  7, {"input": "e", "expected_tool": "get_wether"}
]
"""
PROBLEMS = [
    ", case 2 (line 4): unknown key 'expected_tol'. Did you mean 'expected_tool'?",
    ", case 3 (line 6): the key 'input' appears twice in one object",
    ", case 4 (line 7): a case is an object with `input` and what is expected, got 7",
    ", case 5 (line 7): `expected_tool`: the tool 'get_wether' is not defined. Did you mean 'get_weather'? Defined: "
    "get_weather, list_files, read_file, refund_order",
]


def test_all_problems_of_a_list_are_said_with_their_lines() -> None:
    assert problems("d.json", PLAIN) == [f"d.json{problem}" for problem in PROBLEMS]


def test_lines_count_in_the_full_form_too() -> None:
    content = '{"name": "x",\n "system_promt": "y",\n\n "cases":\n' + PLAIN + "}"
    found = problems("d.json", content)
    assert found[0] == "d.json, line 2: unknown key 'system_promt'. Did you mean 'system_prompt'?"
    assert found[1].startswith("d.json, case 2 (line 8): unknown key")
    assert found[-1].startswith("d.json, case 5 (line 11): `expected_tool`")


def test_a_problem_names_the_file_as_it_was_given() -> None:
    Path("eval_data").mkdir()
    content = jsonl(*[WEATHER] * 2)
    assert problems("eval_data/support.jsonl", content) == [
        "eval_data/support.jsonl, case 2 (line 2): the id 'w1' is that of case 1 (line 1) too. "
        "Each case needs an id of its own"
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "d.json: the file is empty"),
        (" \n\n", "d.json: the file is empty"),
        ("[]", "d.json: it has no cases"),
        ('{"cases": []}', "d.json: it has no cases"),
        ("{}", "d.json: it has no list of `cases`"),
        ('{"cases": {"input": "x"}}', "d.json: it has no list of `cases`"),
        ('{"input": "x", "expected_tool": "none"}', "d.json, line 1: unknown key 'input'."),
        ("7", "d.json: a dataset is a list of cases, or an object that holds one under `cases`"),
        ("null", "d.json: a dataset is a list of cases"),
        ('[{"input": "x"},\n]', "d.json, line 2, column 1: "),
        ('[{"input": "x", "expected_tool": "none"}', "d.json, line 1, column 41: Expecting ',' delimiter"),
        ('[{"input": "x", "expected": NaN}]', "d.json, line 1, column 29: NaN is not JSON"),
        ('[{"input": "x\x00"}]', "d.json, line 1, column 14: Invalid control character at"),
        ("[" * 10_000, "d.json, line 1, column 201: nested deeper than 200 levels"),
        (
            '[{"input": "x", "expected": ' + "[" * 10_000 + "]" * 10_000 + "}]",
            "d.json, line 1, column 227: nested deeper",
        ),
        ('{"cases": [],\n "cases": []}', "d.json: line 2: the key 'cases' appears twice (also on line 1)"),
        (
            '{"cases": [{"input": "x", "expected_tool": "none"}],\n "defaults": {"calls": "any", "calls": "only"}}',
            "d.json: line 2: in 'defaults', the key 'calls' appears twice",
        ),
    ],
)
def test_json_that_cannot_be_read_is_refused_with_its_place(content: str, message: str) -> None:
    assert problems("d.json", content)[0].startswith(message)


def test_keys_that_python_would_mind_are_only_keys() -> None:
    case = '[{"input": "x", "expected_tool": "none", "__class__": {"__init__": 1}, "__dict__": 2}]'
    assert [problem.split(".")[1] for problem in problems("d.json", case)] == [
        "json, case 1 (line 1): unknown key '__class__'",
        "json, case 1 (line 1): unknown key '__dict__'",
    ]


# --- JSONL -----------------------------------------------------------------------------------------------------


def test_blank_lines_are_no_cases_but_lines() -> None:
    lines = ["", json.dumps(WEATHER), "  ", '{"input": "x", ', "[]", '{"input": "y"} {}']
    assert problems("d.jsonl", "\n".join(lines)) == [
        "d.jsonl, case 2 (line 4): column 16: Expecting property name enclosed in double quotes",
        "d.jsonl, case 3 (line 5): a case is an object with `input` and what is expected, got []",
        "d.jsonl, case 4 (line 6): column 16: Extra data",
    ]


@pytest.mark.parametrize("content", ["", "\n \n\t\n", "\ufeff"])
@pytest.mark.parametrize("name", ["d.jsonl", "d.csv"])
def test_a_file_without_cases_is_refused(name: str, content: str) -> None:
    assert problems(name, content) == [f"{name}: it has no cases"]


def test_two_cases_with_one_id_are_refused_with_both_lines() -> None:
    refund = {"id": "refund-01", "input": "Refund order 88", "expected_tool": "refund_order"}
    track = {"id": "refund-01 ", "input": "Where is order 88?", "expected_tool": "none"}
    content = "\n\n" + jsonl(refund) + "\n" * 5 + jsonl(track)
    assert problems("d.jsonl", content) == [
        "d.jsonl, case 2 (line 9): the id 'refund-01' is that of case 1 (line 3) too. Each case needs an id of its own"
    ]


@pytest.mark.parametrize(("first", "second"), [(1, "1"), ("1", 1), ("a", " a"), ("a\t", "a")])
def test_ids_that_differ_only_by_form_are_one(first: Any, second: Any) -> None:
    cases = [{**WEATHER, "id": first}, {**FILES, "id": second}]
    assert "is that of case 1 (line 1) too" in problems("d.jsonl", jsonl(*cases))[0]


def test_an_id_counts_even_where_its_case_is_broken() -> None:
    cases = [{**WEATHER, "calls": "x"}, WEATHER]
    assert [problem.split(": ")[1][:12] for problem in problems("d.jsonl", jsonl(*cases))] == [
        "`calls` must",
        "the id 'w1' ",
    ]


@pytest.mark.parametrize("id", ["007", "1e3", "true", "NA", "a/b\\c", "null"])
def test_ids_stay_text_in_every_form(id: str) -> None:
    import pandas as pd

    case = {"id": id, "input": "Hi", "expected_tool": "none"}
    datasets = [
        load("d.json", json.dumps([case])),
        load("d.jsonl", jsonl(case)),
        load("d.csv", f"id,input,expected_tool\n{id},Hi,none\n"),
        Dataset.from_frame(pd.DataFrame([case])),
    ]
    assert [dataset.cases[0].id for dataset in datasets] == [id] * 4


def test_an_identical_case_is_refused_once_more() -> None:
    case = {"input": "Hi", "expected_tool": "none"}
    (problem,) = problems("d.jsonl", jsonl(case, WEATHER, {**case, "tags": ["x"]}))
    assert problem.startswith("d.jsonl, case 3 (line 3): it is case 1 (line 1) once more, word for word (id 'hi-")


# --- CSV -------------------------------------------------------------------------------------------------------


def test_cells_that_are_not_json_stay_text() -> None:
    rows = ['How many?,42,"[not, json"', "Is it?,true,", 'Name it,"{braces} first",', 'As JSON,"{""a"": 1}",']
    content = "\n".join(["input,expected,notes", *rows])
    dataset = load("d.csv", content)
    assert [case.expected for case in dataset.cases] == ["42", "true", "{braces} first", {"a": 1}]
    assert dataset.cases[0].notes == "[not, json"


def test_a_dialogue_fits_into_a_cell_but_brackets_make_none() -> None:
    messages = [{"role": "user", "content": "Hi"}]
    cell = json.dumps(messages).replace('"', '""')
    dataset = load("d.csv", f'input,expected_tool\n"{cell}",none\n"[1, 2] is what?",none\n"[1, 2]",none\n')
    assert [case.input for case in dataset.cases] == [tuple(messages), "[1, 2] is what?", "[1, 2]"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "input,expected_tool,tags\nHi,none,a b\n",
            "d.csv, case 1 (line 2): `tags` must be JSON such as [\"a b\"], got 'a b'",
        ),
        (
            'input,expected_tool,secondary_tools\n\nHi,none,"x, y"\n',
            'd.csv, case 1 (line 3): `secondary_tools` must be JSON such as ["x", "y"]',
        ),
        (
            "input,expected_tool,expected_arguments\nHi,list_files,{a: 1}\n",
            "d.csv, case 1 (line 2): `expected_arguments` must be JSON, got '{a: 1}'",
        ),
        ("input,expected_tool\nHi,none,more\n", "d.csv, case 1 (line 2): cell 3 ('more') stands under no column"),
        ("input,expected_tool,\nHi,none,more\n", "d.csv, case 1 (line 2): cell 3 ('more') stands under no column"),
        ("input,expected_tool,input\nHi,none,\n", "d.csv, line 1: two columns are called 'input'"),
        ("input;expected_tool\nHi;none\n", "d.csv, line 1: the columns are not separated by commas"),
        (
            "input,expected_tol\nHi,none\n",
            "d.csv, case 1 (line 2): unknown key 'expected_tol'. Did you mean 'expected_tool'?",
        ),
        ('input,expected_tool\n"Hi,none\n', "d.csv, line 2: the CSV breaks here: unexpected end of data"),
        ('input,expected_tool\nok,none\n"H"i,none\n', "d.csv, line 3: the CSV breaks here: ',' expected after '\"'"),
        ("input,expected_tool\n" + "x" * 200_000 + ",none\n", "d.csv, line 2: the CSV breaks here: field larger than"),
        ("input,expected_tool\n", "d.csv: it has no cases"),
        ("input,expected_tool\n,none\n", "d.csv, case 1 (line 2): it has no `input`"),
    ],
)
def test_a_broken_table_is_refused_with_its_place(content: str, message: str) -> None:
    assert problems("d.csv", content)[0].startswith(message)


def test_lines_of_a_table_are_those_of_the_file() -> None:
    content = 'input,expected_tool\n"one\ntwo\nthree",none\n,,\nlast,nonne\n'
    assert problems("d.csv", content)[0].startswith("d.csv, case 2 (line 6): `expected_tool`: the tool 'nonne'")


# --- frames ----------------------------------------------------------------------------------------------------


def test_a_frame_holds_values_or_their_json() -> None:
    import numpy as np
    import pandas as pd

    frame = pd.DataFrame(
        {
            "id": ["w1", "w2"],
            "input": [WEATHER["input"], FILES["input"]],
            "expected_tool": ["get_weather", "list_files"],
            "secondary_tools": [None, json.dumps(FILES["secondary_tools"])],
            "expected_arguments": [float("nan"), FILES["expected_arguments"]],
            "tags": [np.nan, np.array(["a", "b"], dtype=object)],
            "notes": [pd.NA, pd.NaT],
            "cluster": ["", None],
        }
    )
    before = frame.copy(deep=True)
    dataset = Dataset.from_frame(frame, name="d", tools=TOOLS, system_prompt="Be kind.")
    assert list(dataset.cases) == [EvalCase.from_dict(WEATHER), EvalCase.from_dict(FILES)]
    assert (dataset.name, dataset.system_prompt, dataset.path) == ("d", "Be kind.", None)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([7, 12345678901234567], ["7", "12345678901234567"]),
        ([7.0, None], ["7", "hi-"]),
        (["007", "7"], ["007", "7"]),
        ([1.5, 2], ["1.5", "2"]),
    ],
)
def test_ids_of_a_frame_become_text(ids: list[Any], expected: list[str]) -> None:
    import pandas as pd

    frame = pd.DataFrame({"id": ids, "input": ["Hello", "Hi"], "expected_tool": ["none", "none"]})
    found = [case.id for case in Dataset.from_frame(frame).cases]
    assert [one if one == want else one[:3] for one, want in zip(found, expected, strict=True)] == expected


def test_values_of_a_frame_are_plain() -> None:
    import pandas as pd

    frame = pd.DataFrame({"input": ["a", "b"], "expected": [1, 2]})
    assert [type(case.expected) for case in Dataset.from_frame(frame).cases] == [int, int]
    frame = pd.DataFrame({"input": ["a"], "expected": [{"n": frame["expected"].to_numpy()}]})
    assert Dataset.from_frame(frame).cases[0].expected == {"n": [1, 2]}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"input": [], "expected_tool": []}, "it has no cases"),
        (
            {"input": ["Hi"], "expected_tol": ["none"]},
            "case 1: unknown key 'expected_tol'. Did you mean 'expected_tool'?",
        ),
        ({"input": ["Hi"], 7: ["none"]}, "case 1: unknown key '7'."),
        ({"input": ["Hi"], "expected_tool": ["none"], "tags": ["a"]}, 'case 1: `tags` must be JSON such as ["a"]'),
        ({"input": [7], "expected_tool": ["none"]}, "case 1: `input` must be text or a list of messages, got 7"),
    ],
)
def test_a_frame_is_refused_like_a_file(columns: dict[Any, Any], message: str) -> None:
    import pandas as pd

    with pytest.raises(DatasetError) as caught:
        Dataset.from_frame(pd.DataFrame(columns))
    assert caught.value.problems[0].startswith(message)


# All kinds of nested column stand in these.
NESTED = [
    {"id": "w", "input": "Weather in Oslo?", "expected_tool": "get_weather", "expected_arguments": {"city": "Oslo"},
     "secondary_tools": [{"tool": "list_files", "arguments": {"directory": "."}}, {"tool": "read_file"}]},
    {"id": "f", "input": "Read a", "expected_tool": "read_file", "expected_arguments": {"path": "a.txt", "lines": 7},
     "secondary_tools": [{"tool": "get_weather", "arguments": {"city": "Rome"}}], "tags": ["files", "easy"]},
    {"id": "n", "input": "List them", "expected_tool": "list_files", "expected_arguments": {}},
    {"id": "d", "input": "List more", "expected_tool": "list_files",
     "expected_arguments": {"filter": {"names": [{"glob": "*.py"}, {"size": {"above": 5}}]}, "limits": [1, None, 3]}},
    {"id": "u", "input": "List any", "expected_tool": "list_files"},
    {"id": "a", "input": "Name the capital of Peru", "expected": "Lima", "reviewers": [
        {"reviewer": "levenshtein", "threshold": 0.5}, {"reviewer": "string_contains", "search_string": "Lima"},
        {"reviewer": "judge", "prompt": "Right? {answer}", "choice_scores": {"Y": 1, "N": 0}}]},
    {"id": "b", "input": "Say hello", "reviewers": [
        {"reviewer": "regex_match", "pattern": "(?i).*hello.*", "search": True},
        {"reviewer": "judge", "prompt": "Warm? {answer}", "choice_scores": {"A": 1, "B": 0.5, "C": 0}}]},
]  # fmt: skip
DIALOGUES = [
    {"id": "m", "expected": "30", "input": [
        {"role": "user", "content": "Weather in Oslo?"},
        {"role": "assistant", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city":"Oslo"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "30"}]},
    {"id": "k", "expected": "hi", "input": [{"role": "user", "content": "Hi"}]},
]  # fmt: skip


@pytest.mark.parametrize("cases", [NESTED, DIALOGUES], ids=["nested", "dialogues"])
@pytest.mark.parametrize("how", [{}, {"dtype_backend": "pyarrow"}, {"dtype_backend": "numpy_nullable"}], ids=str)
def test_cases_come_back_from_parquet_as_they_went(cases: list[Any], how: dict[str, Any], tmp_path: Path) -> None:
    import pandas as pd

    tools = [{"name": name} for name in ("get_weather", "list_files", "read_file")]
    pd.DataFrame(cases).to_parquet(tmp_path / "cases.parquet")
    frame = pd.read_parquet(tmp_path / "cases.parquet", **how)
    read = Dataset.from_frame(frame, tools=tools)
    written = Dataset(name="d", cases=cases, tools=tools)
    assert (read.cases, read.dataset_hash) == (written.cases, written.dataset_hash)
    assert Dataset.from_frame(frame.iloc[::-1], tools=tools).cases == read.cases[::-1]


def test_cases_come_back_from_lines_read_by_pandas_as_they_went(tmp_path: Path) -> None:
    import pandas as pd

    tools = [{"name": name} for name in ("get_weather", "list_files", "read_file")]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, NESTED)), encoding="utf-8")
    read = Dataset.from_frame(pd.read_json(path, lines=True), tools=tools)
    assert read.cases == load_dataset(path, tools=tools).cases


@pytest.mark.parametrize("dtype_backend", [None, "pyarrow"])
def test_a_map_is_an_object_and_large_integers_and_decimals_are_exact(dtype_backend: Any, tmp_path: Path) -> None:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "input": ["a", "b", "c"],
        "id": pa.array([Decimal(7), Decimal("7.5"), None]),
        "expected_tool": ["f", "f", "f"],
        "expected_arguments": pa.array([[("n", 2**60), ("m", None)], [], None], pa.map_(pa.string(), pa.int64())),
    }
    pq.write_table(pa.table(columns), tmp_path / "cases.parquet")
    how = {"dtype_backend": dtype_backend} if dtype_backend else {}
    cases = Dataset.from_frame(pd.read_parquet(tmp_path / "cases.parquet", **how), tools=[{"name": "f"}]).cases
    assert [case.expected_arguments for case in cases] == [{"n": 2**60, "m": None}, {}, None]
    assert [case.id for case in cases][:2] == ["7", "7.5"]


@pytest.mark.parametrize(
    ("cell", "arguments"),
    [
        ({"a": None}, {}),
        ({"a": float("nan"), "b": 1}, {"b": 1}),
        ({"a": {"b": None}}, {"a": {}}),
        ({"a": [None, 1]}, {"a": [None, 1]}),
        ({"a": [{"b": None}, {"c": 2}]}, {"a": [{}, {"c": 2}]}),
        ({"a": ""}, {"a": ""}),
        ({"a": 0, "b": False}, {"a": 0, "b": False}),
        ({"a": 7.0, "b": [1.0, 1.5]}, {"a": 7, "b": [1, 1.5]}),
        ({"a": [("x", 1)]}, {"a": [["x", 1]]}),
        ({}, {}),
        (None, None),
        ('{"a": null}', {"a": None}),
    ],
    ids=str,
)
def test_a_missing_value_of_a_frame_is_an_absent_key_and_json_text_is_taken_as_it_stands(
    cell: Any, arguments: Any
) -> None:
    import pandas as pd

    frame = pd.DataFrame({"input": ["a"], "expected_tool": ["f"], "expected_arguments": [cell]})
    assert Dataset.from_frame(frame, tools=[{"name": "f"}]).cases[0].expected_arguments == arguments


@pytest.mark.parametrize("missing", ["NA", "NaT", "float32", "Decimal", "None"])
def test_every_kind_of_missing_value_is_absent_at_any_depth(missing: str) -> None:
    import numpy as np
    import pandas as pd

    none = {"NA": pd.NA, "NaT": pd.NaT, "float32": np.float32("nan"), "Decimal": Decimal("NaN"), "None": None}[missing]
    frame = pd.DataFrame({"input": ["a"], "expected_tool": ["f"], "tags": [none]}, dtype=object)
    frame["expected_arguments"] = [{"a": none, "b": np.array([{"c": none, "d": np.int64(1)}], dtype=object)}]
    case = Dataset.from_frame(frame, tools=[{"name": "f"}]).cases[0]
    assert (case.expected_arguments, case.tags) == ({"b": [{"d": 1}]}, ())


def test_dates_and_endless_nesting_in_a_frame_are_refused() -> None:
    import numpy as np
    import pandas as pd

    endless: dict[str, Any] = {}
    endless["x"] = endless
    dates = np.array(["2024-04-01"], dtype="datetime64[ns]")
    for cell, message in (
        ({"day": pd.Timestamp("2024-04-01")}, "a Timestamp has no JSON form"),
        ({"days": dates}, "a datetime has no JSON form"),
        (endless, "`expected_arguments` is nested without end"),
    ):
        frame = pd.DataFrame({"input": ["a"], "expected_tool": ["f"], "expected_arguments": [cell]})
        with pytest.raises(DatasetError, match=re.escape(message)):
            Dataset.from_frame(frame, tools=[{"name": "f"}])


def test_a_frame_with_a_column_twice_is_refused() -> None:
    import pandas as pd

    with pytest.raises(DatasetError, match="the frame has two columns called 'input'"):
        Dataset.from_frame(pd.DataFrame([["a", "b"]], columns=["input", "input"]))


# --- tools of a file -------------------------------------------------------------------------------------------


def with_tools(tools: Any, **files: Any) -> str:
    for name, content in files.items():
        path = Path(name.replace("__", "/") + ".json")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return json.dumps({"tools": tools, "cases": [WEATHER]}, indent=1)


@pytest.mark.parametrize("tools", [TOOLS, "shared.json", "sub/shared.json", "./sub/../shared.json"])
def test_tools_stand_in_the_file_or_beside_it(tools: Any) -> None:
    content = with_tools(tools, shared=TOOLS, sub__shared={"tools": TOOLS})
    assert [tool.name for tool in load("d.json", content, None).tools] == [tool["name"] for tool in TOOLS]


@pytest.mark.parametrize("name", ["d.json", "d.jsonl", "d.csv"])
def test_a_plain_file_has_its_tools_beside_it(name: str) -> None:
    message = (
        f"{name}, case 1 (line 1): `expected_tool`: the tool 'get_weather' is not defined, and the dataset has no "
    )
    contents = {"d.json": json.dumps([WEATHER]), "d.jsonl": jsonl(WEATHER), "d.csv": CSV.split("w2")[0]}
    (problem,) = problems(name, contents[name], None)
    assert problem == message.replace("(line 1)", f"(line {2 if name == 'd.csv' else 1})") + (
        "tools. Give them in d.tools.json or with `tools`"
    )
    Path("d.tools.json").write_text(json.dumps(TOOLS))
    assert len(load(name, contents[name], None).tools) == 4


def test_an_empty_list_of_tools_is_no_tools() -> None:
    Path("d.tools.json").write_text(json.dumps(TOOLS))
    content = json.dumps({"tools": [], "cases": [{"input": "Hi", "expected_tool": "none"}]})
    assert load("d.json", content, None).tools == ()


@pytest.mark.parametrize(
    "written",
    [
        "../secret.json",
        "a/../../secret.json",
        "/etc/passwd",
        "C:\\x.json",
        "..\\x.json",
        "file:///etc/passwd",
        " ",
        "a\u0000b",
        "~/x.json/../../../../secret.json",
    ],
)
def test_tools_from_elsewhere_are_refused(written: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "secret.json").write_text(json.dumps(TOOLS))
    (problem,) = problems("deep/d.json", json.dumps({"cases": [WEATHER], "tools": written}), None)
    assert problem.startswith("deep/d.json, line 1: `tools` ")
    assert "leads out of deep/" in problem or "must be a path relative to this file" in problem


def test_a_link_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "secret.json").write_text(json.dumps(TOOLS))
    (tmp_path / "deep" / "link.json").symlink_to(tmp_path / "secret.json")
    assert (
        "leads out of deep/" in problems("deep/d.json", json.dumps({"cases": [WEATHER], "tools": "link.json"}), None)[0]
    )


def test_datasets_of_a_project_may_share_tools() -> None:
    content = with_tools("../shared.json", eval_data__shared=TOOLS, eval_data__shop__x=[])
    assert len(load("eval_data/shop/d.json", content, None).tools) == 4


def test_faults_of_tools_and_of_cases_are_said_together() -> None:
    content = with_tools([{"name": "get_weather"}, {"name": "any"}]).replace('"id": "w1"', '"id": ""')
    rule = """it cannot be called that: in a case, "any" stands for whichever tool. Rename it."""
    assert problems("d.json", content, None) == [
        "d.json, case 1 (line 11): `id` is blank",
        f"d.json, line 2: tool 2: the tool 'any': {rule}",
    ]


def test_a_missing_file_of_tools_is_named() -> None:
    assert problems("d.json", with_tools("x.json"), None) == [
        "x.json: the tools cannot be read: No such file or directory"
    ]


# --- files in a folder -----------------------------------------------------------------------------------------


def test_files_of_tools_are_no_datasets(tmp_path: Path) -> None:
    for name in ("b.json", "a.csv", "b.tools.json", "c.jsonl", "notes.txt", ".hidden"):
        (tmp_path / name).write_text("")
    (tmp_path / "folder.json").mkdir()
    assert [path.name for path in dataset_files.dataset_paths(tmp_path)] == ["a.csv", "b.json", "c.jsonl"]


def test_a_file_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Path("d.json").write_text("[]")

    def refuse(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(DatasetError, match=r"d\.json: cannot be read: Permission denied"):
        load_dataset("d.json")
