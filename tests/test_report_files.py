"""What `evalkit review` writes: a page that needs nothing, the same charts and tables each time, nothing secret."""

import hashlib
import json
import re
import shutil
from datetime import timedelta
from pathlib import Path

import nbformat
import pytest

from evalkit import SchemaError, SettingsError, cli, report_files, report_page
from evalkit.report import Review
from evalkit.report_files import write_review
from evalkit.runs import HistoryWarning
from report_histories import HISTORIES, MONDAY, cases, save, two_weeks

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


def held_names(folder):
    return set(files_of(folder / "reviews" / WEEK))


def broken(path, value):
    raise OSError("no room on the disk")


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
@pytest.mark.parametrize("name", ["one run", "all errors", "60 tools", "500 runs"])
def test_a_review_of_any_history_is_written(name, tmp_path):
    HISTORIES[name](tmp_path)
    folder = write_review(WEEK, results_dir=tmp_path)
    page = (folder / "review.html").read_text(encoding="utf-8")
    assert LOADS.findall(page) == []
    assert len(page) < 10_000_000
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


def own_notebook(folder, monkeypatch, change):
    """The project's notebook as far as its headlines, changed by its user."""
    notebook = nbformat.read(Path(__file__).parents[1] / "notebooks" / "06_weekly_review.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"][:3]
    notebook.cells = change(*cells)
    nbformat.write(notebook, folder / "06_weekly_review.ipynb")
    monkeypatch.setattr(report_files, "find_notebook", lambda: folder / "06_weekly_review.ipynb")


def last_review(folder):
    """A review that is there, with somebody's own files, and what the folder holds."""
    place = folder / "reviews" / WEEK
    (place / "charts").mkdir(parents=True)
    for name in ("review.html", "manifest.json", "charts/old.png", "ours.txt", "notes.md"):
        (place / name).write_text(f"the old {name}", encoding="utf-8")
    return lambda: {name: path.read_bytes() for name, path in files_of(folder / "reviews").items()}


def code(text, *tags):
    return nbformat.v4.new_code_cell(text, metadata={"tags": list(tags)})


def untagged(cell):
    return code(cell.source)


MISSING = "06_weekly_review.ipynb has no cells with the tag `parameters`"
WANTED = "06_weekly_review.ipynb shows 2026-W49 where 2026-W48 was asked for"
IGNORING = "review = ek.report.Review(results_dir=results_dir)\nreview.headlines"
CHANGES = {
    "no tag": (lambda told, load, shown: [untagged(told), load, shown], MISSING),
    "no cell": (lambda told, load, shown: [load, shown], MISSING),
    "two": (lambda told, load, shown: [told, code(told.source, "parameters"), load, shown], "has 2 cells with the tag"),
    "prose": (lambda told, load, shown: [
        nbformat.v4.new_markdown_cell("Parameters", metadata={"tags": ["parameters"]}), untagged(told), load, shown,
    ], "has 1 cell with the tag `parameters`, and it takes one cell of code"),
    "set again": (lambda told, load, shown: [told, load, code("week = None"), shown], WANTED),
    "ignored": (lambda told, load, shown: [told, load, code(IGNORING)], WANTED),
    "moved": (lambda told, load, shown: [untagged(told), load, shown, code("week = None", "parameters")], " shows "),
    "two weeks": (lambda told, load, shown: [told, load, shown, code(IGNORING)], WANTED),
    "no review": (lambda told, load, shown: [told, load, code("ek.columns()")], "shows no part of an ek.report.Review"),
    "left early": (lambda told, load, shown: [told, load, shown, code("raise SystemExit(0)")], "stopped before"),
    "other runs": (lambda told, load, shown: [
        told, load, code("ek.report.Review(week, dataset='support', results_dir=results_dir).headlines"),
    ], "shows other runs of 2026-W48 than were asked for"),
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    ["{", "[]", "5", '{"cells": 5, "metadata": {}, "nbformat": 4}', '{"cells": [{}], "nbformat": 4}', "", "null"],
)
def test_what_is_no_notebook_is_refused(text, tmp_path):
    notebook = tmp_path / "06_weekly_review.ipynb"
    notebook.write_text(text)
    with pytest.raises(SettingsError, match=r"06_weekly_review.ipynb (cannot be read as a notebook|has no cells)"):
        report_page.refuse_without_parameters(notebook)


