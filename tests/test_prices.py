"""Costs by the user's own price table."""

import pytest

from evalkit.errors import SettingsError
from evalkit.prices import BATCH_SHARE, cost, load_prices
from evalkit.records import Usage

PRICES = {"gpt-4.1-mini": {"input": 0.4, "output": 1.6}}


def test_a_cost_is_per_million_tokens():
    assert cost(Usage(1_000_000, 500_000), "gpt-4.1-mini", PRICES) == pytest.approx(1.2)
    assert cost({"prompt_tokens": 10, "completion_tokens": 0}, "gpt-4.1-mini", PRICES) == pytest.approx(4e-6)
    assert cost(Usage(5, 5), "free", {"free": {"input": 0, "output": 0}}) == 0.0


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(1_000_000, 0, 750_000), 0.1 + 0.075),
        (Usage(1_000_000, 500_000, 0, 400_000), 0.4 + 0.8),  # reasoning is output
        (Usage(1_000_000, 0, None), 0.4),
        (Usage(1_000_000, 0, 5_000_000), 0.1),  # more cached than sent: no part of it is sent twice, none is negative
        ({"input_tokens": 250_000, "cache_read_input_tokens": 750_000, "output_tokens": 0}, 0.1 + 0.075),
    ],
)
def test_cached_input_has_a_price_of_its_own(usage, usd):
    prices = load_prices({"m": {"input": 0.4, "cached_input": 0.1, "output": 1.6}})
    assert cost(usage, "m", prices) == pytest.approx(usd)
    assert cost(usage, "m", prices, share=BATCH_SHARE) == pytest.approx(usd / 2)
    same = Usage(Usage.of(usage).input_tokens, Usage.of(usage).output_tokens)
    assert cost(usage, "gpt-4.1-mini", PRICES) == cost(same, "gpt-4.1-mini", PRICES)


@pytest.mark.parametrize("usage", [None, Usage(), Usage(1, None), Usage(None, 1), {}])
def test_without_counts_there_is_no_cost(usage):
    assert cost(usage, "gpt-4.1-mini", PRICES) is None


def test_without_a_price_there_is_no_cost():
    assert cost(Usage(1, 1), "other", PRICES) is None
    assert cost(Usage(1, 1), "gpt-4.1-mini", {}) is None


def test_prices_come_from_the_nearest_pyproject_that_has_them(tmp_path, monkeypatch):
    inner = tmp_path / "project" / "notebooks"
    inner.mkdir(parents=True)
    table = '[tool.evalkit.prices]\n"gpt-4.1-mini" = { input = 0.4, output = 1.6 }\nmock = { input = 1, output = 2 }\n'
    (tmp_path / "pyproject.toml").write_text(table, encoding="utf-8")
    (tmp_path / "project" / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    expected = {"gpt-4.1-mini": {"input": 0.4, "output": 1.6}, "mock": {"input": 1.0, "output": 2.0}}
    monkeypatch.chdir(inner)
    assert load_prices() == expected
    assert load_prices(start=inner) == expected


def test_the_argument_goes_before_the_file(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.evalkit.prices]\na = { input = 1, output = 1 }\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_prices(PRICES) == PRICES
    assert load_prices({}) == {}


def test_without_any_table_there_are_no_prices(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert load_prices(start=tmp_path) == {}


@pytest.mark.parametrize(
    ("prices", "words"),
    [
        ([1], "prices: a price table is needed, such as"),
        ({"m": 0.4}, "prices: the price of 'm' must have input and output"),
        ({"m": {"input": 1}}, "prices: the price of 'm' has no 'output'; give both"),
        (
            {"m": {"inptu": 1, "output": 1}},
            "unknown part 'inptu'; it has input, output and cached_input. Did you mean 'input'?",
        ),
        ({"m": {"input": "1", "output": 1}}, "prices: the price of 'm': input must be a number of 0 or more, got '1'"),
        ({"m": {"input": -1, "output": 1}}, "got -1"),
        ({"m": {"input": 1, "output": 1, "cached_input": -1}}, "cached_input must be a number of 0 or more, got -1"),
        ({"m": {"input": 1, "output": 1, "cache_input": 1}}, "Did you mean 'cached_input'?"),
        ({"m": {"cached_input": 1, "output": 1}}, "prices: the price of 'm' has no 'input'; give both"),
        ({"m": {"input": True, "output": 1}}, "got True"),
        ({"m": {"input": float("nan"), "output": 1}}, "got nan"),
        ({"gpt-4": {"1-mini": {"input": 1, "output": 1}}}, "In TOML, a name with a dot goes in quotes."),
    ],
)
def test_what_is_no_price_is_refused(prices, words):
    with pytest.raises(SettingsError) as caught:
        load_prices(prices)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["[tool.evalkit.prices\n", "[tool.evalkit]\nprices = 5\n"])
def test_a_broken_file_is_named(tmp_path, text):
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=r"pyproject\.toml"):
        load_prices(start=tmp_path)
