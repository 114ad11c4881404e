"""What a Turn may hold: nothing that a results frame could not, so that no odd value ever stops a run."""

import dataclasses
import decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import evalkit as ek
from evalkit.records import REQUEST_ERRORS, Usage
from evalkit.rows import row_of, turn_of
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


USAGES = [  # what endpoints and libraries say of one request; input, output, cached, reasoning
    # Chat Completions: OpenAI, Azure, Groq, OpenRouter, vLLM with and without details
    ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
      "prompt_tokens_details": {"cached_tokens": 64},
      "completion_tokens_details": {"reasoning_tokens": 30}}, (100, 50, 64, 30)),
    ({"prompt_tokens": 100, "completion_tokens": 50, "prompt_tokens_details": None, "completion_tokens_details": None},
     (100, 50, None, None)),
    ({"prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 0}}, (9, 5, 0, None)),
    # Responses
    ({"input_tokens": 100, "output_tokens": 50, "input_tokens_details": {"cached_tokens": 64},
      "output_tokens_details": {"reasoning_tokens": 30}}, (100, 50, 64, 30)),
    # Anthropic and Bedrock count what is cached apart; LiteLLM says it twice, within the prompt
    ({"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10},
     (100, 50, 80, None)),
    ({"input_tokens": 10, "output_tokens": 50, "cache_read_input_tokens": None}, (10, 50, None, None)),
    ({"inputTokens": 10, "outputTokens": 50, "totalTokens": 150,
      "cacheReadInputTokens": 85, "cacheWriteInputTokens": 5},
     (100, 50, 85, None)),
    ({"prompt_tokens": 100, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 80},
      "cache_read_input_tokens": 80, "cache_creation_input_tokens": 10}, (100, 50, 80, None)),
    # DeepSeek, Moonshot, SGLang
    ({"prompt_tokens": 100, "completion_tokens": 50, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36},
     (100, 50, 64, None)),
    ({"prompt_tokens": 100, "completion_tokens": 50, "cached_tokens": 64}, (100, 50, 64, None)),
    ({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150, "reasoning_tokens": 30}, (100, 50, None, 30)),
    # xAI counts reasoning beside the completion, as the total shows; Gemini always does
    ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
      "completion_tokens_details": {"reasoning_tokens": 94}}, (32, 103, None, 94)),
    ({"promptTokenCount": 100, "candidatesTokenCount": 20, "thoughtsTokenCount": 30, "cachedContentTokenCount": 64,
      "totalTokenCount": 150}, (100, 50, 64, 30)),
    ({"prompt_token_count": 100, "candidates_token_count": 20, "thoughts_token_count": 30}, (100, 50, None, 30)),
    ({"promptTokenCount": 100, "thoughtsTokenCount": 30, "totalTokenCount": 130}, (100, 30, None, 30)),
    # llama.cpp, Ollama's own API, libraries
    ({"prompt_tokens": 100, "completion_tokens": 50, "timings": {"cache_n": 64, "prompt_n": 36}}, (100, 50, 64, None)),
    ({"prompt_eval_count": 100, "eval_count": 50}, (100, 50, None, None)),
    ({"input_tokens": 100, "output_tokens": 50, "input_token_details": {"cache_read": 64},
      "output_token_details": {"reasoning": 30}}, (100, 50, 64, 30)),
    ({"inputTokens": 100, "outputTokens": 50, "cachedInputTokens": 64, "reasoningTokens": 30}, (100, 50, 64, 30)),
    # a gateway that says both APIs' words, one of them empty; our own words
    ({"prompt_tokens": 100, "completion_tokens": 50, "input_tokens": 0, "output_tokens": 0}, (100, 50, None, None)),
    ({"input_tokens": 100, "output_tokens": 50, "cached_tokens": 64, "reasoning_tokens": 30}, (100, 50, 64, 30)),
    # odd counts: what came is kept, what cannot be read is not known
    ({"prompt_tokens": 10.0, "completion_tokens": 5.0, "cached_tokens": 4.0}, (10, 5, 4, None)),
    ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": "many"},
      "completion_tokens_details": {"reasoning_tokens": -1}}, (10, 5, None, None)),
    ({"prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": True, "reasoning_tokens": 1e300},
     (10, 5, None, None)),
    # gateways that name a part apart from its whole, as is plain where it is the greater
    ({"prompt_tokens": 10, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 7}},
     (10, 12, None, 7)),
    ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}},
     (100, 5, 90, None)),
    ({"completion_tokens": 5, "cached_tokens": 90}, (None, 5, 90, None)),
    ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": [4], "completion_tokens_details": "x"},
     (10, 5, None, None)),
    ({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"audio_tokens": 4}, 3: {4: 5}},
     (10, 5, None, None)),
]  # fmt: skip


