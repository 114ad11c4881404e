"""Real processes and real files in bad circumstances. What must come of each is said in its docstring."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import warnings
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import evalkit as ek
from evalkit import journal, plans, reading, recording, resuming, runs
from evalkit.history import problems as problems_of
from evalkit.journal import read_records
from killing import journal_of, make_project, start
from loopback_replies import pick_by_words

CASES = 40


@pytest.fixture
def project(tmp_path):
    return make_project(tmp_path, CASES)


@pytest.fixture
def small_disk(project):
    """The results folder on a disk of its own, of 400 KB: a function that mounts it, so that options may be given."""
    folder = project / "results"
    folder.mkdir()
    mounted = []

    def mount(*options):
        command = ["mount", "-t", "tmpfs", "-o", ",".join(("size=400k", *options)), "tmpfs", str(folder)]
        if not shutil.which("mount") or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("needs leave to mount a file system")
        mounted.append(folder)
        return folder

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def journaled(project):
    """How many trials the journal holds; 0 without one."""
    path = journal_of(project)
    try:
        return len(read_records(path)) if path else 0
    except FileNotFoundError:
        return 0


def run_many(project, endpoint, *words):
    process = start(project, endpoint, *(words or ("run", "many", "--model", "mock-small")))
    _, errors = process.communicate()
    return process.returncode, errors


def after(endpoint, count, action):
    """Have `action` done when the endpoint gets its request of that number, before it answers."""
    numbers = itertools.count(1)

    def script(request):
        if next(numbers) == count:
            action()
        return pick_by_words(request)

    endpoint.script = script


def fill(folder, leave):
    """Write a file that leaves so many bytes of the disk."""
    state = os.statvfs(folder)
    (folder / "ballast").write_bytes(b"\0" * (state.f_bavail * state.f_frsize - leave))


@pytest.mark.slow
def test_a_results_folder_deleted_in_mid_run_is_made_anew_with_every_trial(endpoint, project):
    """The trials are in the deleted journal, which is still open: the file at the end holds them all."""
    after(endpoint, CASES // 2, lambda: shutil.rmtree(project / "results"))
    assert run_many(project, endpoint) == (0, "")
    results = ek.load_run("latest", results_dir=project / "results")
    assert (len(results), results["status"].iloc[0], results["passed"].all()) == (CASES, "complete", True)
    assert max(endpoint.asked.values()) == 1


def test_a_journal_deleted_in_mid_run_costs_nothing(endpoint, project):
    """The same where only the folder of journals is deleted."""
    after(endpoint, CASES // 2, lambda: shutil.rmtree(project / "results" / ".journal"))
    assert run_many(project, endpoint) == (0, "")
    assert len(ek.load_run("latest", results_dir=project / "results")) == CASES


def test_a_results_folder_that_became_a_file_costs_no_trial(endpoint, project, monkeypatch):
    """Nothing can be written there, and the journal is gone with the folder: exit code 3, and the run's whole file is
    where the message says.
    """
    monkeypatch.setenv("TMPDIR", str(project))

    def spoil():
        shutil.rmtree(project / "results")
        (project / "results").write_text("in the way")

    after(endpoint, CASES // 2, spoil)
    code, errors = run_many(project, endpoint)
    assert code == 3
    assert f"{CASES} trials finished, but the run's file could not be written" in errors
    assert "Traceback" not in errors
    (kept,) = project.glob("evalkit-*/*.parquet")
    assert f"so they are kept in {kept}. Move that file to {project / 'results'}" in errors
    assert len(ek.load_run(kept)) == CASES


def test_a_read_only_folder_is_refused_before_the_first_request(endpoint, project, small_disk):
    """Exit code 2, the folder by its name, nothing asked."""
    folder = small_disk("ro")
    code, errors = run_many(project, endpoint)
    assert code == 2
    assert f"results cannot be written to {folder}" in errors
    assert "Nothing was asked" in errors
    assert endpoint.asked == {}


@pytest.mark.slow
def test_a_run_in_a_folder_that_became_read_only_is_not_resumed(endpoint, project, small_disk):
    """Exit code 2 with a sentence; nothing is asked, and the run stays as it was."""
    folder = small_disk()
    assert run_many(project, endpoint, "run", "many", "--model", "mock-small", "--limit", "5")[0] == 0
    run_id = next(folder.glob("*.parquet")).stem
    asked = sum(endpoint.asked.values())
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    code, errors = run_many(project, endpoint, "resume", run_id, "--errors")
    assert (code, "Traceback" in errors) == (2, False), errors
    assert f"results cannot be written to {folder}" in errors
    assert sum(endpoint.asked.values()) == asked
    assert len(ek.load_run(run_id, results_dir=folder)) == 5


@pytest.mark.slow
def test_a_disk_that_is_full_when_the_file_is_written_keeps_the_journal(endpoint, project, small_disk):
    """Exit code 3 and how to go on; no scrap is left; with room again `resume` writes the file and asks nothing."""
    folder = small_disk()
    after(endpoint, CASES, lambda: fill(folder, 14_000))
    code, errors = run_many(project, endpoint)
    run_id = journal_of(project).stem
    assert code == 3, errors
    assert f"{CASES} trials finished, but the run's file could not be written" in errors
    assert f"evalkit resume {run_id}" in errors
    assert "Traceback" not in errors
    assert sorted(path.name for path in folder.iterdir()) == [".journal", "ballast"]
    assert journaled(project) == CASES
    (folder / "ballast").unlink()
    assert run_many(project, endpoint, "resume", run_id) == (0, "")
    assert len(ek.load_run(run_id, results_dir=folder)) == CASES
    assert max(endpoint.asked.values()) == 1
    assert journal_of(project) is None


@pytest.mark.slow
def test_a_disk_that_is_full_in_mid_run_keeps_what_was_finished(endpoint, project, small_disk):
    """Exit code 3; every trial in the journal counts; with room again `resume` asks the others only."""
    folder = small_disk()
    after(endpoint, CASES // 2, lambda: fill(folder, 4_096))
    code, errors = run_many(project, endpoint)
    assert code == 3, errors
    assert "Traceback" not in errors
    kept = read_records(journal_of(project))
    assert 0 < len(kept) < CASES
    (folder / "ballast").unlink()
    assert run_many(project, endpoint, "resume", journal_of(project).stem) == (0, "")
    assert len(ek.load_run("latest", results_dir=folder)) == CASES
    assert {endpoint.asked[f"list {int(case_id[1:])}"] for case_id, _ in kept} == {1}


def set_clock(monkeypatch, moments):
    """Have runs read the given moments off the clock, the last one for ever."""
    left = list(moments)

    def now():
        return left.pop(0) if len(left) > 1 else left[0]

    for module in (plans, recording):
        monkeypatch.setattr(module, "now", now)


NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def test_a_clock_set_back_in_mid_run_makes_no_time_negative(project, monkeypatch):
    """Latencies come from a clock that nobody sets; the run ends no earlier than it began."""
    set_clock(monkeypatch, [NOON, NOON - timedelta(hours=1)])
    dataset = ek.load_dataset(project / "eval_data" / "many.jsonl")
    results = ek.run(dataset, model="lexical", results_dir=project / "results")
    assert (results["latency_s"] >= 0).all()
    assert set(results["started_at"]) == {NOON}
    described = recording.store.read_footer(next((project / "results").glob("*.parquet")))
    assert described["finished_at"] >= described["started_at"]


def test_a_clock_set_back_between_runs_gives_each_an_id_of_its_own(project, monkeypatch):
    """A run at a second that there was already gets another id; `latest` is the one that started last by the clock."""
    dataset = ek.load_dataset(project / "eval_data" / "many.jsonl")
    ids = []
    for moment in (NOON, NOON + timedelta(hours=1), NOON, NOON - timedelta(hours=1), NOON):
        set_clock(monkeypatch, [moment])
        ids.append(ek.run(dataset, model="lexical", results_dir=project / "results")["run_id"].iloc[0])
    names = ["2026-11-30T12-00-00Z-lexical", "2026-11-30T13-00-00Z-lexical", "2026-11-30T12-00-00Z-lexical-2"]
    assert ids == [*names, "2026-11-30T11-00-00Z-lexical", "2026-11-30T12-00-00Z-lexical-3"]
    listed = ek.list_runs(results_dir=project / "results")
    assert listed["run_id"].tolist() == [ids[1], ids[4], ids[2], ids[0], ids[3]]
    assert set(ek.load_run("latest", results_dir=project / "results")["run_id"]) == {ids[1]}
    assert len(ek.load_history(results_dir=project / "results")) == 5 * CASES


MANY = """
import os, sys
import evalkit as ek
import pandas, pyarrow.parquet  # once, for all of the processes below
from evalkit import runner, store
from evalkit import plans
dataset, folder = ek.load_dataset(sys.argv[1]), sys.argv[2]
plans.git_commit = lambda: None
children = []
for _ in range(int(sys.argv[3])):
    child = os.fork()
    if child:
        children.append(child)
        continue
    try:
        least, done = int(sys.argv[4]), 0
        while done < least or not os.path.exists(sys.argv[5]):
            done += 1
            ek.run(dataset, model="lexical", results_dir=folder, progress=False)
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@contextmanager
def run_at_once(project, processes, runs, enough=Path(__file__)):
    """The processes, until they have all ended; then none may have failed. They go on until the file `enough` is
    there, by default without waiting for it.
    """
    words = [project / "eval_data" / "many.jsonl", project / "results", processes, runs, enough]
    command = [sys.executable, "-c", MANY, *map(str, words)]
    with subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True) as writing:
        yield writing
        _, errors = writing.communicate()
    assert (writing.returncode, errors) == (0, "")


