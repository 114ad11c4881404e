"""JSON Schemas that people write, made into validators where they are sound. Nothing is ever fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fault:
    """One way in which a value breaks a schema: where in the value (keys and indexes), and a sentence."""

    path: tuple[str | int, ...]
    message: str


def validator(schema: Any, *, formats: bool | None = None) -> Any:
    """A jsonschema_rs validator for the draft that the schema names (2020-12 without one).

    `formats`: whether `format` is checked; None leaves that to the draft (the newest two take it as a remark).

    Raises ValueError, with a sentence, for a schema that is broken or refers to something outside itself.
    """
    import jsonschema_rs

    if not isinstance(schema, dict | bool):
        raise ValueError(f"a JSON Schema is an object, got {type(schema).__name__}")
    try:
        return jsonschema_rs.validator_for(schema, validate_formats=formats, offline=True)
    except jsonschema_rs.ValidationError as error:
        raise ValueError(_sentence(error)) from None
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _sentence(error: Any) -> str:
    message = str(error.message)
    if "retrieving it failed" in message:
        address = message.removeprefix("Resource '").split("' is not present", 1)[0]
        return f"it refers to {address!r}, outside itself; remote references are never fetched. Put it under $defs."
    if message.startswith("Unknown meta-schema"):
        return f"{message.split('. ')[0]}. Leave $schema out, or name a JSON Schema draft"
    place = ".".join(str(part) for part in error.instance_path)
    return f"at {place}: {message}" if place else message
