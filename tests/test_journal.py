import os
import subprocess
import sys

import pytest

from evalkit import SettingsError
from evalkit.journal import Journal, JournalError, read_head, read_records
from frames import row

ORDER = {"c1": 0, "c2": 1, "c3": 2}


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".journal" / "r1.jsonl"


def _written(path, *records):
    journal = Journal.create(path, {"run_id": "r1"}, {"cases": []})
    for record in records:
        journal.append(record)
    return journal


def test_what_was_appended_is_read_back_exactly(path):
    records = [row("c2", answer="a\x00b \\ud83d 🌧", score=0.1 + 0.2), row("c1", passed=None)]
    _written(path, *records).close()
    assert read_records(path) == {(r["case_id"], r["trial"]): r for r in records}
    assert read_head(path) == ({"run_id": "r1"}, {"cases": []})


def test_rows_come_in_the_datasets_order_and_by_trial(path):
    with _written(path, row("c2", 2), row("c1", 1), row("c2", 1)) as journal:
        assert [(r["case_id"], r["trial"]) for r in journal.rows(ORDER)] == [("c1", 1), ("c2", 1), ("c2", 2)]
        journal.append(row("c3"))
        assert len(list(journal.rows(ORDER))) == 4


def test_of_two_lines_for_one_trial_the_later_counts(path):
    with _written(path, row("c1", passed=None), row("c1", passed=True)) as journal:
        assert [r["passed"] for r in journal.rows(ORDER)] == [True]


@pytest.mark.parametrize("has_links", [True, False])
def test_of_two_processes_that_reopen_a_stored_run_one_gets_it(path, monkeypatch, has_links):
    if not has_links:
        monkeypatch.setattr(os, "link", _no_links)
    with Journal.copied(path, {"run_id": "r1"}, {"cases": []}, [row("c1")]) as first:
        with pytest.raises(SettingsError, match="the run 'r1' is being written by another process"):
            Journal.copied(path, {"run_id": "r1"}, {"cases": []}, [row("c1")])
        first.append(row("c2"))
    assert set(read_records(path)) == {("c1", 1), ("c2", 1)}
    assert [one.name for one in path.parent.iterdir()] == ["r1.jsonl"]


def _no_links(source, target):
    raise OSError("this file system has no links")


@pytest.mark.parametrize("cut", [1, 2, 10, 200])
def test_a_torn_last_line_is_lost_and_nothing_else(path, cut):
    _written(path, row("c1"), row("c2")).close()
    path.write_bytes(path.read_bytes()[:-cut])
    assert set(read_records(path)) == {("c1", 1)}
    with Journal.reopen(path) as journal:
        journal.append(row("c2", answer="asked again"))
        assert [r["answer"] for r in journal.rows(ORDER)] == [None, "asked again"]


def test_garbage_in_the_middle_costs_that_line_only(path):
    _written(path, row("c1")).close()
    with open(path, "ab") as file:
        file.write(b'\x00\x00\xff not json\n[1]\n{"case_id": "c9"}\n')
    with Journal.reopen(path) as journal:
        journal.append(row("c2"))
    assert set(read_records(path)) == {("c1", 1), ("c2", 1)}


def test_rows_are_there_even_when_the_folder_was_deleted(path):
    with _written(path, row("c1")) as journal:
        path.unlink()
        journal.append(row("c2"))
        assert [r["case_id"] for r in journal.rows(ORDER)] == ["c1", "c2"]


def test_creating_a_journal_that_exists_is_refused(path):
    _written(path).close()
    with pytest.raises(FileExistsError):
        Journal.create(path, {}, {})


@pytest.mark.parametrize(
    "content", [b"", b'{"evalkit_journal": 1, "desc', b"hello\n", b"[]\n", b'{"evalkit_journal": 99}\n']
)
def test_a_first_line_that_is_none_is_refused_by_name(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"r1\.jsonl does not begin as a journal"):
        read_head(path)


@pytest.mark.skipif(os.name != "posix", reason="file locks of POSIX")
def test_a_journal_that_another_process_writes_is_refused(path):
    code = (
        "import sys, time; from pathlib import Path; from evalkit.journal import Journal\n"
        "j = Journal.create(Path(sys.argv[1]), {'run_id': 'r1'}, {}); print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(SettingsError, match="'r1' is being written by another process"):
            Journal.reopen(path)
        other.stdin.close()
    Journal.reopen(path).close()


def test_a_copy_stands_whole_or_not_at_all(path):
    def records():
        yield row("c1")
        raise OSError(28, "No space left on device")

    path.parent.mkdir()
    with pytest.raises(OSError, match="No space"):
        Journal.copied(path, {"run_id": "r1"}, {}, records())
    assert os.listdir(path.parent) == []
    Journal.copied(path, {"run_id": "r1"}, {}, [row("c1"), row("c2")]).close()
    assert os.listdir(path.parent) == ["r1.jsonl"]
    assert set(read_records(path)) == {("c1", 1), ("c2", 1)}
