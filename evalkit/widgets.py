"""The widgets: their state reads as plain values, and each has a static twin for exported notebooks."""

from .case_browser import CaseBrowser
from .compare_runs import CompareRuns
from .run_picker import RunPicker

__all__ = ["CaseBrowser", "CompareRuns", "RunPicker"]
