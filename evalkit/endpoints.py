"""Where requests go and with what key: the address and its secrets, checked before anything is sent."""

from __future__ import annotations

import base64
import ipaddress
import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from .environment import JUDGE_URL
from .errors import SettingsError
from .masking import PLACEHOLDER_KEYS, SHORTEST_SECRET, STARS, masked_url, secrets_in_url

DEFAULT_URL = "https://api.openai.com/v1"
URL_VARIABLE, KEY_VARIABLE = "OPENAI_BASE_URL", "OPENAI_API_KEY"
A_PAGE = (
    "A web page comes where the base URL leads to a site and not to its API, or from a gateway or the login of a proxy."
)
_WRONG_SCHEME = {
    "http": re.compile("HTTP request (?:was sent )?to (?:an )?HTTPS", re.IGNORECASE),
    "https": re.compile("wrong.version.number|record.layer.failure|unknown.protocol", re.IGNORECASE),
}
_OF_REQUESTS = re.compile(
    r"/+(?:(?:chat/+)?completions|responses|(?<=v1/)(?:models|chat|messages|embeddings))/*$", re.IGNORECASE
)
NO_KEY = "none"  # sent where a server of one's own asks for no key; the client insists on some text


@dataclass(frozen=True, repr=False)
class Address:
    """An endpoint: `url` to send to (without credentials), `headers` and `query` that carry them, `key`, `shown`.

    `shown` is the URL with its secrets masked; `secrets` are the texts that no error may show.
    """

    url: str
    shown: str
    host: str
    key: str
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def asked(self, path: str) -> str:
        """The whole URL of a request to a path of the API, masked."""
        return _with_path(self.shown, lambda base: base + path)

    def advice(self, path: str) -> str:
        """What to set where that path leads to no API."""
        if re.search(r"/v\d", urlsplit(self.shown).path):
            return f"{URL_VARIABLE} is to be what stands before {path}: is {self.shown} right?"
        tries = [_with_path(self.shown, lambda base: f"{base}/v1"), _with_path(self.shown, lambda base: "/v1")]
        return f"OpenAI-compatible servers mostly answer under /v1: try {' or '.join(dict.fromkeys(tries))}."

    def scheme_advice(self, error: str) -> str:
        """What to set where an error says that the other end speaks http and not https, or the reverse."""
        scheme, other = ("https", "http") if self.url.startswith("https:") else ("http", "https")
        is_reset = self.host.endswith((":443", ":8443")) and re.search("reset|ReadError|disconnect|closed", error)
        if not _WRONG_SCHEME[scheme].search(error) and not (scheme == "http" and is_reset):
            return ""
        return f"It seems to speak {other}: try {other}{self.shown.removeprefix(scheme)}."


def address_of(base_url: str | None = None, api_key: str | None = None) -> Address:
    """The endpoint named by the arguments, else by OPENAI_BASE_URL and OPENAI_API_KEY, else OpenAI's own.

    Raises SettingsError for what is no URL, and where OpenAI's own endpoint is meant and there is no key.
    """
    if base_url is not None and not isinstance(base_url, str):
        raise SettingsError(f"base_url must be text such as http://localhost:8080/v1, got {base_url!r:.80}")
    if api_key is not None and not isinstance(api_key, str):
        raise SettingsError(f"api_key must be text, got {type(api_key).__name__}")
    given = (base_url or os.environ.get(URL_VARIABLE) or DEFAULT_URL).strip()
    _check_url(given)
    parts = urlsplit(given)
    key = (api_key or os.environ.get(KEY_VARIABLE) or "").strip()
    if not key and _is_openai(parts.hostname or ""):
        raise SettingsError(
            f"no key for {parts.hostname}: set {KEY_VARIABLE} (in the environment or in a .env file). "
            "To try everything without one: `--model lexical`, a baseline that needs no network. "
            f"For a server of your own (Ollama, llama.cpp, vLLM, LM Studio) set {URL_VARIABLE}, "
            "such as http://localhost:11434/v1; no key is needed there."
        )
    if not key.isascii() or not key.isprintable():
        raise SettingsError(
            f"{KEY_VARIABLE} holds a character that cannot be sent (a typographic quote, a line break?)"
        )
    netloc = parts.netloc.rpartition("@")[2]
    return Address(
        url=urlunsplit((parts.scheme, netloc, parts.path, "", "")),
        shown=masked_url(given),
        host=netloc,
        key=key or NO_KEY,
        headers=_basic(parts.username, parts.password),
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        secrets=(key, *secrets_in_url(given)),
    )