@pytest.mark.parametrize(("said", "counts"), USAGES, ids=str)
def test_tokens_are_counted_in_every_endpoints_spelling(said, counts):
    usage = Usage.of(said)
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.reasoning_tokens) == counts
    assert Usage.of(dataclasses.asdict(usage)) == usage


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


COUNTS = ["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"]


def test_cached_and_reasoning_tokens_are_stored_priced_and_kept_when_scored_again(tmp_path):
    said = {"prompt_tokens": 100, "completion_tokens": 50, "prompt_tokens_details": {"cached_tokens": 80},
            "completion_tokens_details": {"reasoning_tokens": 30}}  # fmt: skip
    prices = {"recorded": {"input": 10_000, "cached_input": 1_000, "output": 10_000}}
    model = Recorded(ek.Turn(answer="Hi", usage=said))
    results = ek.run(small(), model=model, prices=prices, results_dir=tmp_path)
    assert results[COUNTS].to_numpy().tolist() == [[100, 50, 80, 30]] * 3
    assert results["cost_usd"].tolist() == pytest.approx([0.2 + 0.08 + 0.5] * 3)
    again = ek.rescore("latest", results_dir=tmp_path)
    pd.testing.assert_frame_equal(again[[*COUNTS, "cost_usd"]], results[[*COUNTS, "cost_usd"]])


def test_a_file_from_before_they_were_counted_reads_as_not_known(tmp_path):
    sample = min(
        (Path(__file__).parents[1] / "results" / "sample").glob("*.parquet"), key=lambda path: path.stat().st_size
    )
    since = [name for name in ("cached_tokens", "reasoning_tokens") if name in pq.read_schema(sample).names]
    older = pq.read_table(sample).drop_columns(since).replace_schema_metadata(pq.read_metadata(sample).metadata)
    pq.write_table(older, tmp_path / sample.name)
    run_id = sample.stem
    for frame in (ek.load_run(run_id, results_dir=tmp_path), ek.load_history(results_dir=tmp_path),
                  ek.load_history(columns=["cached_tokens", "reasoning_tokens"], results_dir=tmp_path),
                  ek.rescore(run_id, judges=False, results_dir=tmp_path)):  # fmt: skip
        assert frame[["cached_tokens", "reasoning_tokens"]].isna().all(axis=None)
        assert frame.dtypes[["cached_tokens", "reasoning_tokens"]].astype(str).tolist() == ["Int64", "Int64"]


def test_a_turn_is_read_back_from_a_row_of_before_they_were_counted():
    case = small().cases[0]
    row = row_of(case, 1, ek.Turn(answer="Hi", usage=Usage(3, 4, 1, 2)), ek.Verdict(True, 1.0, "right"))
    assert turn_of(row).usage == Usage(3, 4, 1, 2)
    older = {name: value for name, value in row.items() if name not in ("cached_tokens", "reasoning_tokens")}
    assert turn_of(older).usage == Usage(3, 4)


@pytest.mark.parametrize("call", ODD_CALLS, ids=str)
def test_a_call_of_any_kind_is_scored_stored_and_scored_again_alike(call, tmp_path):
    turn = ek.Turn(tool_calls=[call])
    results = ek.run(small(), model=Recorded(turn), cases=["list"], results_dir=tmp_path)
    pd.testing.assert_frame_equal(ek.load_run("latest", results_dir=tmp_path), results)
    again = ek.rescore("latest", results_dir=tmp_path)
    same = ["outcome", "passed", "score", "actual_tool", "tool_calls"]
    pd.testing.assert_frame_equal(again[same], results[same])