@pytest.mark.slow
def test_twenty_processes_of_ten_runs_in_one_folder_make_two_hundred_whole_runs(project):
    """Each run has its own id and a whole file. Whoever lists them meanwhile gets no error and no warning, sees each
    run from the moment that it began, and never loses sight of one.
    """
    make_small(project)
    looks, seen = 0, set()
    with run_at_once(project, 20, 10) as writing, warnings.catch_warnings():
        warnings.simplefilter("error")
        while writing.poll() is None:
            listed = ek.list_runs(results_dir=project / "results")
            assert seen <= set(listed["run_id"]), "a run was there, and is gone"
            seen |= set(listed["run_id"])
            looks += 1
    assert looks > 0
    listed = ek.list_runs(results_dir=project / "results")
    assert (len(listed), listed["run_id"].nunique(), listed["partial"].any()) == (200, 200, False)
    assert sorted(path.stem for path in (project / "results").glob("*.parquet")) == sorted(listed["run_id"])
    assert ek.load_history(results_dir=project / "results").groupby("run_id").size().eq(SMALL).all()
    assert [path.name for path in (project / "results" / ".journal").iterdir()] == []
    assert [path.name for path in (project / "results").iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.slow
def test_a_reader_during_writes_sees_whole_files_only(project):
    """Every history that is loaded meanwhile holds whole runs, and of unfinished ones what is finished."""
    make_small(project)
    rows, enough = [], project / "enough"
    with run_at_once(project, 4, 1, enough) as writing, warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            while writing.poll() is None and len(set(rows)) < 6:
                history = ek.load_history(results_dir=project / "results")
                whole = history[history["status"] == "complete"].groupby("run_id").size()
                assert whole.eq(SMALL).all()
                assert not history.duplicated(["run_id", "case_id", "trial"]).any()
                rows.append(len(whole))
        finally:
            enough.touch()
    assert rows == sorted(rows)
    assert len(set(rows)) == 6


@pytest.mark.parametrize("moment", ["read_head", "read_records"])
@pytest.mark.parametrize("look", [ek.list_runs, ek.load_history])
def test_a_run_that_ends_while_it_is_looked_at_is_there(project, monkeypatch, moment, look):
    """Its journal was listed, and is gone when it is opened: the run's file is read in its place."""
    folder = begun(project)
    read = getattr(journal, moment)

    def end_first(path):
        monkeypatch.setattr(journal, moment, read)
        recording_of(folder).drive(progress=False)
        return read(path)

    monkeypatch.setattr(journal, moment, end_first)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = look(results_dir=folder)
    assert set(found["status"]) == {"complete"}
    assert (found["trials"].sum() if "trials" in found and look is ek.list_runs else len(found)) == CASES


def test_a_run_that_ends_between_listing_and_reading_is_read_whole(project):
    """A history of a run that was unfinished when it was chosen."""
    folder = begun(project)
    chosen = runs.stored_runs(folder)
    recording_of(folder).drive(progress=False)
    problems = []
    (frame,) = reading.frames_of([replace(run, description=counted(run)) for run in chosen], None, problems)
    assert (problems, len(frame), set(frame["status"])) == ([], CASES, {"complete"})
    assert chosen[0].dataset()["name"] == "many"
    assert len(reading.one_run(chosen[0])) == CASES


def test_a_run_that_has_just_begun_is_nothing_odd(project):
    """No warning, and no advice to delete it."""
    folder = begun(project)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ek.list_runs(results_dir=folder)["partial"].tolist() == [True]
        assert len(ek.load_history(results_dir=folder)) == 0
    assert len(problems_of(results_dir=folder)) == 0


def test_a_journal_is_seen_with_its_first_line_or_not_at_all(project, monkeypatch):
    """Whoever looks at the folder in that moment finds no torn file."""
    seen = []
    write = journal.Journal._write

    def look(self, value):
        seen.append(list((project / "results" / ".journal").glob("*.jsonl")))
        write(self, value)

    monkeypatch.setattr(journal.Journal, "_write", look)
    folder = begun(project)
    assert seen == [[]]
    assert len(list((folder / ".journal").iterdir())) == 1


def begun(project):
    """The results folder with a run that has begun: its journal is there and let go of."""
    plan = plans.make_plan(ek.load_dataset(project / "eval_data" / "many.jsonl"), model="lexical")
    recording.start_recording(plan, results_dir=project / "results").sink.close()
    return project / "results"


def recording_of(folder):
    return resuming.reopen("latest", results_dir=folder)


def counted(run):
    """The run's description as if one trial had been there when it was looked at, so that its rows are asked for."""
    return run.description | {"counts": run.description["counts"] | {"trials": 1}}


SMALL = 3


def make_small(project: Path) -> None:
    lines = [json.dumps({"id": f"c{n}", "input": f"list {n}", "expected_tool": "list_files"}) for n in range(SMALL)]
    (project / "eval_data" / "many.jsonl").write_text("\n".join(lines))
