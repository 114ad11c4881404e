"""Some thousand hostile inputs for whatever reads text of others; `benchmarks/fuzz.py` gives each area a million."""

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import Markup

import fuzzing
from evalkit import html, jsontext
from evalkit.arguments import compare_arguments
from evalkit.case_comparison import compare_case
from evalkit.datasets import Dataset
from fuzzing import AREAS, check_json, seen_in
from mutating import Mutator

BY_HYPOTHESIS = 400
BY_MUTATION = 3_000


@pytest.mark.parametrize("area", AREAS)
def test_nothing_that_hypothesis_makes_gets_through(area):
    @settings(
        max_examples=BY_HYPOTHESIS,
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(AREAS[area].strategy)
    def check(one):
        AREAS[area].check(one)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("area", AREAS)
def test_nothing_that_is_cut_doubled_and_mixed_gets_through(area):
    kind = AREAS[area]
    source = Mutator(Random(area), kind.corpus(), kind.words)
    for _ in range(BY_MUTATION):
        kind.check(kind.cheap(source))


@pytest.mark.parametrize("area", AREAS)
def test_the_cheap_source_gives_the_same_again_and_not_one_thing_only(area):
    kind = AREAS[area]
    first, again = (Mutator(Random(5), kind.corpus(), kind.words) for _ in range(2))
    made = [repr(kind.cheap(first)) for _ in range(100)]
    assert made == [repr(kind.cheap(again)) for _ in range(100)]
    assert len(set(made)) > 50


@pytest.mark.parametrize(
    ("area", "name"),
    [
        ("replies", "read_reply"),
        ("replies", "read_verdict"),
        ("arguments", "compare_arguments"),
        ("datasets", "load_dataset"),
        ("xml", "valid_xml"),
        ("json", "valid_json"),
    ],
)
def test_an_exception_of_another_kind_would_be_noticed(area, name, monkeypatch):
    def broken(*_, **__):
        raise KeyError(name)

    monkeypatch.setattr(fuzzing, name, broken)
    source = Mutator(Random(1), AREAS[area].corpus(), AREAS[area].words)
    with pytest.raises(KeyError, match=name):
        AREAS[area].check(AREAS[area].cheap(source))


def test_text_that_becomes_markup_would_be_noticed(monkeypatch):
    monkeypatch.setattr(html, "_escaped", Markup)
    with pytest.raises((AssertionError, KeyError)):
        _render_hostile_text()


def _render_hostile_text():
    for number in range(20):
        AREAS["html"].check([f"<script>{number}</script>"] * 4)


@pytest.mark.parametrize(
    "markup",
    [
        "<script>x</script>",
        "<p onclick='x'>y</p>",
        "<p class='other'>x</p>",
        "<p>x",
        "<!-- x -->",
        "<p title='x'>y</p>",
    ],
)
def test_markup_that_no_view_makes_is_noticed(markup):
    with pytest.raises((AssertionError, KeyError)):
        seen_in(markup)


# What was found in this way


@pytest.mark.parametrize("options", [None, 7, "a", {"a": 1}])
def test_a_broken_choice_of_a_missing_argument_is_a_mismatch(options):
    found = compare_arguments({"a": {"$one_of": options}}, {})
    assert [one.kind for one in found.mismatches] == ["missing"]


@pytest.mark.parametrize("text", ["7", "null", '{"reviewer": "a"}', "true"])
def test_a_stored_run_whose_lists_are_none_is_shown_without_them(text):
    row = {"reviews": text, "mismatches": text, "expected_arguments": '{"a": 1}', "actual_arguments": '{"a": 2}'}
    case = compare_case({"status": "same"}, row, row)
    assert case.reviews == ()
    assert [(one.path, one.candidate_kind) for one in case.arguments] == [("a", "")]


def test_a_stored_mismatch_that_says_nothing_is_shown_as_one():
    row = {"mismatches": "[{}]", "expected_arguments": '{"a": 1}', "actual_arguments": '{"a": 2}'}
    case = compare_case({"status": "same"}, row, row)
    assert [(one.path, one.candidate_kind) for one in case.arguments] == [("a", ""), ("", "")]


@pytest.mark.parametrize("number", ["1e400", "-1.5E+999", "1" * 5_000])
def test_a_number_that_no_float_holds_is_still_a_number_when_it_is_written(number):
    value = jsontext.read(f'{{"a": [{number}]}}')
    written = jsontext.write(value)
    assert "string" not in {type(one).__name__ for one in jsontext.read(written)["a"]}
    assert jsontext.read(written) == jsontext.read_again(written) == value == {"a": [Decimal(number)]}
    check_json(f'{{"a": [{number}]}}')


def test_a_stored_dataset_expects_the_same_number_as_before():
    case = {"input": "how many?", "expected_tool": "count", "expected_arguments": {"n": Decimal("1e400")}}
    dataset = Dataset.from_dict({"name": "large", "tools": [{"name": "count"}], "cases": [case]})
    again = Dataset.from_dict(jsontext.read_again(jsontext.write(dataset.as_dict())))
    assert again.dataset_hash == dataset.dataset_hash
    assert compare_arguments(again.cases[0].expected_arguments, {"n": 10**400}).passed


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_decimal_that_is_no_number_is_not_written(number):
    with pytest.raises(ValueError, match="is not JSON"):
        jsontext.write({"a": Decimal(number)})


@given(st.text())
def test_text_that_looks_like_a_number_put_aside_stays_text(text):
    value = [f"number-0123456789abcdef:{text}", Decimal("1e999")]
    assert json.loads(jsontext.write(value))[0] == value[0]


def test_the_benchmark_prints_a_line_an_area():
    script = Path(__file__).parent.parent / "benchmarks" / "fuzz.py"
    command = [sys.executable, str(script), "--inputs", "200", "--only", "xml", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split(" | ")[:4] for line in done.stdout.splitlines() if line.startswith(("| xml", "| json"))]
    assert rows == [["| xml", "200", "4", "0"], ["| json", "200", "4", "0"]]
