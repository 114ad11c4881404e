"""Markdown fences: the text inside, where a text is one fenced block and nothing else, and how it is reviewed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from .records import Verdict

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


def review_unfenced(answer: str, review: Callable[[str], Verdict], *, strip_fences: bool) -> Verdict:
    """The verdict on an answer, or with `strip_fences` on what stands in its fence; without, a hint says what it is.

    `review` takes text and refuses any that is fenced.
    """
    inner = unfenced(answer)
    if inner is None or strip_fences:
        return review(answer if inner is None else inner)
    refused = review(answer)
    try:
        helps = review(inner).score == 1
    except ValueError:  # it could not be told
        helps = False
    said = "strip_fences: true accepts that" if helps else "what stands inside is not accepted either"
    return replace(refused, reason=f"{refused.reason}; it stands in a Markdown fence ({said})")


def _closes(line: str, fence: str) -> bool:
    return len(line) >= len(fence) and line == fence[0] * len(line)
