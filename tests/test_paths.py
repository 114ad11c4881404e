"""Where datasets and results are, and which run ids may name a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit import paths


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("EVALKIT_RESULTS", raising=False)
    (tmp_path / "shop" / "eval_data").mkdir(parents=True)
    (tmp_path / "shop" / "notebooks" / "deep").mkdir(parents=True)
    return tmp_path / "shop"


def test_eval_data_is_found_from_a_subfolder(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "notebooks" / "deep")
    assert paths.eval_data_dir() == project / "eval_data"
    assert paths.results_dir() == project / "results"


def test_start_stands_in_for_the_working_folder(project: Path) -> None:
    assert paths.eval_data_dir(project / "notebooks") == project / "eval_data"
    assert paths.results_dir(start=project / "notebooks") == project / "results"


def test_the_nearest_project_counts(project: Path) -> None:
    inner = project / "notebooks" / "deep"
    (inner / "eval_data").mkdir()
    assert paths.project_dir(inner) == inner


def test_a_file_called_eval_data_makes_no_project(project: Path, tmp_path: Path) -> None:
    inner = project / "notebooks"
    (inner / "eval_data").write_text("not a folder")
    assert paths.eval_data_dir(inner) == project / "eval_data"


def test_a_pyproject_alone_is_a_project_for_results_but_has_no_datasets(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "src").mkdir()
    assert paths.results_dir(start=tmp_path / "src") == tmp_path / "results"
    with pytest.raises(FileNotFoundError, match=r"no eval_data/ in .*src or any folder above it"):
        paths.eval_data_dir(tmp_path / "src")


def test_no_project_says_so_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="or give the path of a dataset file"):
        paths.eval_data_dir(tmp_path)


def test_outside_a_project_results_go_to_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EVALKIT_RESULTS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert paths.results_dir() == tmp_path / "results"


def test_an_argument_goes_before_the_environment(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_RESULTS", str(tmp_path / "shared"))
    assert paths.results_dir(tmp_path / "mine", start=project) == tmp_path / "mine"
    assert paths.results_dir(start=project) == tmp_path / "shared"


def test_a_relative_variable_means_the_same_from_every_subfolder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVALKIT_RESULTS", "team")
    assert paths.results_dir(start=project) == paths.results_dir(start=project / "notebooks") == project / "team"


def test_a_relative_argument_is_found_in_the_project_from_a_subfolder(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "results" / "sample").mkdir(parents=True)
    monkeypatch.chdir(project / "notebooks")
    assert paths.results_dir("results/sample") == project / "results" / "sample"
    assert paths.results_dir("new/folder") == Path("new/folder")


def test_a_relative_argument_that_the_working_folder_holds_is_that_one(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "results").mkdir()
    (project / "notebooks" / "results").mkdir()
    monkeypatch.chdir(project / "notebooks")
    assert paths.results_dir("results").resolve() == project / "notebooks" / "results"


def test_a_blank_variable_is_no_variable(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_RESULTS", "  ")
    assert paths.results_dir(start=project) == project / "results"


def test_the_home_sign_is_understood(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.results_dir("~/runs") == tmp_path / "runs"


@pytest.mark.parametrize("folder", ["", "  ", "a\x00b"])
def test_a_folder_that_is_no_path_is_refused(folder: str) -> None:
    with pytest.raises(ValueError, match="must be a path"):
        paths.results_dir(folder)


@pytest.mark.parametrize("run_id", ["2026-11-09T14-03-11Z-gpt-4.1-mini", "a", "run 7", "naïve", "x" * 180])
def test_a_plain_name_is_a_run_id(run_id: str, tmp_path: Path) -> None:
    path = paths.run_path(tmp_path, run_id, ".parquet")
    assert path.parent == tmp_path
    path.write_text("")
    assert path.name == f"{run_id}.parquet"


@pytest.mark.parametrize(
    "run_id",
    [
        "",
        "  ",
        ".",
        "..",
        "../secret",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "C:x",
        "a\x00b",
        "a\nb",
        "a?b",
        "a*",
        ".hidden",
        "-rf",
        "ends.",
        "ends ",
        "NUL",
        "con.txt",
        "\ud83d",
        "x" * 181,
        "ü" * 91,
        7,
        None,
    ],
)
def test_a_run_id_that_leads_elsewhere_is_refused(run_id: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="run id"):
        paths.run_path(tmp_path, run_id, ".parquet")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("What files are in the current directory?", "what-files-are-in-the-current-directory"),
        ("Read the Cargo.toml file", "read-the-cargo.toml-file"),
        ("Wetter in Köln? 🌧", "wetter-in-koln"),
        ("天気", ""),
        ("../../etc/passwd", "etc-passwd"),
        ("a_b__c", "a-b-c"),
        ("one two three four five six seven eight nine", "one-two-three-four-five-six-seven-eight"),
        ("x" * 100, "x" * 40),
    ],
)
def test_a_slug_is_readable_and_short(text: str, slug: str) -> None:
    assert paths.slug(text) == slug


def test_a_file_that_cannot_be_written_whole_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "chart.png"
    paths.write_whole(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        paths.write_whole(path, b"new")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"chart.png": b"old"}
