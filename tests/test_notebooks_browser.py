"""The notebooks as a person opens them: in JupyterLab, in a browser, run from top to bottom, their widgets used.

Pictures of them are kept in the folder that EVALKIT_SCREENSHOTS names.
"""

import json
import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import matplotlib
import pytest

import evalkit as ek
from evalkit.store import save_run
from frames import description, row
from jupyterlab_browser import open_notebook
from notebook_running import NOTEBOOKS, copy_of_project

pytestmark = pytest.mark.browser

SHOTS = os.environ.get("EVALKIT_SCREENSHOTS")
STDERR = "[data-mime-type='application/vnd.jupyter.stderr']"
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


@contextmanager
def opened(path, project):
    """The notebook after all its cells have run, without an error, a word on stderr or a request to anywhere."""
    fonts = {"MPLCONFIGDIR": matplotlib.get_configdir(), "EVALKIT_RESULTS": ""}
    with open_notebook(path, project, **fonts) as lab:
        lab.run_all()
        yield lab
        assert (lab.kernel_errors(), lab.dialogs, lab.outside) == ([], [], [])
        assert lab.page.locator(STDERR).all_inner_texts() == []
        assert "owned" not in lab.page.title()


def keep_picture(lab, name):
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        lab.page.evaluate("document.querySelectorAll('.jp-WindowedPanel-outer').forEach(one => one.scrollTop = 0)")
        lab.screenshot(Path(SHOTS) / f"{name}.png")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_top_to_bottom(path, tmp_path):
    project = copy_of_project(tmp_path)
    with opened(project / "notebooks" / path.name, project) as lab:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        charts = sum("".join(cell["source"]).count("ek.plot.") for cell in cells)
        assert lab.page.locator(".jp-RenderedImage img").count() == charts
        keep_picture(lab, path.stem)


@pytest.fixture
def failing(tmp_path):
    """A project whose only run, annotated by nobody, has failures of two tools with hostile texts."""
    project = copy_of_project(tmp_path)
    rows = [
        row(f"case-{number}", 1, number % 2 == 0, expected_tool=tool, input=f"Do {number} {HOSTILE}", reason=HOSTILE,
            tags='["even"]' if number % 2 == 0 else '["odd"]', actual_tool="none", answer=f"No {HOSTILE}")
        for number in range(8) for tool in [("read_file", "list_files")[number // 4]]
    ]  # fmt: skip
    dated = description("2026-11-30T10-00-00Z-m", dataset="office_assistant", system_prompt="Be kind.", planned=8)
    results = project / "results" / "sample"
    shutil.rmtree(results)
    save_run(results / f"{dated['run_id']}.parquet", dated, None, rows)
    return project


def test_failures_are_filtered_read_and_judged(failing):
    with opened(failing / "notebooks" / "04_read_failures.ipynb", failing) as lab:
        assert "1 of 4" in lab.text()
        assert f"Do 1 {HOSTILE}" in lab.text()
        assert "2 of 4" in lab.click("next")
        assert "1 of 4" in lab.click("previous")
        assert "1 of 2" in lab.choose("tool", "list_files")
        assert "case-5" in lab.text()
        assert "No trial passes these filters." in lab.choose("tag", "even")
        lab.choose("tag", "(all)")
        lab.choose("author", "ana")
        lab.choose("note", f"unclear {HOSTILE}")
        text = lab.click("I pass it")
        assert "Written to ana.jsonl." in text
        assert f"unclear {HOSTILE}" in text
        keep_picture(lab, "04_read_failures_judged")
    said = ek.load_annotations(results_dir=failing / "results" / "sample")
    assert said[["case_id", "author", "passed"]].values.tolist() == [["case-5", "ana", True]]
