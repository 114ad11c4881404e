"""Thinking in front of an answer, in the marks that models and servers leave in the text."""

import pytest

from evalkit.thinking import is_blank, set_aside

FENCE = "```"
SET_ASIDE = [  # a reply, and its answer
    ("<think>London? No.</think>Paris", "Paris"),
    ("<think>\n\n</think>\n\nParis", "Paris"),
    ("\u200b\n <think>x</think>\n{}", "{}"),
    ("<THINK>x</THINK> Paris", "Paris"),
    ('<thinking type="slow">x</thinking>Paris', "Paris"),
    ("<thought>x</thought>Paris", "Paris"),
    ("<reasoning>x</reasoning>Paris", "Paris"),
    ("<reflection>x</reflection>Paris", "Paris"),
    ("<reasoning_content>x</reasoning_content>Paris", "Paris"),
    ("<seed:think>x</seed:think>Paris", "Paris"),
    ("<longcat_think>x</longcat_think>Paris", "Paris"),
    ("<antThinking>x</antThinking>Paris", "Paris"),
    ("<chain_of_thought>x</chain_of_thought>Paris", "Paris"),
    ("<scratchpad>x</scratchpad>Paris", "Paris"),
    ("[THINK]x[/THINK]Paris", "Paris"),
    ("◁think▷x◁/think▷Paris", "Paris"),
    ("<|begin_of_thought|>x<|end_of_thought|>\n<|begin_of_solution|>Paris<|end_of_solution|>", "Paris"),
    ("<|START_THINKING|>x<|END_THINKING|><|START_RESPONSE|>Paris<|END_RESPONSE|>", "Paris"),
    ("<|thinking|>x<|/thinking|>Paris", "Paris"),
    ("<|startofthink|>x<|endofthink|>Paris", "Paris"),
    ("<｜begin▁of▁thinking｜>x<｜end▁of▁thinking｜>Paris", "Paris"),
    ("<start_of_thought>x<end_of_thought>Paris", "Paris"),
    ("<|thinking_start|>x<|thinking_end|>Paris", "Paris"),
    ("<|think|>x<|end|><|begin|>assistant<|content|>Paris", "Paris"),
    ("<|inner_prefix|>x<|inner_suffix|>Paris", "Paris"),
    ("<unused94>thought\nx<unused95>Paris", "Paris"),
    ("<|channel>thought\nx<channel|>Paris", "Paris"),
    ("<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>Paris<|return|>", "Paris"),
    ("We need it.<|end|><|start|>assistant<|channel|>final<|message|>Paris", "Paris"),
    ("<|channel|>final <|constrain|>json<|message|>{}<|end|>", "{}"),
    ("analysisThe user wants a town.assistantfinalParis", "Paris"),
    ("analysis\nx\nassistantfinal\nParis", "Paris"),
    ('<details type="reasoning" done="true"><summary>2 s</summary>x</details>\nParis', "Paris"),
    ("Here is my thought process: x\n\nHere is my response: Paris", "Paris"),
    # behind the header of the prompt's template
    ("<|im_start|>assistant\n<think>x</think>Paris", "Paris"),
    ("<|start_header_id|>assistant<|end_header_id|>\n\n<think>x</think>Paris", "Paris"),
    ("assistant\n<think>x</think>Paris", "Paris"),
    ("<s>[THINK]x[/THINK]Paris", "Paris"),
    ("<｜Assistant｜><think>x</think>Paris", "Paris"),
    ("<think>x</think>\nassistant\n<think>y</think>Paris", "Paris"),
    # several, nested, of two names
    ("<think>x</think>\n<think>y</think>\nParis", "Paris"),
    ("<think>a<think>b</think>c</think>Paris", "Paris"),
    ("<think>x</thinking>Paris", "Paris"),
    ("<thinking>x\n<reflection>y</reflection>\nz\n</thinking>\nParis", "Paris"),
    ("<think>The mark `</think>` ends it.</think>Paris", "Paris"),
    # begun by the prompt's template
    ("Maybe London? No.\n</think>\n\nParis", "Paris"),
    ("Maybe London? No.</think>Paris", "Paris"),
    ("Maybe London? No. </think> Paris", "Paris"),
    ("so it is Paris </think>\nParis", "Paris"),
    ("</think>\n\nParis", "Paris"),
    ("x\n[/THINK]\nParis", "Paris"),
    ("x◁/think▷Paris", "Paris"),
    ("x\n</seed:think>\nParis", "Paris"),
    ("x<unused95>Paris", "Paris"),
    ("x<|END_THINKING|>Paris", "Paris"),
    ("x\n<|end_of_thought|>\nParis", "Paris"),
    ("x\n</thinking>\nParis", "Paris"),
    # never ended: there is no answer
    ("<think>London? Paris", ""),
    ("<think>", ""),
    ("<think>x</think>\n<think>Paris", ""),
    ("<think>x</think>\n \u200b", ""),
    ("Maybe Paris.\n</think>", ""),
    ("<|channel|>analysis<|message|>It is Paris", ""),
    ("[THINK]It is Paris", ""),
]
TEXT = [
    "Paris",
    "",
    " \n",
    "A reply may begin with <think> and end that with </think>, which is set aside.",
    "The mark is </think>.",
    "Close it with </think> and go on.",
    'It ends with "</think>" there.',
    "<think> and </think> are the marks of R1.",
    "<think> is a mark.",
    "<reasoning>, <thought> and others",
    "`<think>x</think>` is how R1 writes it",
    f"{FENCE}html\n<think>x</think>\n{FENCE}",
    f"Write:\n{FENCE}\nso it is\n</think>\nParis\n{FENCE}",
    "Paris\n<think>Or London?</think>",
    "<thinker>x</thinker>Paris",
    "<p>thinking</p>",
    "<root><reasoning>x</reasoning>\n</root>",
    "[thought] Paris",
    "analysis: Paris",
    "assistant\nParis",
    "<s>struck <think>out</think></s>",
    "analysisofvariance",
    "Here is my thought process: I looked at a map.",
    "<|channel|>commentary to=functions.f<|message|>{}<|call|>",
    "<|channel|>analysis to=functions.f code<|message|>{}<|call|>",
    '<details type="open">x</details>Paris',
    "I think: Paris",
]