def base_of(url: str) -> str:
    """The base URL that a URL of single requests belongs to."""
    return _with_path(url, lambda path: _OF_REQUESTS.sub("", path))


def refuse_foreign(run_id: str, base_url: str | None, api_key: str | None = None) -> None:
    """Raise SettingsError where a key would go to an endpoint on the word of a run's file alone: it may be anybody's.

    Of these the endpoint may be: OpenAI's own, one on this machine, those that the environment names.
    """
    key = (api_key or os.environ.get(KEY_VARIABLE) or "").strip()
    if not base_url or len(key) < SHORTEST_SECRET or key in PLACEHOLDER_KEYS:
        return
    try:
        scheme, host = urlsplit(base_url).scheme, urlsplit(base_url).hostname or ""
        trusted = {urlsplit(os.environ.get(name) or "").netloc.rpartition("@")[2] for name in (URL_VARIABLE, JUDGE_URL)}
        is_ours = urlsplit(base_url).netloc.rpartition("@")[2] in trusted - {""}
    except ValueError:
        return  # no address, which is said where it is used
    if not (is_ours or _is_local(host) or (scheme == "https" and _is_openai(host))):
        raise SettingsError(
            f"run {run_id!r} names the endpoint {masked_url(base_url)!r}, and a run's file may come from anybody: your "
            f"key is not sent there on its word. If that endpoint is yours, set {URL_VARIABLE} to it (for a judge "
            f"{JUDGE_URL})."
        )


class _WithoutCredentials(logging.Filter):
    """Masks the URLs of a log: the client's transport notes each request with its whole query."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(masked_url(str(one)) if type(one).__name__ == "URL" else one for one in record.args)
        return True


_MASKED = _WithoutCredentials()


def mask_log(transport: str) -> None:
    """Let the log of a transport (the name of its library) show no credentials, whoever has it shown."""
    logging.getLogger(transport).addFilter(_MASKED)


def _is_local(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        usable = usable and not parts.fragment and not re.search(r"\s", url)
    except ValueError:
        usable = False
    if not usable:
        meant = url.strip("\"'`<> ").partition("#")[0]
        meant = meant if "://" in meant else f"http://{meant}"
        said = f" Did you mean {meant!r}?" if not re.search(r"[@?\s]", meant) and meant != url else ""
        raise SettingsError(f"{_shown(url)!r} is not a base URL such as http://localhost:8080/v1.{said}")
    request = _OF_REQUESTS.search(parts.path)
    if request:
        raise SettingsError(
            f"{_shown(url)!r} is where single requests go, as {request[0]} is added to a base URL. "
            f"Set {URL_VARIABLE} (base_url) to {base_of(_shown(url))!r}."
        )
    if STARS in url:
        raise SettingsError(
            f"the base URL {_shown(url)!r} is masked, as its credentials are stored nowhere. "
            f"Set {URL_VARIABLE} to the whole URL."
        )


def _shown(url: str) -> str:
    try:
        return masked_url(url)
    except ValueError:
        return url.rpartition("@")[2].partition("?")[0]


def _with_path(url: str, change: Callable[[str], str]) -> str:
    """The URL with another path, which is given without slashes at its end."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=change(parts.path.rstrip("/"))))


def _is_openai(host: str) -> bool:
    return host == "openai.com" or host.endswith(".openai.com")


def _basic(user: str | None, password: str | None) -> dict[str, str]:
    if user is None:
        return {}
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}
