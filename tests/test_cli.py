import base64
import csv
import io
import json
import os
import re
import subprocess
import sys

import pytest

import evalkit as ek
from evalkit.cli import main
from loopback_replies import Reply, fails, pick_by_words, says

SIX = [
    "What files are in the current directory?",
    "Show me the contents of src/main.rs",
    "Read the Cargo.toml file",
    "What is Rust?",
    "Tell me a joke",
    "List everything in the src directory",
]


@pytest.fixture
def evalkit(endpoint, tmp_path, monkeypatch, capsys):
    """The command in this process, its results in a folder of the test's, its endpoint on loopback."""
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("EVALKIT_RESULTS", str(tmp_path / "results"))
    monkeypatch.delenv("EVALKIT_MODEL", raising=False)

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def stored_id(output):
    return re.search(r"Stored as (\S+)", output)[1]


def test_run_prints_a_line_per_case_and_a_summary_of_two_named_numbers(evalkit, endpoint):
    code, output, errors = evalkit("run", "file_tools", "--model", "mock-small", "--concurrency", 1)
    lines = output.splitlines()
    assert lines[0] == "Running 6 eval cases… (file_tools, model mock-small)"
    assert lines[1] == '[PASS] "What files are in the current directory?" → Correct: selected list_files'
    assert '[FAIL] "Show me the contents of src/main.rs" → Expected read_file, got no tool call' in lines
    assert "--- Summary ---" in lines
    assert "Passed: 5/6 (83 %, 95 % interval 44–97 %)   Average score: 0.83   Errors: 0" in lines
    assert (code, errors) == (0, "")


def test_the_lexical_baseline_needs_no_key_and_is_named_for_what_it_is(evalkit, monkeypatch, endpoint):
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, output, _ = evalkit("run", "file_tools", "--model", "lexical")
    assert code == 0
    assert "model lexical" in output
    assert [line for line in output.splitlines() if line.startswith("[")] != []
    assert ek.load_run("latest")["model"].unique().tolist() == ["lexical"]
    assert endpoint.asked == {}


