"""Fixtures that every test module may use."""

from loopback import endpoint

__all__ = ["endpoint"]