@pytest.mark.parametrize("name", CHANGES)
def test_a_page_of_another_week_never_takes_the_place_of_a_review(name, tmp_path, monkeypatch, capsys):
    change, message = CHANGES[name]
    two_weeks(tmp_path)
    save(tmp_path, "other", cases(9), dataset="support")
    save(tmp_path, "later", cases(9), at=MONDAY + timedelta(days=7))
    own_notebook(tmp_path, monkeypatch, change)
    held = last_review(tmp_path)
    before = held()
    assert cli.main(["review", "--week", WEEK, "--results-dir", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert held() == before


def test_a_review_takes_the_place_of_the_last_one_whole_and_keeps_what_else_is_there(tmp_path, monkeypatch):
    two_weeks(tmp_path)
    own_notebook(tmp_path, monkeypatch, lambda told, load, shown: [told, load, shown])
    held = last_review(tmp_path)
    write_review(WEEK, results_dir=tmp_path)
    after = held_names(tmp_path)
    assert after & {"charts/old.png", "ours.txt", "notes.md", "review.md"} == {"ours.txt", "notes.md", "review.md"}
    assert (tmp_path / "reviews" / WEEK).stat().st_mode & 0o077 == tmp_path.joinpath("reviews").stat().st_mode & 0o077
    monkeypatch.setattr(report_files, "_write_json", broken)
    before = held()
    with pytest.raises(OSError, match="disk"):
        write_review(WEEK, results_dir=tmp_path)
    assert held() == before


def test_a_review_that_a_kill_left_aside_is_put_back(tmp_path):
    target, old = tmp_path / WEEK, report_files._replaced(tmp_path / WEEK)
    old.mkdir()
    (old / "notes.md").write_text("Ours.", encoding="utf-8")
    (old / "review.html").write_text("old", encoding="utf-8")
    report_files._take_over(old, target)
    assert {path.name for path in target.iterdir()} == {"notes.md", "review.html"}
    target.rename(old)
    target.mkdir()
    (target / "review.html").write_text("new", encoding="utf-8")
    report_files._take_over(old, target)
    assert {path.name: path.read_text() for path in target.iterdir()} == {"notes.md": "Ours.", "review.html": "new"}
    assert not old.exists()


def spoil_rows(path):
    content = bytearray(path.read_bytes())
    content[10:1500] = bytes(1490)
    path.write_bytes(content)


NOT_OLDER = "Z-lexical.parquet cannot be read, and no older run is shown in its place. Restore it"


def no_file(folder, name, content=b""):
    (folder / f"{name}.parquet").write_bytes(content)


def newest_spoilt(folder):
    save(folder, "earlier that week", cases(9), at=MONDAY - timedelta(hours=9))
    spoil_rows(folder / "after.parquet")


@pytest.mark.parametrize(
    ("spoil", "words", "message"),
    [
        (
            lambda folder: spoil_rows(folder / "after.parquet"),
            (),
            "the rows of run 'after' cannot be read, and no older",
        ),
        (
            lambda folder: spoil_rows(folder / "before.parquet"),
            ("--baseline", "before"),
            "the rows of run 'before' cannot",
        ),
        (newest_spoilt, (), "the rows of run 'after' cannot be read, and no older run is shown in its place"),
        (lambda folder: no_file(folder, "2026-11-24T10-00-00Z-lexical"), (), NOT_OLDER),
        (
            lambda folder: no_file(folder, "2026-11-24T10-00-00Z-lexical", b"PAR1" * 9),
            ("--dataset", "file_tools"),
            NOT_OLDER,
        ),
        (lambda folder: (folder / "after.parquet").unlink(), (), "There is no complete run in ISO week 2026-W48"),
    ],
)
def test_a_week_that_cannot_be_shown_leaves_the_last_review_as_it_was(spoil, words, message, tmp_path, capsys):
    two_weeks(tmp_path)
    spoil(tmp_path)
    held = last_review(tmp_path)
    before = held()
    assert cli.main(["review", "--week", WEEK, *words, "--results-dir", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
    assert held() == before


@pytest.mark.parametrize(
    ("name", "week", "refused"),
    [
        ("2026-11-30T10-00-00Z-lexical", None, True),  # of the week that is then the newest
        ("2026-11-24T10-00-00Z-lexical-2", None, True),
        ("2026-11-30T10-00-00Z-lexical", WEEK, False),
        ("2026-11-24T10-00-00Z-another-model", WEEK, False),
        ("2026-11-23T08-00-00Z-lexical", None, False),  # older than what is shown
        ("2084-05-22T10-00-00Z-lexical", None, False),
        ("broken", None, False),
    ],
)
@pytest.mark.filterwarnings("ignore::evalkit.runs.HistoryWarning")
def test_what_cannot_be_read_hinders_a_review_only_where_it_may_be_newer(name, week, refused, tmp_path):
    two_weeks(tmp_path)
    no_file(tmp_path, name)
    if refused:
        with pytest.raises(SchemaError, match=f"{name}.parquet cannot be read, and no older run is shown"):
            Review(week, results_dir=tmp_path)
    else:
        assert Review(week, results_dir=tmp_path).week.pairs[0].candidate.run_id == "after"


def test_files_that_are_left_out_are_named_to_whoever_asks_for_the_review(tmp_path):
    two_weeks(tmp_path)
    (tmp_path / "after.parquet").write_bytes(b"PAR1")
    save(tmp_path, "wrong clock", cases(3), at=MONDAY + timedelta(weeks=3000))
    with (
        pytest.warns(
            HistoryWarning, match=r"after.parquet is not a whole .* 'wrong clock' is dated 2084-05-22, in the"
        ),
        pytest.raises(SettingsError, match="There is no complete run in ISO week 2026-W48"),
    ):
        write_review(WEEK, results_dir=tmp_path)
    assert not (tmp_path / "reviews").exists()


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
