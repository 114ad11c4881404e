"""What `evalkit review` writes: a page that needs nothing, the same charts and tables each time, nothing secret."""

import hashlib
import json
import re
import shutil

import nbformat
import pytest

from evalkit import cli, report_files, report_page
from evalkit.report_files import write_review
from report_histories import HISTORIES, cases, save, two_weeks

WEEK = "2026-W48"
SECRETS = {
    "OPENAI_API_KEY": "sk-test-PLACEHOLDER-0001",
    "MY_TOKEN": "tk-PLACEHOLDER-2",
    "EVALKIT_JUDGE_API_KEY": "jk-PLACEHOLDER-3",
}
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
LOADS = re.compile(
    r"<(?:script|link|iframe|object|embed|base|form)\b|\bsrc\s*=\s*(?![\"']?data:)|@import|url\(", re.IGNORECASE
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A review of two weeks, written by the command line in an environment with keys."""
    folder = tmp_path_factory.mktemp("results")
    two_weeks(folder)
    rows = cases(4, answer=f"The key is {SECRETS['OPENAI_API_KEY']}", reason="=HYPERLINK(1)")
    save(folder, "told", rows, model="leaky", label="=1+1")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SECRETS.items():
            patch.setenv(name, value)
        assert cli.main(["review", "--week", WEEK, "--results-dir", str(folder)]) == 0
    return folder / "reviews" / WEEK


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def complaints(notebook):
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return [out for out in outputs if out.output_type in ("error", "stream")]


def test_all_parts_of_a_review_are_there(written):
    names = set(files_of(written))
    assert {"review.html", "review.ipynb", "review.md", "manifest.json", "notes.md"} <= names
    charts = {name for name in names if name.startswith("charts/")}
    stems = {"accuracy_over_time", "time_and_cost", "accuracy-file-tools-lexical", "comparison-file-tools-lexical",
             "accuracy-file-tools-leaky"}  # fmt: skip
    assert charts == {f"charts/{stem}.{form}" for stem in stems for form in ("png", "svg")}
    assert {"tables/tools.csv", "tables/changes.csv", "tables/runs.csv"} <= names
    assert not [name for name in names if ".review-" in name or name.endswith(".part")]


def test_the_page_needs_neither_script_nor_network(written):
    page = (written / "review.html").read_text(encoding="utf-8")
    assert f'<meta content="{POLICY}" http-equiv="Content-Security-Policy"' in page.partition("<style>")[0]
    assert LOADS.findall(page) == []
    assert page.count("data:image/png;base64,") >= 4
    assert "<title>Review of 2026-W48</title>" in page
    assert "Worse" in page
    assert "You need:" not in page
    assert "HBox(" not in page


def test_the_executed_notebook_tells_nothing_of_the_machine(written):
    notebook = nbformat.read(written / "review.ipynb", as_version=4)
    assert dict(notebook.metadata.language_info) == {"name": "python"}
    assert "papermill" not in notebook.metadata
    assert [
        out for cell in notebook.cells for out in cell.get("outputs", []) if out.output_type in ("error", "stream")
    ] == []
    assert 'week = "2026-W48"' in "\n".join(cell.source for cell in notebook.cells)


def test_no_key_stands_in_anything_that_is_written(written):
    for name, path in files_of(written).items():
        for secret in SECRETS.values():
            assert secret.encode() not in path.read_bytes(), name


def test_cells_of_tables_are_no_formulas(written):
    table = (written / "tables" / "runs.csv").read_text(encoding="utf-8")
    assert "'=1+1" in table
    for path in (written / "tables").iterdir():
        assert not re.search(r"(?m)(^|,)=", path.read_text(encoding="utf-8"))


def test_markdown_carries_verdict_interval_and_charts(written):
    text = (written / "review.md").read_text(encoding="utf-8")
    assert text.startswith("# Review of 2026-W48\n\nISO week 2026-W48, Monday 23 November 2026")
    assert "Worse: the mean score fell from 1.000 to 0.400" in text
    assert "![comparison-file-tools-lexical](charts/comparison-file-tools-lexical.png)" in text
    for name in re.findall(r"\]\(([^)]+)\)", text):
        assert (written / name).is_file()


def test_the_manifest_names_inputs_versions_and_hashes(written):
    about = json.loads((written / "manifest.json").read_text(encoding="utf-8"))
    assert (about["review"], about["first_day"], about["last_day"], about["time_zone"]) == (
        WEEK, "2026-11-23", "2026-11-29", "UTC",
    )  # fmt: skip
    assert [run["run_id"] for run in about["runs"]] == ["after", "before", "told"]
    for run in about["runs"]:
        stored = written.parent.parent / run["file"]
        assert run["sha256"] == hashlib.sha256(stored.read_bytes()).hexdigest()
    assert {"this": "after", "with": "before", "verdict": "worse"}.items() <= about["compared"][1].items()
    assert {"python", "pandas", "matplotlib", "evalkit-notebooks"} <= set(about["versions"])
    for name, digest in about["files"].items():
        assert digest == hashlib.sha256((written / name).read_bytes()).hexdigest()


def test_a_second_review_gives_the_same_charts_and_tables_and_keeps_the_notes(written, tmp_path):
    folder = tmp_path / "results"
    shutil.copytree(written.parent.parent, folder)
    again = folder / "reviews" / WEEK
    (again / "notes.md").write_text("Ours.", encoding="utf-8")
    (again / "charts" / "of an earlier review.png").write_bytes(b"")
    assert write_review(WEEK, results_dir=folder) == again
    assert (again / "notes.md").read_text(encoding="utf-8") == "Ours."
    first, second = files_of(written), files_of(again)
    assert set(first) == set(second)
    for name in first:
        if name.startswith("charts/") or (name.startswith("tables/")):
            assert first[name].read_bytes() == second[name].read_bytes(), name
    assert "Ours." in second["review.html"].read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["none", "one run", "all errors", "60 tools", "500 runs"])
def test_a_review_of_any_history_is_written(name, tmp_path):
    HISTORIES[name](tmp_path)
    folder = write_review(WEEK, results_dir=tmp_path)
    page = (folder / "review.html").read_text(encoding="utf-8")
    assert LOADS.findall(page) == []
    assert len(page) < 10_000_000
    assert ("There is no complete run in ISO week 2026-W48" in page) == (name == "none")
    notebook = nbformat.read(folder / "review.ipynb", as_version=4)
    assert [
        out for cell in notebook.cells for out in cell.get("outputs", []) if out.output_type in ("error", "stream")
    ] == []


def test_a_pdf_without_a_browser_is_refused_before_anything_is_written(tmp_path, monkeypatch, capsys):
    two_weeks(tmp_path)
    monkeypatch.setattr(report_page, "_BROWSERS", ("no-such-browser",))
    assert cli.main(["review", "--pdf", "--results-dir", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "a PDF is printed by Chromium or Chrome, and neither is there. Install one" in said
    assert "review.html prints from any browser" in said
    assert not (tmp_path / "reviews").exists()


def test_a_notebook_that_fails_leaves_the_last_review_as_it_was(tmp_path, monkeypatch, capsys):
    two_weeks(tmp_path)
    old = tmp_path / "reviews" / WEEK / "review.html"
    old.parent.mkdir(parents=True)
    old.write_text("last week's")
    broken = tmp_path / "06_weekly_review.ipynb"
    cell = nbformat.v4.new_code_cell("results_dir = None", metadata={"tags": ["parameters"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell, nbformat.v4.new_code_cell("1 / 0")]), broken)
    monkeypatch.setattr(report_files, "find_notebook", lambda: broken)
    assert cli.main(["review", "--week", WEEK, "--results-dir", str(tmp_path)]) == 2
    assert "the notebook 06_weekly_review.ipynb failed: ZeroDivisionError: division by zero" in capsys.readouterr().err
    assert old.read_text() == "last week's"
    assert sorted(path.name for path in old.parent.iterdir()) == ["notes.md", "review.html"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--week", "2026-W60"), "2026 has the weeks W01 to W53, got '2026-W60'"),
        (("--since", "yesterday"), "since must be the first day of a review"),
        (("--dataset", "file_tool"), "Did you mean 'file_tools'?"),
        (("--baseline", "nothing"), "no run 'nothing'"),
    ],
)
def test_a_review_of_what_is_not_there_is_refused(words, message, tmp_path, capsys):
    two_weeks(tmp_path)
    assert cli.main(["review", *words, "--results-dir", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "reviews").exists()
