"""Whether JSON text keeps to a JSON Schema that somebody wrote, in bounded time and memory.

A schema is prepared once for its content. Most are checked on the spot; where schema and value together could
make too much work (parts that multiply, patterns that go back and forth), the check runs in a process of its own,
which is ended when it takes too long or too much memory. Nothing is ever fetched.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache
from itertools import islice
from typing import Any

from . import jsontext
from .jsonschemas import Fault, validator
from .schema_graph import Graph

TIMEOUT_S = 5.0  # for the process of its own
DESCRIBING_S = 2.0  # of these, for finding out where a value breaks the schema
MEMORY = 2**30  # bytes of address space that it may take
PATTERNS_S = 2.0  # for all patterns that can go back and forth, on all text of one answer
_MOST_WORK = 20_000_000  # characters of the value, times how often each can be looked at
_HIGHEST = 2_000  # parts in one another, each a level of the machine's stack
_DIGITS = Context(prec=1000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])  # of numbers that no int or float holds
_SOMEWHERE = Fault((), "where it does takes too long to find out")
_LONGEST_TRIED = 5_000  # characters of a text on which a pattern that goes back is tried on the spot
_MOST_FAULTS = 5  # faults that are described
_LONGEST_FAULT = 240  # characters of a fault's message


class SlowSchemaError(ValueError):
    """A schema that was not done with a value in time, or not within the memory allowed."""


class Prepared:
    """One sound schema, as JSON text. `formats`: whether `format` is checked; None leaves that to the draft.

    Raises ValueError, with a sentence, for one that is broken or refers to itself without end.
    """

    def __init__(self, text: str, formats: bool | None):
        self._text, self._formats = text, formats
        schema = json.loads(text)
        self._graph = Graph(schema)
        self._validator = validator(schema, formats=formats)
        self._patterns = [(one, validator({"pattern": one})) for one in self._graph.patterns if _goes_back(one)]

    def valid(self, text: str, value: Any) -> bool:
        """Whether `value`, read from the JSON `text`, keeps to the schema. Raises SlowSchemaError."""
        value = _encodable(value)
        if self._is_quick(text, value):
            return bool(self._validator.is_valid(value))
        return not _apart(self._text, text, self._formats)

    def faults(self, text: str, value: Any, most: int = _MOST_FAULTS) -> list[Fault]:
        """The first ways in which `value`, read from the JSON `text`, breaks the schema; [] where it keeps to it.

        Raises SlowSchemaError.
        """
        value = _encodable(value)
        if not self._is_quick(text, value):
            return _apart(self._text, text, self._formats)
        if self._validator.is_valid(value):
            return []
        return [_fault(error) for error in islice(self._validator.iter_errors(value), most)]

    def _is_quick(self, text: str, value: Any) -> bool:
        """Whether the value can be checked on the spot. Raises SlowSchemaError where a pattern is not done with it."""
        if self._patterns and any(len(one) > _LONGEST_TRIED for one in _texts(value)):
            return False
        self.try_patterns(value)
        depth = _depth(value)
        work, height = self._graph.bounds(depth, _MOST_WORK, _HIGHEST)
        return height <= _HIGHEST and work * (depth + 1) * (len(text) + 1) <= _MOST_WORK

    def try_patterns(self, value: Any) -> None:
        """Raise SlowSchemaError where a pattern is not done with some text; inside a schema that would go unnoticed."""
        if not self._patterns:
            return
        end = time.monotonic() + PATTERNS_S
        for text in _texts(value):
            for pattern, ready in self._patterns:
                if (not ready.is_valid(text) and _gave_up(ready, text)) or time.monotonic() > end:
                    raise SlowSchemaError(f"its pattern {pattern!r} was not done with a text of {len(text)} characters")


@lru_cache(maxsize=512)
def _prepared(text: str, formats: bool | None) -> Prepared:
    return Prepared(text, formats)


def prepare(schema: Any, *, formats: bool | None = True) -> Prepared:
    """The schema, ready to check values. Raises ValueError, with a sentence, for one that cannot be used."""
    if not isinstance(schema, dict | bool):
        raise ValueError("it must be an object, or true or false")
    try:
        text = json.dumps(schema, sort_keys=True, allow_nan=False)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except (TypeError, ValueError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    return _prepared(text, formats)


def _goes_back(pattern: str) -> bool:
    """Whether a pattern needs an engine that tries and goes back (look-around, back-references)."""
    import jsonschema_rs

    try:
        jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions(), offline=True)
    except jsonschema_rs.ValidationError:
        return True
    return False


def _gave_up(ready: Any, text: str) -> bool:
    from jsonschema_rs import ValidationErrorKind

    return any(isinstance(error.kind, ValidationErrorKind.BacktrackLimitExceeded) for error in ready.iter_errors(text))


def _apart(schema: str, text: str, formats: bool | None = True) -> list[Fault]:
    code = "from evalkit.schema_check import check_apart; check_apart()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-P", "-c", code],
            input=json.dumps({"schema": schema, "formats": formats, "text": text}),
            capture_output=True,
            encoding="utf-8",
            timeout=TIMEOUT_S,
            env=environment,
        )
        said = done.stdout
    except subprocess.TimeoutExpired as error:
        said = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
    lines = said.splitlines()
    if not lines:
        raise SlowSchemaError(f"it was not done with this answer within {TIMEOUT_S:g} s and {MEMORY // 2**30} GB")
    if lines[0] == "valid":
        return []
    return [Fault(tuple(one["path"]), one["message"]) for one in map(json.loads, lines[1:])] or [_SOMEWHERE]


def check_apart() -> None:
    """What runs in the process of its own: a schema and a text from standard input, the verdict to standard output."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):  # a system without such limits; the time limit remains
        pass
    request = json.load(sys.stdin)
    prepared = Prepared(request["schema"], request["formats"])
    value = _encodable(jsontext.read(request["text"], unique_keys=False))
    prepared.try_patterns(value)
    ready = prepared._validator
    valid = ready.is_valid(value)
    sys.stdout.write("valid\n" if valid else "not valid\n")
    sys.stdout.flush()
    if not valid:
        _end_in(DESCRIBING_S)
        sys.stdout.write(json.dumps(asdict(_first_fault(ready, value))) + "\n")


def _end_in(seconds: float) -> None:
    """End this process after a while: the verdict is out, and a place to name is worth a short search only."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


def _first_fault(ready: Any, value: Any) -> Fault:
    from jsonschema_rs import ValidationError

    try:
        ready.validate(value)
    except ValidationError as error:
        return _fault(error)
    return _SOMEWHERE


def _fault(error: Any) -> Fault:
    message = str(error.message)
    if len(message) > _LONGEST_FAULT:  # the value stands first, what is wrong with it last
        message = f"{message[: _LONGEST_FAULT // 3]} … {message[-2 * _LONGEST_FAULT // 3 :]}"
    return Fault(tuple(error.instance_path), message)


def _depth(value: Any) -> int:
    """How many levels of objects and lists stand in one another."""
    level, depth = [value], 0
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return depth


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _encodable(value: Any) -> Any:
    """The value as the validator can take it in: a lone surrogate replaced, a number rounded to its first digits."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_encodable(inner) for inner in value]
    return _DIGITS.create_decimal(value) if isinstance(value, Decimal) else value