def test_without_a_key_the_message_says_what_to_set_and_what_works_without(evalkit, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, output, errors = evalkit("run", "file_tools", "--model", "gpt-4.1-mini")
    assert (code, output) == (2, "")
    for words in ("OPENAI_API_KEY", "--model lexical", "OPENAI_BASE_URL"):
        assert words in errors


def test_a_dry_run_sends_nothing_stores_nothing_and_needs_no_key(evalkit, endpoint, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    code, output, _ = evalkit(
        "run", "file_tools", "support_desk", "--model", "gpt-4.1-mini", "--trials", 3, "--dry-run"
    )
    assert code == 0
    assert "file_tools: 18 requests to gpt-4.1-mini (6 cases × 3), none sent." in output
    assert "support_desk: 72 requests" in output
    assert "No price for gpt-4.1-mini" in output
    assert endpoint.asked == {}
    assert len(ek.list_runs()) == 0


def test_a_dry_run_knows_the_cost_from_the_users_prices(evalkit, tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.evalkit.prices]\nmock-small = { input = 1.0, output = 4.0 }\n")
    (tmp_path / "small.json").write_text('[{"input": "Hello", "expected_tool": "none"}]')
    monkeypatch.chdir(tmp_path)
    _, output, _ = evalkit("run", "small.json", "--model", "mock-small", "--dry-run")
    assert re.search(r"About \d+ input tokens, and USD 0\.000\d", output)


def test_settings_of_the_command_line_are_sent_with_every_request(evalkit, endpoint):
    code, _, errors = evalkit(
        "run", "file_tools", "--model", "mock-small", "--temperature", 0, "--max-tokens", 500, "--seed", 7,
        "--tool-choice", "read_file", "--no-parallel-tool-calls", "--reasoning-effort", "low",
        "--extra", '{"top_p": 0.9, "extra_body": {"top_k": 5}}',
    )  # fmt: skip
    assert (code, errors) == (0, "")
    sent = {
        "temperature": 0.0, "max_tokens": 500, "seed": 7, "parallel_tool_calls": False, "reasoning_effort": "low",
        "top_p": 0.9, "top_k": 5, "tool_choice": {"type": "function", "function": {"name": "read_file"}},
    }  # fmt: skip
    bodies = [request.body for request in endpoint.requests]
    assert [{name: body.get(name) for name in sent} for body in bodies] == [sent] * 6


def test_a_limit_goes_out_under_the_name_that_the_endpoint_takes_and_no_case_fails_of_it(evalkit, endpoint):
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."

    def script(request):
        refused = fails(400, words, "unsupported_parameter")
        return refused if "max_tokens" in request.body else pick_by_words(request)

    endpoint.script = script
    code, output, errors = evalkit(
        "run", "file_tools", "--model", "gpt-5-mini", "--max-tokens", 500, "--concurrency", 3
    )
    assert (code, errors) == (0, "")
    assert "Passed: 5/6" in output
    assert [request.body.get("max_completion_tokens") for request in endpoint.requests].count(500) == 6
    assert len(endpoint.requests) <= 6 + 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--extra", "{top_p: 1}"), "--extra must be a JSON object such as '{\"top_p\": 0.9}': "),
        (("--extra", "[1]"), "--extra must be a JSON object such as '{\"top_p\": 0.9}': it is [1]"),
        (("--extra", '{"seed": 1, "seed": 2}'), "--extra must be a JSON object"),
        (("--extra", '{"stream": true}'), "extra cannot set 'stream': evalkit sets it itself"),
        (("--extra", '{"extra_body": {"model": "x"}}'), "extra_body cannot set 'model': evalkit sets it itself"),
        (("--extra", '{"max_output_tokens": 5}', "--max-tokens", "6"), "max_tokens is given twice, 6 and 5"),
        (("--max-tokens", "0"), "max_tokens must be a whole number of 1 or more, got 0"),
        (("--tool-choice", "read_files"), "got 'read_files'. Did you mean 'read_file'?"),
        (("--reasoning-effort", " "), "reasoning_effort must be a word such as 'low', got ' '"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_meant_are_refused_before_anything_is_sent(evalkit, endpoint, words, said):
    code, _, errors = evalkit("run", "file_tools", "--model", "mock-small", *words)
    assert code == 2
    assert said in errors
    assert endpoint.requests == []


def test_several_datasets_make_several_runs(evalkit):
    code, output, _ = evalkit("run", "file_tools", "support_desk", "--model", "mock-small")
    assert code == 0
    assert len(re.findall("Stored as", output)) == 2
    assert ek.list_runs()["dataset"].tolist() == ["support_desk", "file_tools"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "file_tolls"), "file_tools"),
        (("run", "file_tools", "--case", "nope"), "nope"),
        (("run", "file_tools", "--tag", "nope"), "nope"),
        (("run", "file_tools", "--trials", "0"), "trials must be at least 1, got 0"),
        (("run", "file_tools", "--model", "404"), "does not exist"),
        (
            ("run", "file_tools", "--system-prompt", "no-such.txt"),
            "the system prompt no-such.txt cannot be read: No such",
        ),
        (("run", "file_tools", "--concurrency", "0"), "concurrency must be at least 1, got 0"),
        (("run", "eval_data"), "eval_data is a folder. Name a file in it: "),
        (("resume", "2026"), "no run '2026'"),
        (("rescore", "latest"), "there are no runs in results/ yet"),
        (("export", "../../etc/passwd"), "no run"),
        (("check", "no-such-folder"), "no-such-folder"),
    ],
)
def test_a_mistake_of_the_user_is_a_sentence_and_exit_code_2(evalkit, words, said):
    code, _, errors = evalkit(*words)
    assert code == 2
    assert said in errors
    assert errors.startswith("evalkit: ")
    assert "Traceback" not in errors
    assert len(ek.list_runs()) == 0


def test_a_server_that_answers_no_more_ends_with_exit_code_3_and_what_was_finished(evalkit, endpoint):
    def script(request):
        return (
            pick_by_words(request)
            if sum(endpoint.asked.values()) <= 3
            else fails(401, "key revoked", "invalid_api_key")
        )

    endpoint.script = script
    code, output, errors = evalkit("run", "file_tools", "--model", "mock-small", "--concurrency", 1)
    assert code == 3
    assert "key revoked" in errors
    assert "3 of 6 trials are kept" in errors
    endpoint.script = pick_by_words
    code, output, _ = evalkit("resume", "latest")
    assert code == 0
    assert "3 of 6 trials are finished, 3 to do" in output
    assert all(count == 1 for text, count in endpoint.asked.items() if text in SIX[:3])


