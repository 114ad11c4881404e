"""Frames as charts: one function per frame of `evalkit`, each returning matplotlib Axes.

Every function takes the frame first, everything else by keyword and `ax` last. Without `ax` it draws into a new pyplot
figure. Where tools are drawn as lines, a tool has the same colour in every chart; rates carry their interval and n;
titles are left to the caller; a frame without rows is drawn as such.
"""

from .plot_comparison import comparison
from .plot_confusion import tool_confusion
from .plot_rates import tool_accuracy
from .plot_runs import latency_and_cost, outcomes, scores
from .plot_time import accuracy_over_time

__all__ = [
    "accuracy_over_time",
    "comparison",
    "latency_and_cost",
    "outcomes",
    "scores",
    "tool_accuracy",
    "tool_confusion",
]
