"""How a place inside a JSON value is written: `x.b`, `items[0].name`, `x["a.b"]`.

A key of letters, digits, underscores and hyphens stands as it is; any other stands in brackets, as JSON text.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache

_PLAIN = re.compile(r"[\w-]+\Z")


@lru_cache(maxsize=4096)
def inside(path: str, key: object) -> str:
    """The path of a key of the object at `path`."""
    text = str(key)
    if not _PLAIN.match(text):
        return f"{path}[{json.dumps(text, ensure_ascii=False)}]"
    return f"{path}.{text}" if path else text


def place_of(path: str, index: int) -> str:
    """The path of an element of the list at `path`."""
    return f"{path}[{index}]"
