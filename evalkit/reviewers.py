"""Programmatic reviewers of a final answer, and the registry in which judges stand beside them.

Each is called by its name, `levenshtein("hello borld", "Hello World")`, or through a spec as a dataset
writes it: "exact_match", or {"reviewer": "string_contains", "search_string": "paris", "ignore_case": true}.
`reviewer` makes a function of your own one of them.
"""

from __future__ import annotations

from .review_own import reviewer
from .review_registry import (
    ReviewerError,
    is_judge,
    names,
    problems,
    reads_expected,
    register_judge,
    review,
)

__all__ = [
    "ReviewerError",
    "is_judge",
    "names",
    "problems",
    "reads_expected",
    "register_judge",
    "review",
    "reviewer",
]
