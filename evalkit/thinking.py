"""Thinking that a server left in the text of a reply: set aside, so that nobody takes it for the answer.

Only what stands before the answer is thinking. A mark that the answer itself speaks of, in the middle of a sentence or
in code, is text. What is left has no thinking in front any more: set aside again, it stays as it is.
"""

from __future__ import annotations

import re

# White space, and what is drawn as nothing: control characters, zero-width ones, fillers.
_NOTHING = (
    r"[\s\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]*"
)
_WORD = r"(?:think(?:ing)?|thoughts?|reasoning(?:_content)?|reflection|scratchpad|monologue|cot)"
_NAME = rf"(?:[\w▁]{{1,20}}[:_▁]|ant|deep|startof|beginof)?{_WORD}"
_SAID = r"(?! +(?:is|are|was|and|or|in|tags?|blocks?|elements?)\b|[`'\",;.])"  # behind it, the mark is spoken of
_CHANNEL = r"(?:<\|end\|>\s*+)?(?:<\|start\|>(?:assistant)?\s*+)?<\|channel\|>\s*"  # begins with no blank: linear

# How thinking begins and ends. Where the prompt's template has begun it, the reply holds only the end.
_MARKS = (
    (  # DeepSeek R1, Qwen, GLM, Seed, LongCat, most others; Cohere, Sky-T1
        rf"<[|｜]?(?!end)(?!\w*_end\b){_NAME}(?:_start)?(?:\s[^<>]*)?[|｜]?>{_SAID}",
        rf"<[|｜]?(?:/{_NAME}|end[_▁]?(?:of[_▁]?)?{_WORD}|{_WORD}_end)\s*[|｜]?>",
    ),
    (r"\[think(?:ing)?\]", r"\[/think(?:ing)?\]"),  # Magistral
    (rf"◁{_NAME}▷", rf"◁/{_NAME}▷"),  # Kimi
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),  # Apertus
    (r"<unused94>", r"<unused95>"),  # MedGemma
    (r"<\|channel>thought\b", r"<channel\|>"),  # Gemma 4
)
_AT_THE_BEGINNING = (
    (rf"{_CHANNEL}analysis\s*<\|message\|>", r"<\|end\|>|(?=<\|start\|>)|(?=<\|channel\|>)"),  # gpt-oss
    (r"<\|think\|>", r"<\|(?:end|/think)\|>"),  # Solar
    (r"<details type=[\"']?reasoning\b[^>]*>", r"</details>"),  # Open WebUI
)
_WORDS_AT_THE_BEGINNING = (  # of these, both must be there
    (r"(?-i:analysis)", r"assistant(?:<\|channel\|>)?final(?:json)?"),  # gpt-oss, its marks stripped
    (r"here(?:['’]s| is) my thought process:", r"here(?:['’]s| is) my response:"),  # Granite
)
# What the answer itself begins and ends with: all before is thinking.
_ANSWER = (
    rf"{_CHANNEL}final\s*(?:<\|constrain\|>\s*\w+\s*)?<\|message\|>"
    r"|<\|(?:start_response|begin_of_solution)\|>|<\|begin\|>assistant<\|content\|>"
)
_ANSWER_END = r"<\|(?:end|return|end_response|end_of_solution)\|>\s*\Z"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.DOTALL)


_BEGINNINGS = [
    (_compiled(opening), _compiled(f"{closing}|(?={_ANSWER})"), may_lack_its_end)
    for pairs, may_lack_its_end in ((_AT_THE_BEGINNING, True), (_MARKS, True), (_WORDS_AT_THE_BEGINNING, False))
    for opening, closing in pairs
]
_MARK = _compiled(
    rf"(?P<code>(```|~~~).*?\2|`[^`\n]*`)|(?P<answer>{_ANSWER})"
    rf"|(?P<opening>{'|'.join(opening for opening, _ in _MARKS)})"
    rf"|(?P<closing>{'|'.join(closing for _, closing in _MARKS)})"
)
_END = _compiled(_ANSWER_END)
_HEADER = _compiled(  # of the prompt's template, that some servers leave in front
    r"(?:\s*+(?:</?s>|\[?<?bos>?\]?|<\|(?:begin_of_text|im_start|start_header_id|end_header_id)\|>|<[|｜]assistant[|｜]>"
    r"|(?:assistant|model)(?=\s*(?:\n|<\|end_header_id))))*+"
)
_BLANK = re.compile(_NOTHING)
_MAY_THINK = re.compile(rf"[<\[◁]|\A{_NOTHING}(?:analysis|here)", re.IGNORECASE)  # quickly told; all marks begin so
_BEHIND_ALL = re.compile(r"(?:(?:\A|\n)[ \t]*|[^\s,:(\"'“‘«]|[.!?…。！？][ \t]+)\Z")  # a line, a word, a sentence
_IN_A_SENTENCE = re.compile(r"[ \t]*[.,;:)?\"'”’»]")
_AMONG_WORDS = re.compile(r"[ \t]+\S|\s*\Z")


def set_aside(text: str) -> tuple[str, str]:
    """The thinking in front of an answer, with its marks ("" where there is none), and the answer.

    Text without thinking comes back as it is. A beginning without an end leaves no answer: all of it is thinking.
    """
    if not _MAY_THINK.search(text):
        return "", text
    at = searched = _behind_thinking(text, 0)
    open_in_answer = 0
    while mark := _MARK.search(text, searched):
        searched = mark.end()
        if mark["opening"]:
            open_in_answer += 1
        elif mark["closing"] and open_in_answer:
            open_in_answer -= 1
        elif mark["answer"] or (mark["closing"] and _ends_thinking(text, at, mark)):
            at = searched = _behind_thinking(text, mark.end())
            open_in_answer = 0
    if not at:
        return "", text
    return text[:at].strip(), _END.sub("", text[_blank_until(text, at) :])


def is_blank(text: str | None) -> bool:
    """Whether a text says nothing: None, empty, or nothing but white space and characters that are not drawn."""
    return text is None or _blank_until(text, 0) == len(text)


def _blank_until(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _behind_thinking(text: str, at: int) -> int:
    """Where the blocks of thinking end that begin at `at`; `at` where none does."""
    while at < len(text):
        header = _HEADER.match(text, _blank_until(text, at))
        begin = _blank_until(text, header.end() if header else at)
        for opening, closing, may_lack_its_end in _BEGINNINGS:
            if found := opening.match(text, begin):
                end = closing.search(text, found.end())
                if end or may_lack_its_end:
                    at = end.end() if end else len(text)
                    break
        else:
            return at
    return at


def _ends_thinking(text: str, at: int, mark: re.Match[str]) -> bool:
    """Whether an end that was never begun stands as one, not as something that a sentence speaks of."""
    if _IN_A_SENTENCE.match(text, mark.end()):
        return False
    before = text[max(at, mark.start() - 80) : mark.start()]
    return bool(_BEHIND_ALL.search(before)) or not _AMONG_WORDS.match(text, mark.end())
