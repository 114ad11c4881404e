"""The numbers in a text, as people write them: any script's digits, any dash as a sign, separators, powers, sizes.

Nothing that changes a number is passed over. What is not understood beside one (a fraction, a root, `5k`, a dash that
may join two words) leaves it without a reading; what is understood, but may be meant otherwise, is in doubt.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import NamedTuple

_LONGEST_POWER = 8  # digits of an exponent
_MINUS = "−"  # of the signs for minus, the one that stands for all; dashes, which may be meant otherwise, become "-"
_ALIKE = {
    **dict.fromkeys("\u02d7\u2052\u208b\u2796", _MINUS), **dict.fromkeys("\u00ad\u2043\u2500", "-"),
    **dict.fromkeys("\ufe0e\ufe0f", ""), "＋": "+", "，": ",", "．": ".", "％": "%", "﹪": "%", "٪": "%", "＾": "^",
}  # fmt: skip
_MONEY = "$¢-¥֏؋৲৳૱௹฿៛₠-⃏﷼﹩＄￠￡￥￦"
_BREAKS = ",'’‘ʼ＇_٬\u00a0\u2004-\u200a\u202f\u205f"  # what may stand between groups of three digits
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_PLAIN = str.maketrans(f"−٫{_RAISED}⁻⁺", "-.0123456789-+")
_END = r"(?![^\W_])"  # of a word
_SIZES = {"hundred": 2, "thousand": 3, "lakh": 5, "million": 6, "crore": 7, "billion": 9, "trillion": 12}
_PARTS = {"%": 2, "‰": 3, "‱": 4}
_NUMBER = re.compile(
    rf"""(?:(?P<sign>[-+−⁻±∓√∛∜^≠≤≥]{{1,3}}|[<>!]=|\b(?i:minus|negative|moins|menos|meno|минус)\b)
          (?P<between>(?:[^\S\n]|[(\[{{*`"\\]|(?:[A-Z]{{1,3}})?[{_MONEY}]|(?:[A-Z]{{3}}|Rs\.?|kr\.?|zł|Fr\.){_END})
          {{0,8}}))?
        (?<!\w)(?<![0-9]\.)
        (?P<core>0[xXbBoO][0-9a-fA-F]+|[¼-¾⅐-⅞Ⅰ-ↂ①-⑳]
          |[1-9][0-9]{{0,2}}(?:[ ][0-9]{{3}})+(?![0-9])(?:[.,][0-9]+)*
          |(?:(?<!\.)\.(?=[0-9])|[,٫](?=[0-9]))?[0-9](?:[0-9]|[.٫{_BREAKS}](?=[0-9]))*+)
        (?:[eE](?P<power>[-+−]?[0-9]+)
          |\s?(?:[×·⋅∙x*]|\\times|\\cdot)\s?10
           (?:\s?(?:\^|\*\*)\s?[{{(]?(?P<raised>[-+−]?[0-9]+)[}})]?|(?P<above>[⁻⁺]?[{_RAISED}]+)))?
        (?P<size>(?:[^\S\n]?-?(?i:{"|".join(_SIZES)})s?{_END})+)?
        (?P<odd>[⁻⁺]?[{_RAISED}₀-₉\u0300-\u036f]+|[^\S\n]?[¼-¾⅐-⅟↉]|[.,٫][0-9]|\s?\^(?!\s?[{{(]?[0-9])
          |(?!\w{{0,2}}m[23]\b)[^\W\d_]{{1,4}}[0-9]
          |\s(?:and\s)?(?:an?|one|two|three)[\s-](?:half|halves|thirds?|quarters?)\b
          |[kKMBTG]{_END}|[^\S\n][kM]{_END}|[^\S\n]?[十百千万萬亿億兆천백만억조]
          |[^\S\n]?(?i:[bmt]n|mio|mrd|mld|mill?|mille|tsd|tausend|dozen|(?:ten|hundred|thousand)ths?|mill?i?(?:[oó]n|ard)\w*|milh\w+|тыс|млн|млрд
            |миллион\w*|миллиард\w*|हज़ार|लाख|करोड़|ألف|مليون|مليار){_END})?
        (?P<letter>[^\S\n]?[mbt]{_END})?
        (?:[^\S\n]?(?P<part>[%‰‱]|(?i:per\s?cent|pct)\b))?""",
    re.VERBOSE,
)
_CORE = re.compile(
    rf"(?:[0-9]+|[1-9][0-9]{{0,2}}(?:(?P<by>[ {_BREAKS}])[0-9]{{3}}(?:(?P=by)[0-9]{{3}})*+))?(?:[.٫][0-9]+)?\Z"
)
_TWO_WAYS = re.compile(r"[1-9][0-9]{0,2}(?:[.,][0-9]{3}|(?: [0-9]{3})+)\Z")  # thousands or decimals, one or several
_UNBROKEN = re.compile(f"[ {_BREAKS}]")
_JOINS = re.compile(r"\s?(?:[-−⁻/÷*×·⋅x+^:]|\*\*|\.\()\s?[({]?")  # 5/5, 5-5 and 5:5 are not 5


class Number(NamedTuple):
    """A number as it is written, and what it can be read as: nothing, itself, or with % a hundredth too.

    `doubt`: it may also be meant otherwise, as `1.234`, `(5)` and `- 5` may.
    """

    written: str
    readings: tuple[Decimal, ...]
    doubt: bool = False


def numbers_in(text: str) -> list[Number]:
    """Every number in a text, in order."""
    text = text if text.isascii() else "".join(map(_plain, text))
    found: list[Number] = []
    start = end = 0
    for match in _NUMBER.finditer(text):
        one, begin = _number(match, text)
        if found and one.readings == found[-1].readings and _JOINS.fullmatch(text, end, begin):
            found[-1] = Number(text[start : match.end()].strip(), ())
        else:
            found.append(one)
            start = begin
        end = match.end()
    return found


def _plain(char: str) -> str:
    if char.isascii() or char in _ALIKE:
        return _ALIKE.get(char, char)
    kind = unicodedata.category(char)
    if kind == "Nd":
        return str(unicodedata.decimal(char))
    return {"Pd": "-", "Cf": ""}.get(kind, char)


def _number(match: re.Match[str], text: str) -> tuple[Number, int]:
    """A number and where it begins: at its sign, where what looks like one is one."""
    sign, begin = match["sign"] or "", match.start()
    before = text[max(0, begin - 80) : begin]
    if sign and before[-1:].isdigit():  # a range
        sign, begin = "", match.start("core")
    written = text[begin : match.end()].strip()
    negative, doubt = _sign(sign, match["between"] or "", before)
    power = (match["power"] or match["raised"] or match["above"] or "0").translate(_PLAIN)
    lead = text[max(0, match.start("core") - 4) : match.start("core")]
    money = match["letter"] and re.search(rf"(?:[{_MONEY}]|[A-Z]{{3}})\s?\Z", lead)  # `$5m` is none of metres
    core = match["core"] if match["core"].isascii() or len(match["core"]) > 1 else _alone(match["core"])
    if negative is None or match["odd"] or money or not _CORE.match(core) or len(power) > _LONGEST_POWER:
        return Number(written, ()), begin
    digits = _UNBROKEN.sub("", core).translate(_PLAIN)
    size = sum(_SIZES[word.rstrip("s")] for word in re.findall("[a-z]+", (match["size"] or "").lower()))
    exact = int(power) + size
    powers = (exact, exact - _PARTS.get(match["part"], 2)) if match["part"] else (exact,)
    doubt = doubt or bool(_TWO_WAYS.match(match["core"]) and exact == 0)
    in_accounts = not sign and re.search(rf"\([{_MONEY}]?\s?\Z", lead) and text[match.end() : match.end() + 1] == ")"
    doubt = doubt or bool(in_accounts)
    return Number(written, tuple(Decimal(f"{'-' * negative}{digits}e{one}") for one in powers), doubt), begin


def _alone(char: str) -> str:
    """The digits of a number that is one character, ½ or ⑤."""
    return f"{unicodedata.numeric(char):.17g}"


def _sign(sign: str, between: str, before: str) -> tuple[bool | None, bool]:
    """Whether a sign makes its number negative, None where that cannot be told; and whether that is in doubt."""
    if sign[:1].isalpha():
        return True, False
    if len(sign) > 1 or (sign and sign not in "-+−⁻"):
        return None, False
    after_word = before[-1:].isalnum()
    spaced = any(char.isspace() for char in between)
    if sign and spaced:
        after_word = before.rstrip(" \t\u00a0")[-1:].isalnum()
    if sign and after_word and not (spaced and sign == _MINUS):  # `mid-2020`, `5 - 3`, `the total - 42`
        return None, False
    return sign not in ("", "+"), spaced and (sign == "-" or after_word)
