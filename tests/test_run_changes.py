"""What changed from run to run: only where fingerprints differ, in words where the files are there."""

import pandas as pd
import pytest

import evalkit as ek
from evalkit.errors import SchemaError

TOOLS = [{"name": "list_files", "description": "Lists the files of a folder."}]
CASES = [{"id": "here", "input": "List the files", "expected_tool": "list_files"}]


def run(folder, *, prompt="Be brief.", tools=TOOLS, label=None):
    dataset = ek.Dataset(name="few", cases=CASES, tools=tools)
    results = ek.run(dataset, model=answer, system_prompt=prompt, label=label, results_dir=folder, progress=False)
    return results["run_id"].iloc[0]


def answer(messages, tools):
    return "list_files"


def test_only_runs_that_differ_from_the_one_before_are_listed(tmp_path):
    first, second, third = run(tmp_path), run(tmp_path), run(tmp_path, prompt="Be careful.", label="careful")
    assert len({first, second, third}) == 3
    changes = ek.run_changes(ek.list_runs(results_dir=tmp_path), results_dir=tmp_path)
    assert changes[["run_id", "previous", "label", "what"]].values.tolist() == [
        [third, second, "careful", "system prompt"]
    ]
    assert changes["diff"].tolist() == ["-Be brief.\n+Be careful."]


def test_a_changed_tool_is_named(tmp_path):
    run(tmp_path)
    run(tmp_path, tools=[{"name": "list_files", "description": "Lists a folder."}])
    changes = ek.run_changes(ek.list_runs(results_dir=tmp_path), results_dir=tmp_path)
    assert changes["what"].tolist() == ["tool list_files"]
    assert "Lists a folder." in changes["diff"].iloc[0]


def test_without_files_the_fingerprints_are_compared(tmp_path):
    run(tmp_path)
    run(tmp_path, prompt="Be careful.")
    rates = ek.tool_accuracy(ek.load_history(results_dir=tmp_path))
    changes = ek.run_changes(rates, results_dir=tmp_path / "elsewhere")
    assert changes["what"].tolist() == ["system prompt (fingerprint)"]


def test_runs_of_other_models_and_datasets_are_not_compared(tmp_path):
    run(tmp_path)
    ek.run("file_tools", model="lexical", results_dir=tmp_path, progress=False)
    assert ek.run_changes(ek.list_runs(results_dir=tmp_path), results_dir=tmp_path).empty


def test_no_runs_make_no_changes(tmp_path):
    changes = ek.run_changes(ek.list_runs(results_dir=tmp_path), results_dir=tmp_path)
    assert changes.empty
    assert str(changes["started_at"].dtype) == "datetime64[us, UTC]"


def test_a_frame_without_the_values_of_runs_is_refused():
    with pytest.raises(SchemaError, match=r"no column 'dataset'.*ek\.list_runs\(\)"):
        ek.run_changes(pd.DataFrame({"run_id": ["r1"], "model": ["m"], "started_at": [None]}))
