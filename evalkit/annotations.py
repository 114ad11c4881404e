"""What people say of single answers: one line per judgement in `annotations/<author>.jsonl`, meant to be committed.

An annotation is of what was said, not of a place: it holds for any trial whose case has the same content and whose
answer (or tool call) is the same, and for no other.
"""

from __future__ import annotations

import getpass
import json
import os
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .jsontext import fingerprint, write
from .masking import printable
from .nearmiss import did_you_mean
from .paths import check_run_id, leads_out
from .paths import results_dir as find_results_dir
from .reading import frames_of
from .records import clean_text
from .runs import HistoryWarning, Problem, find_run
from .schema import TIME, conform, needs_frame

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "annotations"
FORMAT = 2  # 1: without `reviewer`
AUTHOR_VARIABLE = "EVALKIT_AUTHOR"
_SAID = ("kind", "answer", "tool_calls")
_TEXT = ("run_id", "case_id", "author", "note", "case_hash", "said", "annotated_run", "reviewer")
COLUMNS = (
    "run_id",
    "case_id",
    "trial",
    "author",
    "passed",
    "note",
    "annotated_at",
    "annotated_run",
    "case_hash",
    "said",
    "reviewer",
)


def annotate(
    run_id: str,
    case_id: str,
    trial: int = 1,
    *,
    passed: bool | None = None,
    note: str | None = None,
    author: str | None = None,
    reviewer: str | None = None,
    results_dir: str | Path | None = None,
) -> Path:
    """Write down what a person thinks of one answer; returns the author's file.

    `passed` is their verdict, `note` their words; one of them may be left out. `author` defaults to EVALKIT_AUTHOR,
    else to the name of the account. The verdict is on the whole answer, or with `reviewer` on what that reviewer was
    asked (`tone`; `tone (2)` for the second of two). A later annotation of the same trial and reviewer by the same
    author takes the place of the earlier one. Several processes may write at once.

    Raises SettingsError for an unknown run, ValueError for an unknown case, trial or reviewer, an author whose name is
    no legal file name, or where nothing is said.
    """
    if passed is not None and type(passed).__name__ not in ("bool", "bool_"):  # numpy's own is one too
        raise ValueError(f"passed must be True, False or None, got {passed!r}")
    if note is not None and not isinstance(note, str):
        raise ValueError(f"note must be text or None, got {note!r:.80}")
    if passed is None and not (note or "").strip():
        raise ValueError("an annotation says something: give passed=True or passed=False, or a note")
    name = _author(author)
    folder = find_results_dir(results_dir)
    row = _annotated_row(run_id, case_id, trial, folder)
    asked = reviewers_of(row["reviews"])
    if reviewer is not None and reviewer not in asked:
        hint = did_you_mean(str(reviewer), asked)
        known = f"Its reviewers: {', '.join(asked)}." if asked else "It has none: leave `reviewer` out."
        raise ValueError(f"no reviewer {reviewer!r} reviewed this answer.{hint} {known}")
    line = {
        "annotation": 1 if reviewer is None else FORMAT,  # older versions would take it for one of the whole answer
        "run_id": row["run_id"],
        "case_id": case_id,
        "trial": int(trial),
        "passed": None if passed is None else bool(passed),
        "note": None if note is None else clean_text(note),
        "author": name,
        "annotated_at": datetime.now(UTC).isoformat(),
        "case_hash": row["case_hash"],
        "said": _said(row),
        **({} if reviewer is None else {"reviewer": reviewer}),
    }
    path = folder / FOLDER / f"{name}.jsonl"
    if leads_out(path, folder):
        raise ValueError(f"{FOLDER}/{path.name} leads out of {folder.name}/ by a link: nothing is written there")
    _append(path, write(line))
    return path


def load_annotations(results: pd.DataFrame | None = None, *, results_dir: str | Path | None = None) -> pd.DataFrame:
    """What people said: one row per trial, author and reviewer, each author's last word.

    Columns: `run_id`, `case_id`, `trial`, `author`, `passed`, `note`, `annotated_at`, `annotated_run`, `case_hash`,
    `said` (a fingerprint of the answer) and `reviewer` (whose question it answers; NA: the whole answer). With
    `results`, what holds for their trials: an annotation is carried to another run where the case has the same content
    and the answer (or tool call) is the same; `annotated_run` says where it was made.

    Lines that cannot be read are left out with a HistoryWarning.
    """
    import pandas as pd

    unreadable: dict[str, Problem] = {}
    lines = list(_read(find_results_dir(results_dir) / FOLDER, unreadable))
    if unreadable:
        listed = ", ".join(list(unreadable)[:5]) + (" …" if len(unreadable) > 5 else "")
        text = f"{len(unreadable)} lines of annotations cannot be read and are left out: {listed}"
        warnings.warn(printable(text), HistoryWarning, stacklevel=2)
    frame = pd.DataFrame(lines, columns=list(COLUMNS))
    frame["annotated_at"] = pd.to_datetime(frame["annotated_at"], utc=True, format="ISO8601").astype(TIME)
    frame = frame.astype({**dict.fromkeys(_TEXT, "str"), "trial": "int64", "passed": "boolean"})
    frame = frame.sort_values("annotated_at", kind="stable")
    if results is not None:
        frame = _carried(frame, results)
    key = ["run_id", "case_id", "trial", "author", "reviewer"]
    return frame.drop_duplicates(key, keep="last").sort_values(key, ignore_index=True)[list(COLUMNS)]


