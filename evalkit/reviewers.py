"""Programmatic reviewers of a final answer, and the registry in which judges stand beside them.

Each is called by its name, `levenshtein("hello borld", "Hello World")`, or through a spec as a dataset
writes it: "exact_match", or {"reviewer": "string_contains", "search_string": "paris", "ignore_case": true}.
`reviewer` makes a function of your own one of them.
"""

from __future__ import annotations

from . import judge_rules  # noqa: F401  # the judges' names and rules stand in the registry too
from .review_exact import exact_match
from .review_json import json_schema_match, valid_json
from .review_numbers import numeric_match
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
from .review_text import levenshtein, regex_match, string_contains
from .review_xml import valid_xml

__all__ = [
    "ReviewerError",
    "exact_match",
    "is_judge",
    "json_schema_match",
    "levenshtein",
    "names",
    "numeric_match",
    "problems",
    "reads_expected",
    "regex_match",
    "register_judge",
    "review",
    "reviewer",
    "string_contains",
    "valid_json",
    "valid_xml",
]
