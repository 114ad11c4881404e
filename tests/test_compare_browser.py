"""The comparison widget in a real JupyterLab, and its static twin in a file without network."""

import json
import os
from pathlib import Path

import pytest

import evalkit as ek
from evalkit.store import save_run
from frames import description, row
from jupyterlab_browser import browser_page, open_notebook

pytestmark = pytest.mark.browser

PAYLOADS = (
    "<script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">", "</style><b>out</b>",
    "[x](javascript:alert(1)) **bold** $x^2$ and $y$", "\u202egnirts\u202c", "</script></div></table>",
    "<svg onload=alert(1)>", "&lt;not twice&gt;",
)  # fmt: skip
SHOTS = os.environ.get("EVALKIT_TEST_SCREENSHOTS")


def save(folder, run_id, passing, **about):
    rows = [
        row(
            f"case-{number} {PAYLOADS[number % len(PAYLOADS)]}", 1, passing(number), case_hash=f"{number:012x}",
            expected_tool=f"tool-{number % 3} <b>", actual_tool=f"tool-{number % 3} <b>" if passing(number) else "none",
            input=PAYLOADS[number % len(PAYLOADS)], answer=PAYLOADS[(number + 1) % len(PAYLOADS)],
            expected_arguments='{"path": "a.txt", "<i>": 1}', actual_arguments='{"path": "b.txt"}',
            mismatches='[{"path": "path", "kind": "value", "expected": "a.txt", "actual": "b.txt"}]',
            reason=PAYLOADS[(number + 2) % len(PAYLOADS)], tags='["<u>tag</u>", "every"]',
        )
        for number in range(40)
    ]  # fmt: skip
    save_run(folder / f"{run_id}.parquet", description(run_id, planned=40, **about), None, rows)


@pytest.fixture
def project(tmp_path):
    """A project with three runs: two that are alike, and one that is worse."""
    results = tmp_path / "results"
    (tmp_path / "eval_data").mkdir()
    for day, passing in ((1, lambda n: n % 5 > 0), (2, lambda n: n % 5 > 0), (3, lambda n: n % 5 > 0 and n % 2 > 0)):
        label = ["quiet", "same again", "<img src=x onerror=document.title='owned'>"][day - 1]
        began = f"2026-11-0{day}T10:00:00+00:00"
        save(results, f"2026-11-0{day}T10-00-00Z-m", passing, started_at=began, label=label)
    cells = ["import evalkit as ek", "chooser = ek.widgets.CompareRuns()\nchooser", "chooser.static()"]
    notebook = {
        "cells": [
            {"cell_type": "code", "id": f"cell-{place}", "metadata": {}, "outputs": [], "execution_count": None,
             "source": text}
            for place, text in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "nbformat": 4, "nbformat_minor": 5,
    }  # fmt: skip
    (tmp_path / "compare.ipynb").write_text(json.dumps(notebook))
    return tmp_path


def nothing_ran(lab):
    assert (lab.kernel_errors(), lab.dialogs, lab.outside) == ([], [], [])
    assert "owned" not in lab.page.title()
    assert lab.page.locator(".ek script, .ek img:not(.ek-chart), .ek svg, .ek a, .ek mjx-container").count() == 0


def test_two_runs_are_chosen_filtered_and_read_in_jupyterlab(project):
    with open_notebook(project / "compare.ipynb", project) as lab:
        lab.run_all()
        assert "Worse: the mean score fell from 0.800 to 0.400" in lab.text()
        assert "case-2 </style><b>out</b>" in lab.text()
        nothing_ran(lab)
        for theme in ("JupyterLab Dark", "JupyterLab Light") if SHOTS else ():
            lab.theme(theme)
            lab.screenshot(Path(SHOTS) / f"compare-{theme[11:].lower()}.png")
        text = lab.click("swap")
        assert "Better: the mean score rose" in text
        lab.choose("baseline", "2026-11-01")
        text = lab.choose("candidate", "2026-11-02")
        assert "No evidence of a difference: the mean score stayed at 0.800 over 40 shared cases" in text
        text = lab.choose("candidate", "2026-11-03")
        assert "Worse: the mean score fell from 0.800 to 0.400 over 40 shared cases" in text
        assert "all changes (16): 16 cases" in text
        lab.choose("cases", "all changes")
        assert "tool-1 <b>: " in lab.choose("tool", "tool-1")
        lab.choose("tool", "all tools")
        assert "“case-36”: 1 cases" in lab.choose("text", "case-36")
        lab.choose("text", "")
        text = lab.choose("case", "case-12")
        assert "case-12 \\u202egnirts\\u202c" in text
        lab.control("case").press("ArrowDown")
        lab.settle()
        nothing_ran(lab)


def test_a_cell_run_again_and_again_leaves_one_widget_and_no_figure(project):
    count = (
        "import ipywidgets, matplotlib.pyplot as plt\n"
        "print('alive', sum(type(w).__name__ == 'CompareRuns' for w in ipywidgets.widgets.widget._instances.values()),"
        " 'figures', len(plt.get_fignums()))"
    )
    notebook = json.loads((project / "compare.ipynb").read_text())
    notebook["cells"][2]["source"] = count
    (project / "compare.ipynb").write_text(json.dumps(notebook))
    with open_notebook(project / "compare.ipynb", project) as lab:
        for _ in range(3):
            lab.run_all()
        assert "alive 1 figures 0" in lab.text()
        nothing_ran(lab)


def test_an_exported_page_says_the_same_with_the_network_off(project, monkeypatch):
    monkeypatch.chdir(project)
    comparison = ek.compare("2026-11-01", "2026-11-03")
    file = project / "page.html"
    static = ek.widgets.CompareRuns("2026-11-01", "2026-11-03").static()
    file.write_text(f"<!doctype html><meta charset='utf-8'>{static}", encoding="utf-8")
    with browser_page(offline=True) as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        assert comparison.sentence.split(": ", 1)[1] in page.inner_text("body")
        assert page.title() != "owned"
        assert [url for url in asked if not url.startswith(("file:", "data:image/png"))] == []
        assert page.locator("img").evaluate_all("all => all.every(one => one.naturalWidth > 100)")
