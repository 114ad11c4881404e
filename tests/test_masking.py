"""Secrets are masked where evalkit speaks, and nothing it prints is obeyed by a terminal."""

import pytest

from evalkit.masking import (
    Mask,
    is_secret_field,
    mask,
    masked_fields,
    masked_url,
    printable,
    secrets_in_environment,
    secrets_in_fields,
    secrets_in_url,
)

KEY = "sk-test-PLACEHOLDER-0001"
URL = "https://bob:pw-PLACEHOLDER@gw.example:8443/v1?token=tk-PLACEHOLDER&region="


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"wrong key {KEY}!", "wrong key ***!"),
        (f"{KEY} {KEY}", "*** ***"),
        ("nothing here", "nothing here"),
        ("see https://bob:pw@gw.example/v1", "see https://***@gw.example/v1"),
        ("see https://gw.example/@bob", "see https://gw.example/@bob"),
        ("mail bob@gw.example", "mail bob@gw.example"),
    ],
)
def test_secrets_are_masked_in_text(text, masked):
    assert mask(text, KEY) == masked


@pytest.mark.parametrize(
    "secret", ["a/b+c d&e=PLACEHOLDER", 'quote"PLACEHOLDER', "back\\slash-PLACEHOLDER", "é-PLACEHOLDER"]
)
def test_a_secret_is_masked_in_each_spelling(secret):
    from json import dumps
    from urllib.parse import quote, quote_plus

    for spelling in (secret, quote(secret, safe=""), quote_plus(secret), dumps(secret), repr(secret)):
        assert "PLACEHOLDER" not in Mask.of(secret)(f"before {spelling} after")


def test_of_two_secrets_the_longer_goes_first():
    assert mask("secret-one-and-more", "secret-one", "secret-one-and-more") == "***"


@pytest.mark.parametrize("word", ["none", "file", "ollama", "a", "", None, "lm-studio", "1234567"])
def test_short_and_placeholder_keys_mask_no_ordinary_words(word):
    text = f"{word} is an ordinary word: lm-studio, ollama, none, file, 1234567"
    assert mask(text, word) == text


def test_a_mask_shows_no_secret():
    assert "PLACEHOLDER" not in repr(Mask.of(KEY))


def test_secrets_of_a_url_are_found_and_the_host_stays():
    assert masked_url(URL) == "https://***@gw.example:8443/v1?token=***&region=***"
    assert secrets_in_url(URL) == ["tk-PLACEHOLDER", "pw-PLACEHOLDER", "Ym9iOnB3LVBMQUNFSE9MREVS"]
    assert masked_url("http://localhost:8080/v1") == "http://localhost:8080/v1"
    assert secrets_in_url("http://localhost:8080/v1") == []


def test_a_lone_user_in_a_url_is_a_secret():
    assert "tok-PLACEHOLDER" in secrets_in_url("https://tok-PLACEHOLDER@gw.example/v1")


def test_an_escaped_password_is_found_as_it_is_sent():
    assert "p@ss/PLACEHOLDER" in secrets_in_url("https://bob:p%40ss%2FPLACEHOLDER@gw.example/v1")


def test_secrets_in_the_environment_are_found_by_name():
    names = [
        "OPENAI_API_KEY",
        "GH_TOKEN",
        "MY_SECRET",
        "DB_PASSWORD",
        "PROXY_AUTH",
        "AWS_SECRET_ACCESS_KEY",
        "HF_TOKEN_2",
    ]
    others = ["GIT_AUTHOR_NAME", "KEYBOARD", "TOKENIZERS_PARALLELISM", "PATH", "HOME"]
    assert secrets_in_environment({name: name.lower() for name in names + others}) == [name.lower() for name in names]


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("Authorization", True),
        ("X-Api-Key", True),
        ("api-key", True),
        ("Cookie", True),
        ("X-Auth-Token", True),
        ("password", True),
        ("max_tokens", True),  # by its name alone; only text is masked, and a limit is a number
        ("OpenAI-Beta", False),
        ("X-Team", False),
        ("tokenizer", False),
        ("monkey", False),
    ],
)
def test_a_field_is_secret_by_its_name(name, secret):
    assert is_secret_field(name) is secret


def test_fields_are_masked_at_any_depth_and_nothing_is_changed_in_place():
    given = {
        "seed": 1,
        "max_tokens": 5,
        "extra_headers": {"Authorization": "Bearer hk-PLACEHOLDER", "X-Team": "a"},
        "more": [{"password": "x"}],
    }
    assert masked_fields(given) == {
        "seed": 1,
        "max_tokens": 5,
        "extra_headers": {"Authorization": "***", "X-Team": "a"},
        "more": [{"password": "***"}],
    }
    assert given["extra_headers"]["Authorization"] == "Bearer hk-PLACEHOLDER"
    assert secrets_in_fields(given) == ["Bearer hk-PLACEHOLDER", "hk-PLACEHOLDER", "x"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("a\rb\nc\td", "a\\rb\\nc\\td"),
        ("\x9b31m", "\\x9b31m"),
        ("\x00\x7f", "\\x00\\x7f"),
        ("abc\u202edef", "abc\\u202edef"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("line\u2028separator", "line\\u2028separator"),
        ("half \ud83d", "half \\ud83d"),
        ("naïve 日本語 👩‍👩‍👧 … ’ \u00a0", "naïve 日本語 👩‍👩‍👧 … ’ \u00a0"),
        ("C:\\x1b", "C:\\x1b"),
    ],
)
def test_nothing_that_is_printed_is_obeyed_by_a_terminal(text, shown):
    assert printable(text) == shown
    printable(text).encode("utf-8")


def test_lines_and_tabs_are_kept_where_they_are_wanted():
    assert printable("a\n\tb\x1b", lines=True) == "a\n\tb\\x1b"
