"""The notebooks: one question each, plain code, nothing stored in them, and every cell runs from any folder."""

import ast
import json
import re
from itertools import pairwise

import nbformat
import pytest

from notebook_running import NOTEBOOKS, ROOT, copy_of_project, execute

QUESTIONS = {
    "00_quickstart": "How do I run a dataset and read the result?",
    "01_run_dataset": "How well does this model do on this dataset?",
    "02_accuracy_over_time": "How does each tool's accuracy move, and what changed when it moved?",
    "03_compare_runs": "What changed between these two runs, and is it real?",
    "04_read_failures": "Why do cases fail?",
    "05_judge_agreement": "Can the judges be trusted?",
    "06_weekly_review": "What should the team know about this week?",
}
LONGEST_CELL = 10
DRAWS = "ek.plot."
WIDGET = "application/vnd.jupyter.widget-view+json"
RUNS_MADE = 3  # two by the quickstart, one by 01_run_dataset

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells_of(path, kind="code"):
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == kind]


def outputs_of(notebook, kind):
    return [out for cell in notebook.cells for out in cell.get("outputs", []) if out.output_type == kind]


@each_notebook
def test_the_title_is_the_question_and_then_come_needs_and_gains(path):
    first, second = nbformat.read(path, as_version=4).cells[:2]
    assert (first.cell_type, first.source) == ("markdown", f"# {QUESTIONS[path.stem]}")
    assert second.cell_type == "markdown"
    assert second.source.startswith("**You need:**")
    assert "\n**You get:**" in second.source


@each_notebook
def test_one_cell_holds_the_parameters_and_nothing_else(path):
    tagged = [cell for cell in cells_of(path) if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    assert tagged[0] is not None
    assert tagged[0].source == cells_of(path)[0].source
    for line in ast.parse(tagged[0].source).body:
        assert isinstance(line, ast.Assign)
        ast.literal_eval(line.value)


@each_notebook
def test_cells_are_short_and_plain(path):
    forbidden = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try)
    for cell in cells_of(path):
        assert 1 <= len(cell.source.splitlines()) <= LONGEST_CELL
        assert not re.search(r"sys\.path|^[%!]", cell.source, re.MULTILINE)
        for node in ast.walk(ast.parse(cell.source)):
            assert not isinstance(node, forbidden), ast.unparse(node)


@each_notebook
def test_all_that_is_imported_is_the_package(path):
    source = "\n".join(cell.source for cell in cells_of(path))
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imports] == ["import evalkit as ek"]


@each_notebook
def test_prose_stands_before_every_chart(path):
    cells = nbformat.read(path, as_version=4).cells
    for before, cell in pairwise(cells):
        if cell.cell_type == "code" and DRAWS in cell.source:
            assert before.cell_type == "markdown"
            assert re.search(r"[.!?]", before.source)


@each_notebook
def test_nothing_that_ran_is_stored(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert dict(notebook.metadata.language_info) == {"name": "python"}
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        if cell.cell_type == "code":
            assert (cell.execution_count, cell.outputs) == (None, [])
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    assert path.read_text(encoding="utf-8") == nbformat.writes(notebook) + "\n"


@each_notebook
def test_links_lead_to_notebooks_that_there_may_be(path):
    source = "\n".join(cell.source for cell in cells_of(path, "markdown"))
    linked = re.findall(r"\]\(([^)]+)\)", source)
    assert set(linked) <= {f"{name}.ipynb" for name in QUESTIONS}


def test_the_dataset_that_the_quickstart_shows_is_the_one_that_it_runs():
    source = "\n".join(cell.source for cell in cells_of(ROOT / "notebooks" / "00_quickstart.ipynb", "markdown"))
    shown = re.search(r"```json\n(.*?)```", source, re.DOTALL)
    assert json.loads(shown[1]) == json.loads((ROOT / "eval_data" / "file_tools.json").read_text(encoding="utf-8"))


def faults(notebook):
    """What a reader of an executed notebook would stumble over."""
    found = [f"{out.ename}: {out.evalue}" for out in outputs_of(notebook, "error")]
    found += [f"stderr: {out.text}" for out in outputs_of(notebook, "stream") if out.name == "stderr"]
    shown = [out.data for out in outputs_of(notebook, "display_data") + outputs_of(notebook, "execute_result")]
    charts = sum(cell.source.count(DRAWS) for cell in notebook.cells if cell.cell_type == "code")
    pictures = sum("image/png" in data for data in shown)
    found += [f"{charts} charts are drawn, {pictures} are seen"] if charts != pictures else []
    widgets = [data for data in shown if WIDGET in data and not data["text/plain"].startswith("trials:")]
    return found + [f"no static twin: {data['text/plain']}" for data in widgets if "text/html" not in data]


ELSEWHERE = [pytest.param(folder, marks=pytest.mark.slow) for folder in (".", "reports/weekly")]


@pytest.mark.parametrize("folder", ["notebooks", *ELSEWHERE])
async def test_every_notebook_runs_from_any_folder_of_the_project(folder, tmp_path):
    project = copy_of_project(tmp_path)
    (project / folder).mkdir(parents=True, exist_ok=True)
    before = sorted(path.name for path in (project / folder).iterdir())
    executed = await execute([project / "notebooks" / path.name for path in NOTEBOOKS], project / folder)
    assert {name: found for name, notebook in executed.items() if (found := faults(notebook))} == {}
    assert sorted(path.name for path in (project / folder).iterdir()) == before
    assert len(list((project / "results").glob("*.parquet"))) == RUNS_MADE
