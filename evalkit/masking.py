"""What must not be shown: secrets in errors and settings, control characters in a terminal.

Only what evalkit says about a run is masked (errors, settings, reprs). What a model answered is kept as it came.
"""

from __future__ import annotations

import base64
import json
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit, urlunsplit

STARS = "***"
SHORTEST_SECRET = 8  # characters; a shorter text would hide ordinary words
# Keys that servers of one's own are given because a client demands one; they are words, not secrets.
PLACEHOLDER_KEYS = frozenset(
    {"lm-studio", "not-needed", "no-key-required", "sk-no-key-required", "anything", "password"}
)

_SECRET_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|AUTH|CREDENTIAL)S?(?:_|$)", re.IGNORECASE)
_SECRET_FIELD = re.compile(
    r"(?:^|[_\W])(?:api[_-]?key|key|token|secret|password|passwd|auth|authorization|cookie|credentials?|signature|sig)s?$"
    r"|apikey|access[_-]?token",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(?<=://)[^\s/@?#\"'<>]+@")
_ADDRESS = re.compile(r"\b(https?|ftp|www)(:(?=//)|(?<=www)\.)", re.IGNORECASE)
# Direction marks can make a line read otherwise than it is; line separators end it.
_TRICKS = frozenset("\u061c\u200e\u200f\u2028\u2029\ufeff") | {
    chr(c) for c in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
}


@dataclass(frozen=True, repr=False)
class Mask:
    """A function text → text without the secrets it was made with. Its repr shows none of them."""

    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, *secrets: str | None) -> Mask:
        """A mask for these texts, in each spelling that they may be echoed in. Short ones and None are left out."""
        spellings: set[str] = set()
        for secret in secrets:
            if secret is not None and len(secret) >= SHORTEST_SECRET and secret not in PLACEHOLDER_KEYS:
                spellings |= {
                    secret,
                    quote(secret, safe=""),
                    quote_plus(secret),
                    json.dumps(secret)[1:-1],
                    repr(secret)[1:-1],
                }
        return cls(tuple(sorted(spellings, key=lambda text: (-len(text), text))))

    def __call__(self, text: str) -> str:
        for secret in self.secrets:
            text = text.replace(secret, STARS)
        return _USERINFO.sub(f"{STARS}@", text)

    def __repr__(self) -> str:
        return f"Mask({len(self.secrets)} spellings)"


def mask(text: str, *secrets: str | None) -> str:
    """The text with each of the secrets, and the user and password of any URL, as `***`."""
    return Mask.of(*secrets)(text)


def secrets_in_environment(environ: Mapping[str, str] = os.environ) -> list[str]:
    """Values of the variables that are named as secrets are (`…_KEY`, `…_TOKEN`, …)."""
    return [value for name, value in environ.items() if _SECRET_VARIABLE.search(name)]


def secrets_in_url(url: str) -> list[str]:
    """What must not be seen of a URL: its password (or lone user), as sent in a header too, and its query's values."""
    parts = urlsplit(url)
    found = [value for _, value in parse_qsl(parts.query)]
    if parts.username is not None:
        user, password = unquote(parts.username), unquote(parts.password or "")
        found += [password or user, base64.b64encode(f"{user}:{password}".encode()).decode()]
    return found


def masked_url(url: str) -> str:
    """The URL with `***` for user, password, and every value of its query. The host stays."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    netloc = f"{STARS}@{host}" if "@" in parts.netloc else host
    query = "&".join(f"{name}={STARS}" for name, _ in parse_qsl(parts.query, keep_blank_values=True))
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def is_secret_field(name: str) -> bool:
    """Whether a header or field of that name holds a secret, judging by the name."""
    return _SECRET_FIELD.search(name) is not None


def masked_fields(value: Any) -> Any:
    """The same JSON value, with `***` for each text that stands under a secret's name."""
    if isinstance(value, Mapping):
        hidden = {key for key, held in value.items() if isinstance(held, str) and is_secret_field(str(key))}
        return {key: STARS if key in hidden else masked_fields(held) for key, held in value.items()}
    return [masked_fields(held) for held in value] if isinstance(value, list | tuple) else value


def secrets_in_fields(value: Any) -> list[str]:
    """The texts that stand under a secret's name, at any depth. Of `Bearer x`, also x alone."""
    if isinstance(value, Mapping):
        found: list[str] = []
        for key, held in value.items():
            if isinstance(held, str) and is_secret_field(str(key)):
                found += [held, *held.split()[1:]]
            else:
                found += secrets_in_fields(held)
        return found
    return [text for held in value for text in secrets_in_fields(held)] if isinstance(value, list | tuple) else []


def printable(text: str, *, lines: bool = False) -> str:
    """The text with nothing in it that a terminal obeys: control characters and direction marks as escapes.

    An escape sequence shows as `\\x1b[…`. With `lines`, line breaks and tabs are kept.
    """
    if text.isprintable():
        return text
    return "".join(char if _is_harmless(char, lines) else _escape(char) for char in text)


def unlinked(markdown: str) -> str:
    """Markdown whose bare addresses are text: no reader of it makes links of them."""
    return _ADDRESS.sub(lambda found: f"{found[1]}\\{found[2]}", markdown)


def _is_harmless(char: str, lines: bool) -> bool:
    if lines and char in "\n\t":
        return True
    return char not in _TRICKS and unicodedata.category(char) not in ("Cc", "Cs")


def _escape(char: str) -> str:
    return char.encode("unicode_escape", "surrogatepass").decode("ascii")
