"""What a run refuses before it begins, and what it takes as it is meant."""

import pytest

import evalkit as ek
from evalkit.resuming import reopen
from test_runner import small


def answers(messages, tools):
    return f"{len(tools)} tools"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"trials": True}, "trials must be at least 1, got True"),
        ({"concurrency": 0}, "concurrency must be at least 1, got 0"),
        ({"max_errors": float("nan")}, "max_errors must be a share below 1 or a count, got nan"),
        ({"max_errors": "3"}, "max_errors must be a share below 1 or a count, got '3'"),
        ({"max_errors": -1}, "max_errors must be a share below 1 or a count, got -1"),
        ({"label": 5}, "a label must be one line of 1 to 200 printable characters, got 5"),
        ({"label": "two\nlines"}, "a label must be one line"),
        ({"model": ek.OpenAIModel}, "OpenAIModel is a kind of model; give one of it, such as OpenAIModel(…)"),
        ({"max_tokens": 5}, "max_tokens: such settings belong to the model object itself"),
        ({"model": "lexical", "seed": 5}, "the model 'lexical' takes no setting 'seed'"),
        (
            {"model": "m", "base_url": "http://localhost:1/v1", "tool_choice": "list_file"},
            "or one of list_files, read_file, got 'list_file'. Did you mean 'list_files'?",
        ),
        ({"cases": []}, "no case is named, so nothing would be selected"),
    ],
)
def test_what_makes_no_sense_is_refused_and_stores_nothing(settings, words, tmp_path):
    with pytest.raises(ValueError) as caught:
        ek.run(small(), results_dir=tmp_path, progress=False, **{"model": answers, **settings})
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_tools_given_to_a_run_go_before_those_of_a_dataset_that_is_loaded_already():
    tools = [{"name": name} for name in ("list_files", "read_file", "delete_file")]
    results = ek.run(small(), model=answers, tools=tools, save=False, progress=False)
    assert results["answer"].tolist() == ["3 tools"] * 3


@pytest.mark.parametrize("cases", ["joke", ["joke"], ("joke",), iter(["joke"])], ids=["text", "list", "tuple", "once"])
def test_a_selection_is_stored_as_it_was_meant_however_it_was_given(cases, tmp_path):
    results = ek.run(small(), model=answers, cases=cases, results_dir=tmp_path, progress=False)
    assert results["case_id"].tolist() == ["joke"]
    recording = reopen("latest", model=answers, results_dir=tmp_path)
    recording.sink.discard()
    assert recording.description["selection"] == {"cases": ["joke"], "tags": None, "limit": None}


def test_a_run_is_resumed_by_at_least_one_worker(tmp_path):
    ek.run(small(), model=answers, results_dir=tmp_path, progress=False)
    with pytest.raises(ValueError, match="concurrency must be at least 1, got 0"):
        ek.resume("latest", model=answers, concurrency=0, results_dir=tmp_path)
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".parquet"]


def test_an_empty_history_and_a_file_that_is_not_there_say_so(tmp_path):
    with pytest.raises(ek.SettingsError, match=r"there are no runs in .* yet: `evalkit run` makes one"):
        ek.load_run("latest", results_dir=tmp_path)
    with pytest.raises(ek.SettingsError, match=r"there is no file .*nothing\.parquet"):
        ek.load_run(tmp_path / "nothing.parquet")
