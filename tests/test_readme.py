"""What README says is what the code does: its commands and code run as they stand, its tables agree with the code."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import evalkit as ek
from evalkit.cli import _parser
from evalkit.matcher_checks import NAMES
from evalkit.reviewers import names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def table_after(heading):
    """The rows of the tables under a heading, without the first head."""
    section = README.split(f"## {heading}\n", 1)[1]
    end = next((n for n, line in enumerate(section.splitlines()) if line.startswith("## ")), None)
    rows = [line for line in section.splitlines()[:end] if line.startswith("|")]
    return rows[2:]


def code_words(text):
    return re.findall(r"`([^`]+)`", text)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A clone's folders, with results of its own."""
    (tmp_path / "eval_data").symlink_to(ROOT / "eval_data")
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "EVALKIT_MODEL", "EVALKIT_RESULTS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_the_tour_runs_as_it_stands(project):
    exec(compile(blocks("python")[0], "README tour", "exec"), {})
    assert ek.list_runs()["rescored_from"].notna().tolist() == [True, False]


def test_recorded_turns_and_a_reviewer_of_ones_own_run_as_they_stand(project):
    scored, reviewed = {"ek": ek}, {"ek": ek}
    exec(next(block for block in blocks("python") if "ek.score(" in block), scored)
    assert scored["results"]["outcome"].tolist() == ["correct", "no_call", "correct"]
    exec(next(block for block in blocks("python") if "@ek.reviewer" in block), reviewed)
    assert reviewed["results"]["passed"].tolist() == [True]


def test_the_shell_commands_run_as_they_stand(project):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    commands = [block for block in blocks("bash") if block.startswith("evalkit")]
    assert commands
    for block in commands:
        command = ["bash", "-euo", "pipefail", "-c", block]
        done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    assert (project / "results" / "first.csv").exists()


def test_the_example_dataset_loads(project):
    (project / "example.json").write_text(next(block for block in blocks("json")))
    tools = ek.load_dataset("file_tools").tools
    assert len(ek.load_dataset(project / "example.json", tools=tools).cases) == 3


def test_the_commands_are_those_of_the_command_line():
    named = {code_words(row)[0].split()[1] for row in table_after("Commands")}
    actions = next(action for action in _parser()._actions if action.choices and "run" in action.choices)
    assert named == set(actions.choices)
    run = next(row for row in table_after("Commands") if row.startswith("| `evalkit run"))
    offered = {option for action in actions.choices["run"]._actions for option in action.option_strings}
    told = {word.split()[0] for word in code_words(run) if word.startswith("--")}
    assert told == offered - {"-h", "--help", "--results-dir"}


def test_the_matchers_are_those_of_the_code():
    rows = [row for row in README.splitlines() if row.startswith('| `{"$')]
    named = {name for row in rows for name in re.findall(r'\{"(\$\w+)"', row.split("|")[1])}
    assert named == set(NAMES)


def test_the_columns_are_those_of_the_schema():
    rows = [
        [cell.strip() for cell in row.strip("|").split("|")] for row in table_after("The columns of a results frame")
    ]
    told = [(name.strip("`"), level, dtype, meaning) for name, level, dtype, meaning in rows]
    assert told == [tuple(row) for row in ek.columns().to_numpy()]


def test_the_notebooks_are_those_of_the_folder():
    named = {code_words(row)[0] for row in table_after("Notebooks")}
    assert named == {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}


def test_the_reviewers_are_those_of_the_code():
    section = README.split("### Reviewers\n", 1)[1].split("\n### ", 1)[0]
    named = {code_words(row)[0] for row in section.splitlines() if row.startswith("| `")}
    assert named == set(names())


def test_the_case_fields_are_those_of_a_case():
    rows = [row for row in table_after("Datasets") if not row.startswith('| `{"$') and row.startswith("| `")]
    named = {name for row in rows for name in code_words(row.split("|")[1])}
    case = ek.EvalCase.from_dict({"input": "Hello", "expected_tool": "none"})
    assert named == set(case.__dataclass_fields__) - {"kind"}


def test_the_sizes_of_the_datasets_are_true(project):
    for name, cases, tools in re.findall(r"`(\w+)` \((\d+) cases, (\d+)", README):
        dataset = ek.load_dataset(name)
        assert (len(dataset.cases), len(dataset.tools)) == (int(cases), int(tools))
