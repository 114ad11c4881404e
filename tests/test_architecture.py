"""The picture of the package, as a table: which room stands on which floor.

Imports go down, or sideways on one floor where that makes no circle. West of the first floor makes results, east reads
them; the two never meet, so that whoever reads history never loads a model client.
"""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import evalkit

PACKAGE = Path(evalkit.__file__).parent
GROUND = """
open_files dates errors limits nearmiss given records jsontext masking fences patterns paths loops progress textfiles
valuepaths environment descriptions thinking jsonvalues jsonschemas schema_graph schema_check toolschema schema counts
journal footers store runs hint_schemas tool_functions tools messages tables look_alikes textdiff weeks finish_reasons
""".split()
WEST = """
failure_words outcomes refusals differences pairing matcher_checks matchers mismatch_forms turns arguments calls
offered endpoints prices replies request_failures retries wire model_settings terms streaming posting callables
lexical models probe review_checks review_registry review_own review_text review_exact number_text review_numbers
review_json review_xml reviewers judge_prompts judge_questions judge_replies judge_rules judges judging jury
case_fields case_rules cases dataset_files dataset_options dataset_building datasets argument_advice dataset_advice
answers evaluators rows batch_parts batch_replies batch_client batches plans execution recording resuming
recorded_turns rescoring runner reply_calls reply_errors
call_values call_forms text_calls
""".split()
EAST = """
stats codes tallies paired selection reading coded_reading history history_scan shared_cases dask_frames annotations
""".split()
SECOND = """
plot plot_style plot_text plot_series plot_time plot_panels plot_dates plot_rates plot_runs plot_confusion
plot_comparison charts html frame_view
""".split()
THIRD = """
metrics confusion wrong_trials repeats agreement review_table comparison comparison_html compare_pairs compare_tests
compare_words case_comparison run_differences case_view case_html run_changes
""".split()
ROOF = """
exports table_files lines compare_lines checking cli __main__ __init__ widgets widget_base run_picker compare_runs
case_browser report report_data report_frames report_words report_notes report_views report_page report_markdown
report_files report_command command_options
""".split()
FLOORS = [GROUND, [*WEST, *EAST], SECOND, THIRD, ROOF]
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}
ROOMS = sorted(path.stem for path in PACKAGE.glob("*.py"))
HEAVY = {"pandas", "numpy", "openai", "pyarrow", "matplotlib", "ipywidgets", "scipy", "statsmodels", "aiohttp"}


def imports_of(room):
    """The rooms that a room imports, wherever in it, except for type checking alone."""
    return {name for node in _importing(_tree(room)) for name in _names(node)} & set(ROOMS)


def _tree(room):
    return ast.parse((PACKAGE / f"{room}.py").read_text(encoding="utf-8"))


def _importing(tree):
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield node
        yield from _importing(node)


def _names(node):
    return [node.module] if node.module else [alias.name for alias in node.names]


def test_every_room_stands_in_the_picture():
    assert set(ROOMS) - set(FLOOR) == set()


@pytest.mark.parametrize("room", ROOMS)
def test_imports_only_go_down(room):
    upwards = {name for name in imports_of(room) if FLOOR[name] > FLOOR[room]}
    assert upwards == set()


def test_no_circle_of_imports():
    order = TopologicalSorter({room: imports_of(room) for room in ROOMS if room != "__init__"}).static_order()
    assert set(ROOMS) - set(order) == {"__init__"}


def test_the_wings_never_meet():
    assert {name for room in EAST if room in ROOMS for name in imports_of(room) & set(WEST)} == set()
    assert {name for room in WEST if room in ROOMS for name in imports_of(room) & set(EAST)} == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_stays_small_enough_to_read_in_a_sitting(room):
    lines = (PACKAGE / f"{room}.py").read_text(encoding="utf-8").count("\n")
    assert lines <= 400


def test_history_is_read_without_a_model_client():
    code = "import sys, evalkit.history, evalkit.metrics; print({'openai', 'aiohttp'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_front_door_and_the_help_load_nothing_heavy():
    code = "import sys, evalkit, evalkit.cli; evalkit.cli._parser().format_help(); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(done.stdout)) & HEAVY == set()


def test_every_public_name_can_be_had():
    assert all(getattr(evalkit, name) is not None for name in evalkit.__all__)
    with pytest.raises(AttributeError, match="Did you mean 'load_dataset'"):
        evalkit.load_datasets  # noqa: B018
