"""evalkit: run evaluation cases against a model, keep every result, and compare runs honestly.

A tour, as a notebook reads it::

    import evalkit as ek

    dataset = ek.load_dataset("file_tools")         # a name in eval_data/, or a path
    results = ek.run(dataset, model="lexical")      # one row per case and trial; saved as it goes
    ek.summarize(results)                           # one row per run, with n and interval
    ek.tool_accuracy(results)                       # one row per run and expected tool
    ek.failures(results)                            # the trials that failed, the commonest way first
    ek.list_runs()                                  # one row per run
    ek.load_run("latest")                           # its results
    ek.load_history(since="2026-11-01")             # many runs in one frame
    ek.history_accuracy()                           # the accuracy of all runs, from their footers
    ek.compare("latest~1", "latest")                # what changed, and is it real
    ek.columns()                                    # what the columns mean

Names are handed out when they are first used, so that `import evalkit` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import history as history
    from . import judges as judges
    from . import plot as plot
    from . import report as report
    from . import reviewers as reviewers
    from . import schema as schema
    from . import widgets as widgets
    from .agreement import judge_agreement as judge_agreement
    from .annotations import annotate as annotate
    from .annotations import load_annotations as load_annotations
    from .annotations import with_annotations as with_annotations
    from .batch_parts import Batching as Batching
    from .charts import export_chart as export_chart
    from .comparison import Comparison as Comparison
    from .comparison import compare as compare
    from .confusion import calling_rates as calling_rates
    from .confusion import tool_confusion as tool_confusion
    from .dataset_advice import check_dataset as check_dataset
    from .datasets import Dataset as Dataset
    from .datasets import EvalCase as EvalCase
    from .datasets import load_dataset as load_dataset
    from .errors import DatasetError as DatasetError
    from .errors import RunStopped as RunStopped
    from .errors import SchemaError as SchemaError
    from .errors import SettingsError as SettingsError
    from .evaluators import evaluate_answer as evaluate_answer
    from .evaluators import evaluate_tool_call as evaluate_tool_call
    from .frame_view import show as show
    from .history import list_runs as list_runs
    from .history import load_history as load_history
    from .history import load_run as load_run
    from .history_scan import history_accuracy as history_accuracy
    from .lexical import LexicalBaseline as LexicalBaseline
    from .metrics import EvalSummary as EvalSummary
    from .metrics import accuracy as accuracy
    from .metrics import summarize as summarize
    from .metrics import tool_accuracy as tool_accuracy
    from .models import OpenAIModel as OpenAIModel
    from .recorded_turns import score as score
    from .records import Mismatch as Mismatch
    from .records import ToolCall as ToolCall
    from .records import Turn as Turn
    from .records import Verdict as Verdict
    from .repeats import flaky as flaky
    from .rescoring import rescore as rescore
    from .review_table import reviews as reviews
    from .reviewers import reviewer as reviewer
    from .run_changes import run_changes as run_changes
    from .runner import resume as resume
    from .runner import run as run
    from .runner import run_async as run_async
    from .runner import run_single_turn as run_single_turn
    from .schema import EvalResult as EvalResult
    from .schema import columns as columns
    from .table_files import export_table as export_table
    from .tools import Tool as Tool
    from .wrong_trials import failure_kinds as failure_kinds
    from .wrong_trials import failures as failures
    from .wrong_trials import mismatches as mismatches

_MODULES = ("history", "judges", "plot", "report", "reviewers", "schema", "widgets")
_HOMES = {
    "comparison": ("Comparison", "compare"),
    "agreement": ("judge_agreement",),
    "batch_parts": ("Batching",),
    "annotations": ("annotate", "load_annotations", "with_annotations"),
    "charts": ("export_chart",),
    "confusion": ("calling_rates", "tool_confusion"),
    "dataset_advice": ("check_dataset",),
    "datasets": ("Dataset", "EvalCase", "load_dataset"),
    "errors": ("DatasetError", "RunStopped", "SchemaError", "SettingsError"),
    "evaluators": ("evaluate_answer", "evaluate_tool_call"),
    "frame_view": ("show",),
    "history": ("list_runs", "load_history", "load_run"),
    "history_scan": ("history_accuracy",),
    "lexical": ("LexicalBaseline",),
    "metrics": ("accuracy", "summarize", "tool_accuracy", "EvalSummary"),
    "models": ("OpenAIModel",),
    "recorded_turns": ("score",),
    "records": ("Mismatch", "ToolCall", "Turn", "Verdict"),
    "repeats": ("flaky",),
    "rescoring": ("rescore",),
    "review_table": ("reviews",),
    "reviewers": ("reviewer",),
    "run_changes": ("run_changes",),
    "runner": ("resume", "run", "run_async", "run_single_turn"),
    "schema": ("EvalResult", "columns"),
    "table_files": ("export_table",),
    "tools": ("Tool",),
    "wrong_trials": ("failure_kinds", "failures", "mismatches"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
__all__ = sorted((*_MODULES, *_HOME_OF))  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        found = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    elif name in _MODULES:
        found = import_module(f".{name}", __name__)
    elif name == "__version__":
        from .plans import evalkit_version

        return evalkit_version()
    else:
        from .nearmiss import did_you_mean

        raise AttributeError(f"evalkit has no {name!r}.{did_you_mean(name, __all__)}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)


def _show_in_notebooks() -> None:
    """Where this is imported in a notebook, have it show our frames without typesetting `$…$`; no option is set."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        shown = shell.display_formatter.formatters["text/html"]
        for module in ("pandas", "pandas.core.frame"):  # as pandas calls its home, now and before
            shown.for_type_by_name(
                module, "DataFrame", lambda frame: import_module(".frame_view", __name__).bare_html(frame)
            )


_show_in_notebooks()
