"""What a request cost, by a price table that the user keeps. There are no built-in prices: they go out of date."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .errors import SettingsError
from .nearmiss import did_you_mean
from .records import Usage

Prices = Mapping[str, Mapping[str, float]]

PER = 1_000_000  # tokens that a price is for
BATCH_SHARE = 0.5  # of the price, for requests that are sent in a batch
_SIDES = ("input", "output")
_PARTS = ("input", "cached_input", "output")
_EXAMPLE = 'such as {"gpt-4.1-mini": {"input": 0.4, "output": 1.6}}, in USD per million tokens'


def load_prices(prices: Prices | None = None, start: str | Path | None = None) -> dict[str, dict[str, float]]:
    """Model name → USD per million tokens: `input`, `output`, and `cached_input` where it has a price of its own; empty
    where the user keeps no prices.

    Without the argument, from `[tool.evalkit.prices]` in the nearest pyproject.toml that has it, looking from
    `start` (the working folder) up. Raises SettingsError for what is no price.
    """
    if prices is not None:
        return _checked(prices, "prices")
    here = Path(start if start is not None else Path.cwd()).absolute()
    for folder in (here, *here.parents):
        path = folder / "pyproject.toml"
        found = _table(path) if path.is_file() else None
        if found is not None:
            return _checked(found, f"{path}, [tool.evalkit.prices]")
    return {}


def cost(usage: Usage | Mapping[str, Any] | None, model: str, prices: Prices, *, share: float = 1.0) -> float | None:
    """USD for these tokens; None where the model has no price, or the endpoint did not count both kinds.

    `share` is how much of the price is paid (in a batch, BATCH_SHARE).
    """
    price, counted = prices.get(model), Usage.of(usage)
    if price is None or counted.input_tokens is None or counted.output_tokens is None:
        return None
    cached = min(counted.cached_tokens or 0, counted.input_tokens)
    tokens = {"input": counted.input_tokens - cached, "cached_input": cached, "output": counted.output_tokens}
    return sum(number * price.get(part, price["input"]) for part, number in tokens.items()) / PER * share


def _table(path: Path) -> Any:
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path} cannot be read for prices: {error}") from None
    for name in ("tool", "evalkit", "prices"):
        project = project.get(name) if isinstance(project, Mapping) else None  # type: ignore[assignment]
    return project


def _checked(prices: Any, where: str) -> dict[str, dict[str, float]]:
    if not isinstance(prices, Mapping):
        raise SettingsError(f"{where}: a price table is needed, {_EXAMPLE}, got {prices!r}")
    return {str(model): _entry(model, entry, where) for model, entry in prices.items()}


def _entry(model: Any, entry: Any, where: str) -> dict[str, float]:
    named = f"{where}: the price of {model!r}"
    if not isinstance(entry, Mapping):
        # In TOML an unquoted gpt-4.1-mini is a table within a table.
        raise SettingsError(f"{named} must have input and output, {_EXAMPLE}, got {entry!r}")
    for key in entry:
        if key not in _PARTS:
            quoted = " In TOML, a name with a dot goes in quotes." if isinstance(entry[key], Mapping) else ""
            meant = did_you_mean(str(key), _PARTS)
            raise SettingsError(
                f"{named} has an unknown part {key!r}; it has input, output and cached_input.{meant}{quoted}"
            )
    missing = [side for side in _SIDES if side not in entry]
    if missing:
        raise SettingsError(f"{named} has no {missing[0]!r}; give both, {_EXAMPLE}")
    for part, price in entry.items():
        if not _is_price(price):
            raise SettingsError(f"{named}: {part} must be a number of 0 or more, got {price!r}")
    return {part: float(price) for part, price in entry.items()}


def _is_price(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