def with_annotations(results: pd.DataFrame, *, results_dir: str | Path | None = None) -> pd.DataFrame:
    """The results with what people said of them: as many rows as before, and four columns more.

    `human_passed` (of the whole answer; NA where nobody judged it, or people disagree), `human_note`, `human_by` (the
    authors), `human_from` (the runs in which they said so).
    """
    import pandas as pd

    key = ["run_id", "case_id", "trial"]
    given = load_annotations(results, results_dir=results_dir)
    rows = []
    for name, group in given.groupby(key, sort=False):
        whole = group.loc[group["reviewer"].isna(), "passed"].dropna()
        said = _agreed(whole), _notes(group), *(", ".join(group[one].unique()) for one in _FROM)
        rows.append((*name, *said))
    names = ["human_passed", "human_note", "human_by", "human_from"]
    joined = pd.DataFrame(rows, columns=[*key, *names]).astype(
        {**dict.fromkeys(("run_id", "case_id", *names[1:]), "str"), "trial": "int64", "human_passed": "boolean"}
    )
    return conform(results).drop(columns=names, errors="ignore").merge(joined, on=key, how="left", validate="1:1")


_FROM = ("author", "annotated_run")


def _author(given: str | None) -> str:
    name = given if given is not None else os.environ.get(AUTHOR_VARIABLE) or getpass.getuser()
    try:
        return check_run_id(name)
    except ValueError as error:
        said = str(error).replace("a run id", "an author's name").replace("the run id", "the author's name")
        raise ValueError(f"{said}. It becomes the name of a file.") from None


def _annotated_row(run_id: str, case_id: str, trial: Any, folder: Path) -> dict[str, Any]:
    run = find_run(run_id, results_dir=folder)
    problems: list[Problem] = []
    frames = list(frames_of([run], ["case_hash", "reviews", *_SAID], problems))
    if problems:
        raise ValueError(f"run {run.run_id!r} cannot be annotated: {problems[0].what}")
    cases = set(frames[0]["case_id"]) if frames else set()
    if not isinstance(case_id, str) or case_id not in cases:
        raise ValueError(f"run {run.run_id!r} has no case {case_id!r}.{_near(str(case_id), sorted(cases))}")
    rows = frames[0][frames[0]["case_id"] == case_id]
    trials = rows["trial"].tolist()
    if isinstance(trial, bool) or not isinstance(trial, Integral) or trial not in trials:
        raise ValueError(f"case {case_id!r} of run {run.run_id!r} has the trials {trials}, not {trial!r:.80}")
    found = rows[rows["trial"] == trial]
    row: dict[str, Any] = found.astype(object).where(found.notna(), None).iloc[0].to_dict()
    return row


def reviewers_of(reviews: Any) -> list[str]:
    """The reviewers that a cell of `reviews` names, one that stands there again with its number."""
    try:
        named = [str(one.get("reviewer")) for one in json.loads(reviews)]
    except (ValueError, TypeError, AttributeError):  # none, or not as evalkit writes them
        named = []
    before = [named[:place].count(name) for place, name in enumerate(named)]
    return [reviewer_again(name, str(times + 1)) if times else name for name, times in zip(named, before, strict=True)]


def reviewer_again(name: Any, number: Any) -> Any:
    """What the second, third, … review by one reviewer is called; of texts or columns of them."""
    return name + " (" + number + ")"


def _near(case_id: str, cases: list[str]) -> str:
    """The case that was probably meant; where none is close, those that there are."""
    begun = [name for name in cases if case_id and name.startswith(case_id)]  # an automatic id without its hash
    if len(begun) == 1:
        return f" Did you mean {begun[0]!r}?"
    return did_you_mean(case_id, cases) or f" It has: {', '.join(cases[:20])}{', …' if len(cases) > 20 else ''}"


