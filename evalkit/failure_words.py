"""What an error of an endpoint names: the kind of failure, the case itself, or a setting.

Servers say it by codes, by types and in prose, each in its own way, with an error's status or inside a reply that has
status 200. One table holds for all of them. It is read from the top; the first row that fits counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

# What an error echoes of the request: it is no word of the server's.
_ECHOED = frozenset({"input", "flagged_input", "prompt", "body", "request", "ctx", "url", "headers", "object"})
_STATUS_KEYS = ("status_code", "http_status", "http_code", "code", "status", "error_code")
_DEEPEST, _LONGEST = 8, 8000  # levels and characters of an error that are looked at

_MODERATED = r"""
content_?\s?filter | content[_ ]?policy | policy_violation
| content\ management\ policy | contentfilter | responsible\ ?ai | moderation
| \bflagged | flagged_input | invalid_prompt | prohibited[_ ](?:content|use) | guardrail | data_?inspection_?failed
| safety[_ ](?:system|polic|reason|setting|guideline|filter|check|violation|block) | \bblock_?reason | harm_category
| (?:inappropriate|harmful|unsafe|explicit|sensitive|disallowed)\ (?:or\ \w+\ )?(?:content|words?|material|request)
| (?:sensitive|private)\ information | llama\ ?guard | jailbreak | content\ exists\ risk | considered\ high\ risk
| risk[_ ]control | contains?\ sensitive | content_blocked | new_sensitive | cyber_policy
| blocked\ (?:by|due\ to|because\ of)\ (?:\w+\ ){0,3}(?:content|safety|polic|moderation|filter|security|waf|firewall)
| (?:prompt|input|message|request|content|response|output)\ (?:was\ |has\ been\ |is\ )?(?:blocked|filtered)
| violat\w*\ (?:\S+\ ){0,10}?(?:polic|guideline|terms|safety) | (?:usage|acceptable\ use)\ polic | 敏感 | 不安全
"""
_TOO_LONG = r"""
context[_ ]length | context[_ ](?:window|size|limit)\b | maximum\ context
| reduce\ (?:the|your)\ (?:length|prompt|input|size)
| (?:prompt|input|inputs|request|message|messages|content|text|string|query|payload|conversation|body|entity|file)
  (?:[ ]\w+){0,3}?[ _]too[ _](?:long|large|big)
