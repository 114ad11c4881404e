"""The words with which endpoints say why a model stopped, API by API as they document them."""

import pytest

from evalkit.finish_reasons import meaning, telling

WORDS = {
    "stop": """
        stop end_turn stop_sequence STOP COMPLETE STOP_SEQUENCE eos_token eos word FinishReason.STOP endoftext
        FINISH_REASON_STOP eosFound stopStringFound completed done <|im_end|> <|eot_id|>
    """,
    "calls": "tool_calls function_call tool_use TOOL_CALL toolCalls TOOL_USE FinishReason.TOOL_CALLS",
    "length": """
        length max_tokens max_output_tokens MAX_TOKENS FinishReason.MAX_TOKENS FINISH_REASON_MAX_TOKENS model_length
        model_context_window_exceeded pause_turn ERROR_LIMIT limit incomplete maxPredictedTokensReached
        contextLengthReached maximum_tokens token_limit time_limit repetition Length max-tokens context_length_exceeded
        max_completion_tokens_reached
    """,
    "filtered": """
        content_filter SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY guardrail_intervened
        content_filtered sensitive ERROR_TOXIC FinishReason.SAFETY FINISH_REASON_SAFETY IMAGE_PROHIBITED_CONTENT
        BLOCK_REASON_SAFETY content_policy_violation MODEL_ARMOR IMAGE_RECITATION
        harmful_content unsafe content_risk data_inspection_failed DataInspectionFailed
    """,
    "refused": "refusal Refused model_refusal",
    "malformed": """
        MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS malformed_tool_use malformed_model_output
        FinishReason.MALFORMED_FUNCTION_CALL invalid_tool_call MALFORMED_RESPONSE tool_use_failed
        tool_call_failed tool_parse_error tool_parsing_failed
    """,
    "failed": """
        error network_error insufficient_system_resource ERROR USER_CANCEL TIMEOUT abort cancelled failed OTHER
        load unload userStopped modelUnloaded MISSING_THOUGHT_SIGNATURE server_error upstream_error internal-error
        preempted harmony_parse_error
    """,
    None: "xyz banana null unspecified FINISH_REASON_UNSPECIFIED unknown 3 finish_reason",
}


@pytest.mark.parametrize(("word", "what"), [(word, what) for what, words in WORDS.items() for word in words.split()])
def test_every_word_has_its_meaning(word, what):
    assert meaning(word) == what


@pytest.mark.parametrize("nothing", [None, "", " ", "_"])
def test_no_word_means_nothing(nothing):
    assert meaning(nothing) is None


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("stop", "SAFETY"), "SAFETY"),
        (("tool_calls", "STOP"), "tool_calls"),
        (("length", "error"), "length"),
        ((None, "MAX_TOKENS"), "MAX_TOKENS"),
        (("xyz", "STOP"), "STOP"),
        (("xyz", "abc"), "xyz"),
        (("", None), None),
    ],
)
def test_the_providers_own_word_counts_where_the_endpoints_says_less(words, word):
    assert telling(words) == word
