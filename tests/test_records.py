"""What a Turn may hold: nothing that a results frame could not, so that no odd value ever stops a run."""

import decimal

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.records import REQUEST_ERRORS, Usage
from test_runner import small


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"answer": 5}, "a Turn's answer must be a str or None, got int"),
        ({"error_kind": b"timeout"}, "a Turn's error_kind must be a str or None, got bytes"),
        ({"error_kind": "weird"}, "a Turn's error_kind must be one of auth, bad_request"),
        ({"flags": [1]}, "a Turn's flags must be words, got (1,)"),
        ({"attempts": "many"}, "a Turn's attempts must be a count, got 'many'"),
        ({"attempts": -1}, "a Turn's attempts must be a count, got -1"),
        ({"attempts": True}, "a Turn's attempts must be a count, got True"),
        ({"latency_s": "x"}, "a Turn's latency_s must be a number of seconds, got 'x'"),
        ({"latency_s": float("nan")}, "a Turn's latency_s must be a number of seconds, got nan"),
    ],
)
def test_a_turn_that_no_frame_could_hold_is_refused(fields, words):
    with pytest.raises((TypeError, ValueError)) as caught:
        ek.Turn(**fields)
    assert words in str(caught.value)


def test_numbers_of_other_libraries_become_pythons():
    turn = ek.Turn(attempts=np.int64(2), latency_s=np.float32(0.5), usage={"input_tokens": np.int32(7)})
    assert (turn.attempts, turn.latency_s, turn.usage) == (2, 0.5, Usage(7, None))
    assert {type(turn.attempts), type(turn.latency_s), type(turn.usage.input_tokens)} == {int, float}


@pytest.mark.parametrize("count", [-1, 2**80, 1.5, True, "7", None])
def test_a_token_count_that_is_none_is_left_out(count):
    assert Usage.of({"input_tokens": count, "prompt_tokens": 5}) == Usage(5, None)


@pytest.mark.parametrize("kind", sorted(REQUEST_ERRORS))
def test_every_kind_of_failed_request_can_be_recorded(kind):
    results = ek.score(small(), [ek.Turn(error_kind=kind, error="it failed"), None, None])
    assert results.loc[0, ["outcome", "error_kind", "error"]].tolist() == ["error", kind, "it failed"]


ODD_CALLS = [
    ek.ToolCall("list_files", object()),
    ek.ToolCall("list_files", b"{}"),
    ek.ToolCall("list_files", {"x": {1, 2}}),
    ek.ToolCall("list_files", {("a", "b"): 1}),
    ek.ToolCall("list_files", {1: 2}),
    ek.ToolCall("list_files", {"x": decimal.Decimal("NaN")}),
    ek.ToolCall("list_files", [1]),
    ek.ToolCall(5, "{}"),
    ek.ToolCall("list_files", "{}", raw=object()),
    {"function": {"name": "list_files", "arguments": "{}"}},
    {"type": "function", "function": None},
    "list_files",
    None,
]


class Recorded:
    """A model of one's own that is its own session."""

    name = "recorded"

    def __init__(self, turn):
        self.settings, self.turn = {}, turn

    def session(self):
        return self

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def ask(self, messages, tools=(), *, extra=None, notify=None):
        if isinstance(self.turn, Exception):
            raise self.turn
        return self.turn


@pytest.mark.parametrize(
    ("answered", "words"),
    [
        (ZeroDivisionError("no"), "the model failed: ZeroDivisionError: no"),
        ("text", "TypeError: it returned a str, not a Turn"),
    ],
)
def test_a_model_of_ones_own_that_breaks_its_promise_is_each_cases_error(answered, words, tmp_path):
    results = ek.run(small(), model=Recorded(answered), results_dir=tmp_path, progress=False)
    assert results["error_kind"].tolist() == ["model"] * 3
    assert words in results["error"].iloc[0]


@pytest.mark.parametrize("call", ODD_CALLS, ids=str)
def test_a_call_of_any_kind_is_scored_stored_and_scored_again_alike(call, tmp_path):
    turn = ek.Turn(tool_calls=[call])
    results = ek.run(small(), model=Recorded(turn), cases=["list"], results_dir=tmp_path)
    pd.testing.assert_frame_equal(ek.load_run("latest", results_dir=tmp_path), results)
    again = ek.rescore("latest", results_dir=tmp_path)
    same = ["outcome", "passed", "score", "actual_tool", "tool_calls"]
    pd.testing.assert_frame_equal(again[same], results[same])
