"""The hostile project in a real browser: every notebook in JupyterLab, and every page and picture that is exported.

No script runs, no dialog opens, nothing is asked of anybody, and no element is of data's making.
"""

import json
import re

import matplotlib
import mistune
import nbformat
import pytest
from nbconvert import HTMLExporter, MarkdownExporter

import evalkit as ek
from evalkit.report_files import write_review
from hostile import WEEK, Canary, hostile_project, payloads
from jupyterlab_browser import browser_page, open_lab
from notebook_running import NOTEBOOKS

pytestmark = pytest.mark.browser

OURS = "[data-mime-type='text/html'], .jp-OutputArea-output .jupyter-widgets"
# What no view of ours has, and what data would make if it were markup; pictures of ours are within the page.
MADE = """() => [...document.querySelectorAll(`.jp-OutputArea script, .jp-OutputArea iframe, .jp-OutputArea object,
    .jp-OutputArea embed, .jp-OutputArea form, .jp-OutputArea mjx-container, .jp-OutputArea [onerror], [ontoggle],
    .jp-OutputArea [onmouseover], [onfocus], .jp-OutputArea a[href^='javascript'], .jp-OutputArea img`)]
  .filter(one => !(one.tagName === 'IMG' && one.src.startsWith('data:image/png')))
  .map(one => one.outerHTML.slice(0, 120))"""
PAGE = MADE.replace(".jp-OutputArea ", "main ")


@pytest.fixture
def canary(tmp_path):
    with Canary(tmp_path) as found:
        yield found
        assert found.untouched()


@pytest.fixture
def texts(canary):
    """The payloads that are meant for a browser, and a few of the others."""
    every = payloads(canary)
    return [*every[:9], every[17], every[-1]]


def ran(page):
    return [page.evaluate("() => window.owned"), "owned" in page.title()] != [None, False]


def test_nothing_runs_in_any_notebook(tmp_path, canary, texts):
    project = hostile_project(tmp_path, texts)
    executed = {}
    environment = {"MPLCONFIGDIR": matplotlib.get_configdir(), "EVALKIT_RESULTS": "", "OPENAI_API_KEY": ""}
    with open_lab(project, **environment) as lab:
        asked = []
        lab.page.on("request", lambda request: asked.append(request.url))
        for path in NOTEBOOKS:
            lab.open(project / "notebooks" / path.name)
            lab.run_all()
            if path.stem == "03_compare_runs":
                lab.choose("cases", "all changes")
                lab.choose("text", texts[1])
            if path.stem == "04_read_failures":
                for _ in range(3):
                    lab.click("next")
                lab.choose("note", texts[1])
            assert (lab.kernel_errors(), lab.dialogs, lab.outside) == ([], [], []), path.stem
            assert lab.page.evaluate(MADE) == [], path.stem
            assert not ran(lab.page), path.stem
            assert texts[0][:20] in lab.text()
            executed[path.stem] = lab.document()
            lab.end_kernels()
        origin = re.match(r"http://[^/?]+", lab.page.url)[0]
        assert [url for url in asked if not url.startswith((origin, "data:", "blob:"))] == []
    assert canary.visits() == 0
    assert canary.secret not in json.dumps(executed)
    _exported_notebooks_are_harmless(tmp_path, executed, texts)


def _exported_notebooks_are_harmless(folder, executed, texts):
    """The executed notebooks as Jupyter itself exports them, the network refused."""
    with browser_page(offline=True) as page:
        asked, dialogs = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        for name, document in executed.items():
            node = nbformat.from_dict(document)
            file = folder / f"{name}.html"
            file.write_text(HTMLExporter().from_notebook_node(node)[0], encoding="utf-8")
            page.goto(file.as_uri())
            page.wait_for_timeout(200)
            assert not ran(page), name
            assert page.evaluate(MADE) == [], name
            markdown = mistune.html(MarkdownExporter().from_notebook_node(node)[0])
            file.write_text(f"<!doctype html><meta charset='utf-8'><main>{markdown}</main>", encoding="utf-8")
            page.goto(file.as_uri())
            assert not ran(page), name
            assert [made for made in page.evaluate(PAGE) if f'src="{name}' not in made and "output_" not in made] == []
        assert dialogs == []
        assert [url for url in asked if "canary" in url or "example.com" in url] == []


def test_nothing_runs_in_what_a_review_writes(tmp_path, canary, texts, monkeypatch):
    project = hostile_project(tmp_path, texts)
    monkeypatch.chdir(project)
    results = project / "results" / "sample"
    folder = write_review(WEEK, results_dir=results, pdf=True)
    comparison = ek.compare("latest~1", "latest", results_dir=results)
    static = ek.widgets.CompareRuns(comparison.baseline, comparison.candidate, results_dir=results).static()
    pages = {
        "static.html": static, "comparison.html": comparison._repr_html_(),
        "case.html": comparison.case(comparison.cases["case_id"].iloc[0])._repr_html_(),
        "table.html": ek.export_table(comparison.cases, "t", formats="html", folder=folder)[0].read_text("utf-8"),
    }  # fmt: skip
    for name, html in pages.items():
        (folder / name).write_text(f"<!doctype html><meta charset='utf-8'><main>{html}</main>", encoding="utf-8")
    with browser_page() as page:
        asked, dialogs = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        for file in [folder / "review.html", *(folder / name for name in pages), *(folder / "charts").glob("*.svg")]:
            page.goto(file.as_uri())
            page.evaluate("() => document.querySelectorAll('details').forEach(one => one.open = true)")
            page.wait_for_timeout(100)
            assert not ran(page), file.name
            assert page.evaluate(PAGE) == [], file.name
        assert dialogs == []
        assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert canary.visits() == 0
