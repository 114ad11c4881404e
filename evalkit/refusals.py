"""What an endpoint refuses in one pass over a run, and when that ends the run.

It ends where the first few requests are all refused for what is sent with every case (a mistake of the settings), and
where the key or the credit is gone. What is refused for a case's own text ends nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .datasets import EvalCase
from .errors import SettingsError
from .failure_words import is_about_case, names_endpoint, names_setting
from .records import Turn
from .wire import LIMITS

FIRST = 8  # requests that must not all be refused for one reason
_REFUSALS = ("auth", "bad_request", "quota")
_FATAL = ("auth", "quota")
_HINTS = {
    "auth": "Check OPENAI_API_KEY, and OPENAI_BASE_URL where you use a server of your own.",
    "quota": "Nothing more will be answered until the account has credit or another key is set.",
}


class Stop(Exception):
    """The run ends here, for the reason in its message; what is finished stays."""


@dataclass
class Refusals:
    """Watches the turns of one pass as they come. `sent`: the names of what is sent with every case.

    `answered`: whether the endpoint takes what is sent, as it has answered once or refused a case for its text.
    `is_batch`: all the answers are there and paid for, so that none of them is left out for what another one is.
    """

    cases: Sequence[EvalCase]  # those that are asked, once for each trial
    sent: Sequence[str]
    answered: bool
    is_batch: bool = False
    _first: list[tuple[EvalCase, Turn]] = field(default_factory=list)
    _forbidden: set[str] = field(default_factory=set)  # cases with HTTP 403 since the last that had none

    def hear(self, turn: Turn) -> None:
        """Take note of a turn as soon as it is there."""
        self.answered = self.answered or not _is_refused(turn)

    def look(self, case: EvalCase, turn: Turn) -> None:
        """Raise SettingsError or Stop where the run ends with this turn, which is no part of it then."""
        if len(self._first) < FIRST:
            self._first.append((case, turn))
        self._refuse_settings()
        known = self.answered or len(self._first) == FIRST
        if not self.is_batch and turn.error_kind in _FATAL and known and not _is_forbidden(turn):
            raise _lost(turn)

    def is_open(self, turn: Turn) -> bool:
        """Whether it is still to be seen that a turn is part of the run, and no sign of a mistake of the settings."""
        return _is_refused(turn) and not self.answered and not self._are_all()

    def look_back(self, case: EvalCase, turn: Turn) -> None:
        """Raise Stop after a turn that was recorded, so that the run can be taken up behind it.

        One 403 may be about its case; so many in a row, each for another case, are about the key.
        """
        if _is_forbidden(turn):
            self._forbidden.add(case.id)
            if len(self._forbidden) >= FIRST and not self.is_batch:
                raise _lost(turn)
        elif turn.error_kind is None or concerns_case(turn):
            self._forbidden.clear()

    def _are_all(self) -> bool:
        return len(self._first) >= min(FIRST, len(self.cases))

    def _refuse_settings(self) -> None:
        """Raise where all of the first requests are refused for what is sent with every case.

        That is so where the endpoint says it (it names a setting, the key, the account, an address), or where it says
        the same of different texts.
        """
        if self.answered or not self._are_all():
            return
        cases, turns = zip(*self._first, strict=True)
        is_same = len({(turn.error_kind, _same_words(turn.error)) for turn in turns}) == 1
        is_said = all(map(self._names_what_all_share, turns))
        are_different = len(self.cases) == 1 or 1 < _different(cases) >= _different(self.cases)
        if is_said or (is_same and are_different):
            which = "the only request" if len(turns) == 1 else f"each of the first {len(turns)} requests"
            raise SettingsError(f"the endpoint refused {which}: {turns[0].error} {self._hint(turns[0])}".rstrip())

    def _names_what_all_share(self, turn: Turn) -> bool:
        return turn.error_kind in _FATAL or names_endpoint(turn.error) or bool(names_setting(turn.error, self.sent))

    def _hint(self, turn: Turn) -> str:
        named = names_setting(turn.error, self.sent)
        if named:
            what = f"Change what is named there: {', '.join(named)}"
            if self.is_batch and not set(LIMITS).isdisjoint(named):  # one by one, the endpoint's name is found out
                what += f". In a batch the limit is sent by the name that it has in `extra`, such as {LIMITS[1]}"
        elif turn.error_kind in _HINTS:
            return _HINTS[turn.error_kind]
        elif names_endpoint(turn.error):
            return ""
        else:
            what = f"It names no setting; these were sent: {', '.join(self.sent)}"
        return f"{what}. `evalkit check --model NAME` shows what the endpoint takes."


def concerns_case(turn: Turn) -> bool:
    """Whether a request was refused for what its case says."""
    return turn.error_kind == "bad_request" and is_about_case(turn.error)


def names_of_sent(settings: Mapping[str, Any], *, tools: bool) -> list[str]:
    """The names of what a model's settings send with every case."""
    extra = dict(settings.get("extra") or {})
    names = [name for name in extra if not name.startswith("extra_")] + list(extra.get("extra_body") or {})
    if settings.get("temperature") is not None:
        names.insert(0, "temperature")
    return list(dict.fromkeys(["model", *names, *(["tools"] if tools else [])]))


def _lost(turn: Turn) -> Stop:
    return Stop(f"the endpoint answers no more: {turn.error} {_HINTS[turn.error_kind or '']}")


def _is_refused(turn: Turn) -> bool:
    is_elsewhere = turn.error_kind == "bad_response" and names_endpoint(turn.error)  # a page, where an API was to be
    return is_elsewhere or (turn.error_kind in _REFUSALS and not concerns_case(turn))


def _is_forbidden(turn: Turn) -> bool:
    return turn.error_kind == "auth" and (turn.error or "").startswith("HTTP 403")


def _different(cases: Iterable[EvalCase]) -> int:
    """How many different texts the cases hold, counted up to FIRST."""
    texts: set[str] = set()
    for case in cases:
        texts.add(repr(case.input))
        if len(texts) == FIRST:
            break
    return len(texts)


def _same_words(error: str | None) -> str:
    """An error text without what differs from request to request: numbers and ids."""
    return re.sub(r"\b(?:req|chatcmpl|resp)[\w-]*|\d+", "#", error or "")
