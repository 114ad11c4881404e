"""On what terms an endpoint takes requests, as its refusals tell: what it calls the limit of tokens, whether it only
streams. A session finds them out with its first requests and keeps to them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from .wire import LIMIT, LIMITS

_OTHER = {name: "max_completion_tokens" if name == LIMIT else LIMIT for name in LIMITS}
# A name that is not taken, as servers say it …
_UNKNOWN = re.compile(
    r"unsupported|n[o']t (?:be |currently )?(?:support|permit|allow|recogni[sz]|accept|available|defined)"
    r"|un(?:known|recogni[sz]ed|expected)|extra[ _](?:inputs|forbidden|field)|extraneous|additional propert"
    r"|deprecated|no longer|removed|renamed|replaced|moved to|instead|use\W+max_|not a valid|cannot find"
    r"|invalid (?:parameter|field|argument|property|key)"
)
# … and what they say of its value, or of the length of what was asked.
_VALUE = re.compile(
    r"too (?:large|small|high|low|big|long|many)|at (?:least|most)|maximum|minimum|greater|less than|exceed|between"
    r"|unsupported[ _]value|out of range|[<>]=? *\d|positive|negative|integer"
)
_TAKEN = re.compile(
    r"(?<!not )\b(?:expected one of|(?:supported|allowed|valid) (?:parameter|field|key|argument|propert))"
)
_BETWEEN = r"\W+(?:(?!not\b)\w+\W+){0,5}?"
_STREAM = r"(?<!octet-)\bstream"
_ONLY_STREAMS = re.compile(
    r"non[- _]?stream|流式"
    rf"|\b(?:only|requires?|needs?|must|enable|set|use){_BETWEEN}{_STREAM}"
    rf"|{_STREAM}\w*{_BETWEEN}(?:true|required|mandatory|needed|necessary|enabled|only)\b"
    rf"|{_STREAM}\w*\W+(?:\w+\W+){{0,3}}?false\b"
)

_LONGEST = 20_000  # bytes of an error that are read


@dataclass(frozen=True)
class Terms:
    """The name of the limit; whether replies are asked for as streams, and whether those are asked to count tokens."""

    limit: str = LIMIT
    streams: bool = False
    counts: bool = True

    def put(self, body: Mapping[str, Any], *, counts: bool) -> dict[str, Any]:
        """The body of a request on these terms. `counts`: whether the API has to be asked for counts of tokens."""
        sent = {self.limit if name == LIMIT else name: value for name, value in body.items()}
        if self.streams:
            sent["stream"] = True
            if counts and self.counts:
                sent["stream_options"] = {"include_usage": True}
        return sent

    def wanted(self, body: Mapping[str, Any], refusal: bytes) -> dict[str, Any]:
        """Which of the terms a refusal of `body` asks to be otherwise; empty where it is about something else."""
        text = _words(refusal)
        named = [name for name in LIMITS if re.search(rf"\b{name}\b", _TAKEN.split(text)[0])]
        if LIMIT in body and named and _UNKNOWN.search(text) and not _VALUE.search(text):
            return {"limit": next((name for name in named if name != self.limit), _OTHER[self.limit])}
        if self.streams and self.counts and re.search(r"stream_options|include_usage", text):
            return {"counts": False}
        return {"streams": True} if not self.streams and _ONLY_STREAMS.search(text) else {}


def _words(body: bytes) -> str:
    """All that an error says, in small letters."""
    text = body[:_LONGEST].decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        text = str(json.loads(text))  # without JSON's escapes
    return text.lower()