@pytest.mark.parametrize(("reply", "answer"), SET_ASIDE)
def test_thinking_in_front_of_the_answer_is_set_aside(reply, answer):
    thinking, rest = set_aside(reply)
    assert rest == answer
    assert set_aside(rest) == ("", rest)
    assert "x" not in reply or "x" in thinking


@pytest.mark.parametrize("text", TEXT)
def test_marks_that_an_answer_speaks_of_are_text(text):
    assert set_aside(text) == ("", text)


def test_the_thinking_is_kept_with_its_marks():
    assert set_aside("<think>x</think>\n[THINK]y[/THINK]\nParis") == ("<think>x</think>\n[THINK]y[/THINK]", "Paris")


@pytest.mark.parametrize(
    "unit",
    [
        "<think></think>",
        "x.</think>",
        "<think>",
        "`",
        "```",
        "<think",
        "<a_a_a_",
        "<|channel|>",
        "x<think></think>",
        "<s>",
        "assistant\n",
    ],
)
def test_a_hostile_reply_is_read_in_one_pass(unit):
    """A pass for each mark would not come to an end here."""
    thinking, rest = set_aside(unit * 60_000)
    assert len(thinking) + len(rest) <= len(unit) * 60_000
    assert set_aside(rest) == ("", rest)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        " \n\t",
        "\u00a0",
        "\u200b\u200d",
        "\ufeff",
        "\u2060",
        "\u00ad",
        "\u3164",
        "\u2800",
        "\U000e0041",
        "\x00",
    ],
)
def test_what_is_not_drawn_says_nothing(text):
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", "0", "\u200ba", "…", "👍", "<br>"])
def test_what_is_drawn_says_something(text):
    assert not is_blank(text)


@pytest.mark.parametrize(
    "piece", [" ", "\n", "\u200b", "<", "<think", "<|end|>", "<|end|> ", "`", "~~~`", "<|start|> ", "[think"]
)
def test_long_texts_of_almost_marks_are_answers(piece):
    text = 100_000 * piece + "x"
    assert set_aside(text) == ("", text)