| (?:string|array)_above_max_length | request_too_large | exceed_context | tokens_limit_reached | max_prompt_tokens
| token\ count\ is | expected\ maxlength | 超长 | 过长 | too\ many\ (?:input\ |prompt\ |total\ )?tokens
| (?:input|prompt)\ length | inputs`?\ tokens\ \+
| (?:tokens?|prompt|inputs?|request|content)\b(?:[ ]\S+){0,6}?[ ](?:exceed|surpass)
| exceed\w*\ (?:\S+\ ){0,8}?(?:tokens?|context|length|size|characters)\b
| `?inputs?`?\ must\ have\ less | length\ of\ (?:the\ )?(?:prompt|input|messages)
| longer\ than\ (?:\S+\ ){0,4}(?:context|maximum|max)
"""
# What the model made of the one case, or what could not be read of it.
_UNREADABLE = r"""
tool_use_failed | json_validate_failed | failed_generation | failed\ to\ (?:call\ a\ function|generate\ json)
| model\ (?:produced|generated|output|returned)\ (?:an?\ )?(?:invalid|malformed|unparsable)
| (?:invalid|unsupported|corrupt\w*)[_ ](?:base64[_ ])?image | image[_ ](?:parse|content|too|file)\w*
| while\ downloading | (?:download|fetch|decode|process|load)\w*\ (?:the\ |an?\ )?image
"""
# Words about length that are about a setting or a tool, the same for every case.
_LONG_SETTING = r"""
(?<!\+\ )(?<!\+\ `)\bmax_\w*tokens['"`]?\ (?:is|value|must|should|can|\(|of|exceeds|or\ 'max_\w+'\ is)
| max_\w*tokens['"`]?:\ \d | (?:invalid|unsupported)\W.{0,20}max_\w*tokens
| \btools?(?:\[\d|\.\d) | invalid\ '(?!messages|input|contents?\b|prompt)\w
"""
_NO_CREDIT = r"""
insufficient[_ ](?:\w+[_ ])?(?:quota|credits?|balance|funds?)\b
| (?:credit\ |account\ )?balance\ (?:is\ )?(?:too\ low|insufficient|not\ enough|exhausted)
| exceeded?[_ ](?:\w+[_ ])?current[_ ]quota | exceeded\ (?:your|its|the)\ (?:\w+\ ){0,2}(?:quota|credits?|budget)
| billing[_ ](?:hard[_ ]limit|limit|not[_ ]active|error|required)
| (?:out\ of|not\ enough|no|more|all\ available|buy|add)\ (?:\w+\ )?credits?\b(?!\ (?:were|was|have\ been|will\ be)\b)
| credits?\ (?:\w+\ ){0,3}(?:exhausted|depleted|used\ up|expired) | credit\ limit | payment[_ ]required
| arrearage | overdue
| (?:spend|spending|budget|key)[_ -]limit | budget[_ ](?:has\ been\ )?exceeded | exceededbudget
| (?:reached|exceeded|hit)\ (?:your|its|the)\ (?:\w+\ ){0,2}(?:usage|spend\w*|monthly|included)\b
| \bquota[_ ](?:exceeded|exhausted)(?!\ for) | \bquota\ (?:has\ been|is|was)\ (?:exceeded|exhausted|used\ up)
| 余额 | 欠费 | 额度不足
"""
_ACCOUNT = r"""
account_deactivated
| (?:account|organi[sz]ation|user|project)\b.{0,40}(?:deactivated|suspended|disabled|banned|terminated)
"""
_KEY = r"""
(?:invalid|incorrect|wrong|missing|expired)[_ ](?:\S+[_ ])?(?:api[_ -]?key|token\b|credentials)
| api[_ ]?key[_ ](?:not\ valid|invalid|expired|is\ )
| (?:no|missing)\ (?:valid\ )?(?:api[_ -]?key|auth\w*|credentials) | login\ fail
| (?:token|api[_ -]?key)\ (?:is\ )?(?:invalid|expired) | auth_?failure | no_?auth
| authentication | (?:un|not\ )authenticated | unauthori[sz]ed
| user\ location\ is\ not\ supported | unsupported_country
"""
_PER_DAY = r"per[_ -]?(?:day|month) | /\ ?(?:day|month)\b | \bdaily | \bmonthly | \b[rt]pd\b"
_PER_MINUTE = r"per[_ -]?(?:\d+\ )?(?:min|sec) | \b[rt]pm\b | rate[_ -]?limit | concurren"


class _Row(NamedTuple):
    """A kind, the words for it, and the statuses at which they mean it (none: at any)."""

    kind: str
    words: re.Pattern[str]
    at: frozenset[int] = frozenset()


def _row(kind: str, words: str, *at: int) -> _Row:
    return _Row(kind, re.compile(words, re.IGNORECASE | re.VERBOSE), frozenset(at))


CASE = "case"  # a refusal of the one case that was asked
_ABOUT_CASE = (400, 403, 404, 406, 413, 414, 422, 424, 446, 451, 500)
_TABLE = (
    _row(CASE, r"request\ too\ large | context_length_exceeded | maximum\ context", 429),
    _row("quota", _PER_DAY, 402, 403, 429),
    _row("rate_limit", _PER_MINUTE, 429),
    _row("quota", _NO_CREDIT),
    _row("auth", _ACCOUNT, 400, 401, 403),
    _row(CASE, _MODERATED, *_ABOUT_CASE),
    _row("bad_request", _LONG_SETTING, *_ABOUT_CASE),
    _row(CASE, _TOO_LONG, *_ABOUT_CASE),
    _row(CASE, _UNREADABLE, 400, 413, 415, 422),
    _row("auth", _KEY, 400),
)
_BY_STATUS = {
    401: "auth",
    402: "quota",
    403: "auth",
    408: "timeout",
    409: "server",
    413: CASE,
    414: CASE,
    425: "server",
    429: "rate_limit",
    498: "server",  # Groq: no capacity left in the flex tier
    499: "server",  # Google: cancelled
}
# What stands for a status where an error has none: inside a reply with status 200, or in a batch.
_NAMES = (
    (429, _row("", r"rate[_ -]?limit | too[_ ]many[_ ](?:concurrent\ )?requests | throttl | resource[_ ]?exhausted"
               r"|request\ limit | \bqps\b | 速率限制 | 频率")),
    (408, _row("", r"time[d_ -]*out | deadline[_ ]exceeded")),
    (401, _row("", _KEY)),
    (402, _row("", _NO_CREDIT)),
    (403, _row("", r"permission | forbidden | access[_ ]denied")),
    (400, _row("", r"invalid[_ ]?(?:request|argument|param|value) | bad[_ ]?request | not[_ ]?found | unsupported")),
    (400, _row("", f"{_MODERATED} | {_TOO_LONG} | {_UNREADABLE}")),
    (
        503,
        _row(
            "",
            r"overload | unavailable | internal | server[_ ]?error | api_error | upstream | bad[_ ]gateway | network"
            r"| connection | provider | no\ (?:\w+\ )?instances? | malformed | engine | insufficient_system_resource"
            r"| \bbusy\b | capacity | again\ later | (?m:^error$)",
        ),
    ),
)  # fmt: skip
_STATUS_IN_TEXT = re.compile(r"\s*(?:HTTP |error code: |error |status )?([45]\d\d)\b", re.IGNORECASE)

_SETTINGS = """temperature top_p top_k min_p max_tokens max_completion_tokens max_output_tokens tool_choice
parallel_tool_calls reasoning_effort response_format frequency_penalty presence_penalty logit_bias logprobs top_logprobs
service_tier stream_options""".split()
_MODEL = re.compile(
    r"""
    model_(?:not_found|not_available|not_supported|decommissioned|not_exist) | invalid_model | \bparam:\ model\b
    | \b(?:model|deployment)\b.{0,100}?\b(?:not\ (?:exist|found|available|supported|recogni[sz]ed|loaded)|no\ longer
      |not\ have\ access|decommissioned|deprecated|is\ (?:unknown|invalid)|isn't\ available|unavailable)
    | (?:unknown|invalid|no\ such|unsupported|unrecogni[sz]ed|non-existent)\W{1,3}(?:\w+\ )?(?:model|deployment)\b
    | not\ a\ valid\ model | no\ endpoints\ found | no\ allowed\ providers | try\ pulling\ it\ first
    """,
    re.IGNORECASE | re.VERBOSE,
)
_ENDPOINT = re.compile(r"HTTP (?:(?:3\d\d|404|405)\b|2\d\d, but a web page)")


def told(error: Any) -> str:
    """What an error says, codes and prose, without what it echoes of the request; a line for each value."""
    return "\n".join(_values(error, _DEEPEST))[:_LONGEST]


def status_of(error: Any) -> int | None:
    """The HTTP status that an error names, by number or by word; None where it names none."""
    number = _number(error)
    if number is not None:
        return number
    words = told(error)
    return next((status for status, row in _NAMES if row.words.search(words)), None)


def kind_of(status: int | None, words: str) -> tuple[str, str]:
    """The kind of failure behind a status and words (`CASE`, or a Turn's `error_kind`), and the words that told it."""
    for row in _TABLE if status is not None else ():
        if not row.at or status in row.at:
            found = row.words.search(words[:_LONGEST])
            if found:
                return row.kind, found[0]
    if status is None or status < 400:
        return "bad_response", ""
    return _BY_STATUS.get(status) or ("server" if status >= 500 else "bad_request"), ""


def is_about_case(error: str | None) -> bool:
    """Whether the sentence of a refused request says that it is the case that is refused: its content or its length."""
    said = error or ""
    status = re.match(r"HTTP (\d+)", said)
    return kind_of(int(status[1]) if status and status[1] != "200" else 400, said)[0] == CASE


def names_setting(error: str | None, sent: Iterable[str] = ()) -> list[str]:
    """The settings that the sentence of a refused request names, of those that were `sent` and those that APIs have."""
    said = error or ""
    names = dict.fromkeys((*(name for name in sent if name != "model"), *_SETTINGS))
    found = [name for name in names if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said)]
    return found or (["model"] if _MODEL.search(said) else [])


def names_endpoint(error: str | None) -> bool:
    """Whether the sentence says that there is nothing at the address that was asked, whatever was asked."""
    return _ENDPOINT.match(error or "") is not None


def _values(error: Any, depth: int) -> Iterator[str]:
    if depth == 0:
        return
    if isinstance(error, Mapping):
        for key, value in error.items():
            if key in _ECHOED:
                yield f"{key}:" if value else ""
            else:
                yield from _values(value, depth - 1)
    elif isinstance(error, list):
        for value in error[:50]:
            yield from _values(value, depth - 1)
    elif error is not None and not isinstance(error, bool):
        yield str(error)


def _number(error: Any) -> int | None:
    """A status as a number, in the error itself or in the error that it wraps."""
    for _ in range(_DEEPEST):
        if isinstance(error, str):
            found = _STATUS_IN_TEXT.match(error)
            return int(found[1]) if found else None
        if isinstance(error, list):
            error = error[0] if error else None
            continue
        if not isinstance(error, Mapping):
            return None
        for key in _STATUS_KEYS:
            value = error.get(key)
            if isinstance(value, int | str) and not isinstance(value, bool) and re.fullmatch(r"[45]\d\d", str(value)):
                return int(value)
        error = error.get("error") if isinstance(error.get("error"), Mapping) else None
    return None
