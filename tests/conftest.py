"""Fixtures that every test module may use."""

import pytest

from evalkit import review_registry
from loopback import endpoint

__all__ = ["endpoint"]


@pytest.fixture(autouse=True)
def _no_reviewer_outlives_its_test(monkeypatch):
    monkeypatch.setattr(review_registry, "_known", dict(review_registry._known))
