"""Fixtures that every test module may use."""

import pytest

from batch_server import server
from evalkit import judges, review_registry, reviewers
from loopback import endpoint

__all__ = ["endpoint", "server"]


@pytest.fixture(autouse=True)
def _no_reviewer_outlives_its_test(monkeypatch):
    assert judges
    assert reviewers  # importing them is what registers the built-in ones
    monkeypatch.setattr(review_registry, "_known", dict(review_registry._known))