def _said(row: dict[str, Any]) -> str:
    """A fingerprint of what the model did that is judged: its answer, or in a tool choice its calls if it made any."""
    calls = row["tool_calls"] if row["tool_calls"] not in (None, "", "[]") else None
    if calls is not None and row["kind"] != "final_answer":
        return fingerprint(["calls", _calls(calls)])
    return fingerprint(["answer", row["answer"], None if calls is None else _calls(calls)])


def _calls(text: str) -> Any:
    try:
        return [[one.get("name"), one.get("arguments"), one.get("kind")] for one in json.loads(text)]
    except (ValueError, AttributeError, TypeError):
        return text


def _append(path: Path, line: str) -> None:
    """Add a line in one piece, behind whatever stands there, though its last line be torn."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b", buffering=0) as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        except ImportError:  # Windows: one write in append mode is one piece there
            pass
        end = file.seek(0, os.SEEK_END)
        if end:
            file.seek(end - 1)
        torn = bool(end) and file.read(1) != b"\n"
        data = memoryview((("\n" if torn else "") + line + "\n").encode())
        while data:
            data = data[file.write(data) :]


def odd_lines(results_dir: Path) -> list[Problem]:
    """What annotations in a results folder cannot be read."""
    unreadable: dict[str, Problem] = {}
    for _ in _read(results_dir / FOLDER, unreadable):
        pass
    return list(unreadable.values())


def _read(folder: Path, unreadable: dict[str, Problem]) -> Iterator[dict[str, Any]]:
    """The annotations in a folder; what cannot be read goes into `unreadable`, by a few words that name it."""
    for path in sorted(folder.glob("*.jsonl")):
        if leads_out(path, folder.parent):
            what = "it leads out of the results folder by a link"
            unreadable[f"{path.name} ({what})"] = Problem(path, what, "put the file in its place")
            continue
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            unreadable[path.name] = Problem(path, f"it cannot be read: {error}", "restore it from a copy, or delete it")
            continue
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield _annotation(json.loads(line))
            except (ValueError, LookupError, TypeError):
                what = f"line {number} is no annotation that this version can read"
                unreadable[f"{path.name}, line {number}"] = Problem(path, what, "correct or delete the line", False)


def _annotation(line: dict[str, Any]) -> dict[str, Any]:
    """A line as a row. Raises where it is none, or of a newer form."""
    if line["annotation"] > FORMAT or line["passed"] not in (True, False, None):
        raise ValueError("not an annotation that this version can read")
    if datetime.fromisoformat(line["annotated_at"]).tzinfo is None:
        raise ValueError("a time without a zone")
    texts = {name: line[name] for name in ("run_id", "case_id", "author", "said")}
    if not all(isinstance(text, str) for text in (*texts.values(), line.get("reviewer") or "")):
        raise TypeError("ids, author, fingerprint and reviewer are text")
    others = {name: line.get(name) for name in ("passed", "note", "case_hash", "annotated_at", "reviewer")}
    return {**texts, **others, "trial": int(line["trial"]), "annotated_run": line["run_id"]}


def _carried(annotations: pd.DataFrame, results: pd.DataFrame) -> pd.DataFrame:
    """The annotations that hold for the trials of `results`, one row per trial and annotation, latest last."""
    wanted = ("run_id", "case_id", "trial", "passed", "case_hash", *_SAID)
    needs_frame(results)
    rows = conform(results[[name for name in results.columns if name in wanted]], columns=wanted)
    same_case = rows["case_hash"].isin(annotations["case_hash"].dropna())
    same_trial = rows["case_hash"].isna() & rows["case_id"].isin(annotations["case_id"])
    rows = rows[same_case | same_trial]
    plain = rows.astype(object).where(rows.notna(), None).to_dict("records")
    trials = rows[["run_id", "case_id", "trial", "case_hash"]].assign(said=[_said(row) for row in plain])
    trials = trials.astype({"said": "str"})
    told = annotations.drop(columns=["run_id", "case_id", "trial"])
    by_content = trials[trials["case_hash"].notna()].merge(told, on=["case_hash", "said"])
    key = ["run_id", "case_id", "trial", "said"]
    in_place = trials[trials["case_hash"].isna()].merge(annotations.drop(columns="case_hash"), on=key)
    import pandas as pd

    return pd.concat([by_content, in_place]).sort_values("annotated_at", kind="stable")


def _agreed(verdicts: pd.Series[Any]) -> bool | None:
    distinct = verdicts.unique()
    return bool(distinct[0]) if len(distinct) == 1 else None


def _notes(group: pd.DataFrame) -> str | None:
    said = group[group["note"].notna()]
    return (
        "\n".join(
            f"{author}{f' on {reviewer}' if isinstance(reviewer, str) else ''}: {note}"
            for author, reviewer, note in said[["author", "reviewer", "note"]].itertuples(index=False)
        )
        or None
    )