def test_a_dead_server_is_six_errors_no_failures_and_exit_code_3(evalkit, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr("evalkit.retries.Clock.backoff", lambda self, earlier: 0.0)
    code, output, _ = evalkit("run", "file_tools", "--model", "mock-small")
    assert code == 3
    assert "Passed: no case could be scored   Average score: –   Errors: 6 (6 connection)" in output


def test_a_run_of_calls_written_as_text_says_so(evalkit, endpoint):
    code, output, _ = evalkit("run", "file_tools", "--model", "call-in-text")
    assert code == 0
    assert "misses are calls written as text: the endpoint does not return tool calls" in output


def test_cut_off_replies_are_counted(evalkit, endpoint):
    _, output, _ = evalkit("run", "file_tools", "--model", "length")
    assert "truncated" in output
    assert "replies were cut off at the token limit" in output


def test_markup_and_escape_sequences_are_harmless_in_the_terminal(evalkit, tmp_path, endpoint):
    hostile = "\x1b]0;owned\x07\x1b[31m<script>\u202e"
    odd = {"name": hostile, "cases": [{"input": hostile, "expected_tool": "none"}]}
    (tmp_path / "odd.json").write_text(json.dumps(odd))
    endpoint.script = lambda request: fails(400, hostile)
    code, output, errors = evalkit("run", tmp_path / "odd.json", "--model", "mock-small")
    assert code == 2
    endpoint.script = lambda request: says(hostile)
    _, output, errors = evalkit("run", tmp_path / "odd.json", "--model", "mock-small", "--label", "plain")
    _, listed, _ = evalkit("runs")
    for text in (output, errors, listed):
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "\u202e" not in text


def test_runs_lists_the_newest_first_and_resume_commands(evalkit, endpoint):
    assert evalkit("runs")[1].startswith("No runs yet")
    first = stored_id(evalkit("run", "file_tools", "--model", "mock-small", "--label", "one")[1])
    second = stored_id(evalkit("run", "file_tools", "--model", "mock-small", "--label", "two")[1])
    _, output, _ = evalkit("runs")
    lines = output.splitlines()
    assert [line.split()[0] for line in lines] == ["run", second, first]
    assert lines[1].endswith("two")


def test_rescore_makes_a_new_run_and_asks_nobody(evalkit, endpoint):
    first = stored_id(evalkit("run", "file_tools", "--model", "mock-small")[1])
    asked = sum(endpoint.asked.values())
    code, output, _ = evalkit("rescore", first[:-3])
    assert code == 0
    assert f"from {first}" in output
    assert sum(endpoint.asked.values()) == asked


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_export_writes_every_row_in_each_format(evalkit, form, tmp_path):
    evalkit("run", "file_tools", "--model", "mock-small")
    code, output, _ = evalkit("export", "latest", "--format", form)
    assert code == 0
    read = {
        "csv": lambda: list(csv.DictReader(io.StringIO(output))),
        "json": lambda: json.loads(output),
        "jsonl": lambda: [json.loads(line) for line in output.splitlines()],
    }
    rows = read[form]()
    assert [row["input"] for row in rows] == SIX
    assert set(rows[0]) == set(ek.columns()["name"])
    evalkit("export", "latest", "--format", form, "--output", tmp_path / "out")
    assert (tmp_path / "out").read_bytes().decode() == output


def test_excel_is_told_that_csv_is_utf_8(evalkit, endpoint, tmp_path):
    endpoint.script = lambda request: Reply(message={"role": "assistant", "content": "Köln"})
    (tmp_path / "far.json").write_text(json.dumps([{"input": "天気は？", "expected_tool": "none"}]))
    evalkit("run", tmp_path / "far.json", "--model", "mock-small")
    file = tmp_path / "out.csv"
    assert evalkit("export", "latest", "--output", file, "--bom")[0] == 0
    assert file.read_bytes().startswith(b"\xef\xbb\xbfrun_id,")
    plain = evalkit("export", "latest", "--format", "csv")[1]
    assert not plain.startswith("\ufeff")
    assert evalkit("export", "latest", "--bom")[1] == "\ufeff" + plain == file.read_bytes().decode()
    row = next(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8-sig"))))
    assert (row["input"], row["answer"]) == ("天気は？", "Köln")


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_never_begins_with_a_mark(evalkit, form, tmp_path):
    evalkit("run", "file_tools", "--model", "lexical")
    code, output, errors = evalkit("export", "latest", "--output", tmp_path / f"out.{form}", "--bom")
    assert (code, output) == (2, "")
    assert f"--bom is for CSV, which is not what is written here ({form})" in errors
    assert not (tmp_path / f"out.{form}").exists()


def test_no_formula_reaches_a_spreadsheet(evalkit, endpoint, tmp_path):
    endpoint.script = lambda request: Reply(message={"role": "assistant", "content": '=HYPERLINK("http://x")'})
    (tmp_path / "odd.json").write_text(json.dumps([{"input": "@SUM(1)", "expected_tool": "none"}]))
    evalkit("run", tmp_path / "odd.json", "--model", "mock-small")
    _, output, _ = evalkit("export", "latest")
    row = next(csv.DictReader(io.StringIO(output)))
    assert (row["input"], row["answer"]) == ("'@SUM(1)", '\'=HYPERLINK("http://x")')
    assert row["score"] == "1.0"
    assert ek.load_run("latest")["answer"].tolist() == ['=HYPERLINK("http://x")']


def test_check_reports_problems_with_exit_code_2_and_advice_with_0(evalkit, tmp_path):
    assert evalkit("check")[0] == 0
    (tmp_path / "bad.json").write_text('[{"input": "Hello", "expected_tol": "none"}]')
    code, output, _ = evalkit("check", tmp_path)
    assert code == 2
    assert "Did you mean 'expected_tool'?" in output


def test_check_with_a_model_looks_at_the_endpoint(evalkit, endpoint):
    code, output, _ = evalkit("check", "eval_data/file_tools.json", "--model", "mock-small")
    assert code == 0
    assert "mock-small:" in output
    assert len([line for line in output.splitlines() if line.startswith(("  yes", "   NO", "    ?"))]) >= 5


PLANTED = (
    "pw-PLACEHOLDER",
    base64.b64encode(b"bob:pw-PLACEHOLDER").decode(),
    "tk-PLACEHOLDER",
    "hk-PLACEHOLDER-0001",
    "ek-PLACEHOLDER-0001",
)


def test_no_key_is_in_anything_written_or_shown(evalkit, endpoint, tmp_path, monkeypatch):
    url = endpoint.url.replace("http://", "http://bob:pw-PLACEHOLDER@") + "?token=tk-PLACEHOLDER"
    monkeypatch.setenv("OTHER_API_KEY", PLANTED[4])
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    echoed = []

    def script(request):
        seen = json.dumps(dict(request.headers)) + request.path + PLANTED[4]
        echoed.append(seen)
        return fails(500, f"who are you: {seen}") if "joke" in request.text else pick_by_words(request)

    endpoint.script = script
    monkeypatch.setattr("evalkit.retries.Clock.backoff", lambda self, earlier: 0.0)
    headers = {"extra_headers": {"X-Api-Key": PLANTED[3]}}
    results = ek.run("file_tools", model="mock-small", extra=headers)
    assert all(any(secret in seen for seen in echoed) for secret in PLANTED if secret != "pw-PLACEHOLDER")
    shown = "".join("".join(evalkit(*words)[1:]) for words in [("runs",), ("export", "latest"), ("rescore", "latest")])
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    model = repr(ek.OpenAIModel("mock-small", extra=headers))
    for secret in PLANTED:
        assert secret.encode() not in stored
        assert secret not in shown + results.to_csv() + model
    assert "127.0.0.1" in results.to_csv()


def test_the_commands_work_as_a_process_whatever_the_locale(tmp_path):
    (tmp_path / "wetter.json").write_bytes('\ufeff[{"input": "Wetter in Köln? 🌧", "expected_tool": "none"}]'.encode())
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", "run", "wetter.json", "--model", "lexical"],
        cwd=tmp_path, env=environment, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert ek.load_run("latest", results_dir=tmp_path / "results")["input"].tolist() == ["Wetter in Köln? 🌧"]


@pytest.mark.parametrize("command", ["run", "resume", "rescore", "runs", "check", "export"])
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert "usage: evalkit" in capsys.readouterr().out


def test_export_takes_the_format_from_the_ending_of_the_file(evalkit, tmp_path):
    evalkit("run", "file_tools", "--model", "lexical")
    evalkit("export", "latest", "--output", tmp_path / "out.jsonl")
    assert [json.loads(line)["input"] for line in (tmp_path / "out.jsonl").read_text().splitlines()] == SIX


def test_check_with_a_model_and_no_path_looks_at_the_endpoint_alone(evalkit):
    assert "file_tools.json" not in evalkit("check", "--model", "mock-small")[1]


def test_a_gate_that_compared_nothing_is_a_wrong_request(evalkit):
    evalkit("run", "file_tools", "--model", "lexical")
    evalkit("run", "support_desk", "--model", "lexical")
    code, _, errors = evalkit("compare", "latest~1", "latest", "--fail-on", "worse")
    assert code == 2
    assert "the gate compared nothing" in errors


def test_a_callables_run_says_how_to_resume_it_in_python(evalkit, endpoint):
    def mine(messages, tools):
        raise RuntimeError("later")

    run_id = ek.run("file_tools", model=mine)["run_id"].iloc[0]
    assert evalkit("resume", run_id, "--errors")[2].count(f"ek.resume('{run_id}', model=...)") == 1


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert (stopped.value.code, capsys.readouterr().out) == (0, f"evalkit {ek.__version__}\n")
