"""Markdown fences: the text inside, where a text is one fenced block and nothing else."""

from __future__ import annotations

import re

_OPENING = re.compile(r"(`{3,}|~{3,})[^`]*\Z")


def unfenced(text: str) -> str | None:
    """What stands between the fences of a text that is one fenced block, white space around it aside; else None."""
    lines = text.strip().split("\n")
    opening = _OPENING.match(lines[0].rstrip())
    if opening is None:
        return None
    fence = opening[1]
    closing = [number for number, line in enumerate(lines) if number and _closes(line.strip(), fence)]
    return "\n".join(lines[1:-1]) if closing == [len(lines) - 1] else None


def _closes(line: str, fence: str) -> bool:
    return len(line) >= len(fence) and line == fence[0] * len(line)
