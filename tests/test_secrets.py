"""Planted keys, wherever keys are kept, against endpoints that repeat all they are told: in no file, log or line.

Each test plants its keys, has every request echoed in errors of every kind, and searches whatever was written or shown.
What a model answers is no error: it is kept as it came.
"""

import base64
import json
import os
import subprocess
import sys

import pytest

import evalkit as ek
from evalkit.batch_parts import Batching
from fake_clock import FakeClock
from judge_replies import is_for_judge
from loopback_replies import Reply, fails, says

PLANTED = {
    "key": "sk-planted-0123456789", "password": "pw-planted-0123456789", "query": "qk-planted-0123456789",
    "header": "hk-planted-0123456789", "environment": "ek-planted-0123456789", "judge": "jk-planted-0123456789",
}  # fmt: skip
BASIC = base64.b64encode(b"bob:pw-planted-0123456789").decode()
CASES = [{"id": f"c{n}", "input": f"question {n}", "expected_tool": "none"} for n in range(6)]
FINAL = [
    {"id": f"f{n}", "input": f"tell {n}", "expected": "x", "reviewers": ["closed_qa", "exact_match"]} for n in range(4)
]


def found_in(text):
    held = text if isinstance(text, bytes) else text.encode()
    return [name for name, secret in PLANTED.items() if secret.encode() in held] + ["basic"] * (BASIC.encode() in held)


def found_in_files(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".env"]
    return {path.name: found for path in files if (found := found_in(path.read_bytes()))}


def echo(request):
    """All that was sent, repeated in a failure of a kind that the request's number picks."""
    told = json.dumps(dict(request.headers)) + request.path + " ".join(PLANTED.values())
    kinds = [
        fails(400, told, told), fails(422, told), fails(500, told, x_should_retry="false"),
        Reply(f"<html>{told}</html>", 503, {"content-type": "text/html", "x-should-retry": "false"}),
        Reply({"error": {"message": told, "code": told, "type": told, "param": told}}), Reply(f'{{"choices": "{told}'),
    ]  # fmt: skip
    return kinds[int(request.text.split()[-1]) % len(kinds)] if request.text[-1:].isdigit() else kinds[0]


def answers_then_echo(request):
    return (
        echo(request) if is_for_judge(request) or "question" in request.text else says(f"the answer to {request.text}")
    )


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "eval_data").mkdir()
    (tmp_path / "eval_data" / "tools.jsonl").write_text("\n".join(map(json.dumps, CASES)), encoding="utf-8")
    (tmp_path / "eval_data" / "texts.jsonl").write_text("\n".join(map(json.dumps, FINAL)), encoding="utf-8")
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={PLANTED['key']}\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def with_credentials(url):
    return url.replace("http://", f"http://bob:{PLANTED['password']}@") + f"?api_key={PLANTED['query']}"


def process(project, *words, **variables):
    kept = {name: value for name, value in os.environ.items() if "OPENAI" not in name and "EVALKIT" not in name}
    done = subprocess.run(
        [sys.executable, *words], cwd=project, env=kept | variables, capture_output=True, check=False, timeout=120
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("credentials", [False, True], ids=["key alone", "credentials in the URL"])
def test_commands_write_and_say_no_key(project, endpoint, credentials):
    endpoint.script = answers_then_echo
    url = with_credentials(endpoint.url) if credentials else endpoint.url
    variables = {
        "OPENAI_BASE_URL": url, "EVALKIT_JUDGE_BASE_URL": url, "EVALKIT_JUDGE_API_KEY": PLANTED["judge"],
        "GATEWAY_TOKEN": PLANTED["environment"], "X_SECRET": PLANTED["header"], "OPENAI_LOG": "debug",
    }  # fmt: skip
    if not credentials:  # what no client sends can only be repeated where the environment names it as secret
        variables |= {"A_PASSWORD": PLANTED["password"], "A_KEY": PLANTED["query"]}
    said = b""
    for words in (
        ("run", "tools", "--model", "m"), ("run", "texts", "--model", "m", "--judge-model", "j"), ("runs",),
        ("resume", "latest", "--errors"), ("export", "latest"), ("check", "--model", "m"),
    ):  # fmt: skip
        said += process(project, "-m", "evalkit", *words, **variables)
    assert b"[ERROR]" in said
    sent = {request.headers.get("authorization", "") for request in endpoint.requests}
    assert (f"Basic {BASIC}" in sent) if credentials else (f"Bearer {PLANTED['key']}" in sent)
    assert found_in(said) == []
    assert found_in_files(project) == {}


def test_logs_and_tracebacks_of_a_program_show_no_key(project, endpoint):
    endpoint.script = lambda request: fails(401, json.dumps(dict(request.headers)) + request.path)
    (project / "program.py").write_text(
        "import logging, traceback\n"
        "logging.basicConfig(level=logging.DEBUG)\n"
        "import evalkit as ek\n"
        "print(ek.OpenAIModel('m'), ek.OpenAIModel('m').settings, vars(ek.OpenAIModel('m')))\n"
        "try:\n"
        "    ek.run('tools', model='m', progress=False)\n"
        "except ek.SettingsError as error:\n"
        "    told = traceback.TracebackException.from_exception(error, capture_locals=True)\n"
        "    print(''.join(told.format()))\n",
        encoding="utf-8",
    )
    said = process(project, "program.py", OPENAI_BASE_URL=with_credentials(endpoint.url))
    assert b"HTTP Request: POST http://" in said  # the transport does log
    assert b"SettingsError" in said
    assert found_in(said) == []
    assert found_in_files(project) == {}


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_headers_and_fields_of_a_models_own_are_nowhere(project, endpoint, monkeypatch, api):
    def script(request):
        return fails(500, json.dumps([request.path, dict(request.headers), request.body]), x_should_retry="false")

    endpoint.script = script
    extra = {
        "extra_headers": {"X-Api-Key": PLANTED["header"], "Authorization": f"Bearer {PLANTED['judge']}"},
        "extra_query": {"access_token": PLANTED["query"]}, "extra_body": {"auth": {"password": PLANTED["password"]}},
    }  # fmt: skip
    model = ek.OpenAIModel("m", base_url=endpoint.url, api_key=PLANTED["key"], api=api, extra=extra)
    said = ek.run("tools", model=model, progress=False).to_csv()
    sent = endpoint.requests[0]
    assert PLANTED["query"] in sent.path
    assert found_in(json.dumps(dict(sent.headers)) + json.dumps(sent.body)) != []
    shown = repr(model) + json.dumps(model.settings) + said + ek.load_run("latest").to_csv()
    assert "***" in said
    assert found_in(shown) == []
    assert found_in_files(project) == {}


def test_what_a_batch_brings_back_shows_no_key(project, server, capsys):
    server.edit = lambda output, errors: _tell(output, errors)
    model = ek.OpenAIModel("m", base_url=with_credentials(server.url), api_key=PLANTED["key"])
    model.clock = FakeClock()
    ek.run("tools", model=model, batch=Batching(most_requests=3), progress=False)
    server.edit, server.ends = (lambda output, errors: None), "failed"
    server.errors = [{"code": "bad", "message": f"{PLANTED['key']} {BASIC} {PLANTED['query']}", "line": 1}]
    with pytest.raises((ek.RunStopped, ek.SettingsError)) as stopped:
        ek.run("tools", model=model, batch=True, progress=False)
    shown = capsys.readouterr()
    assert found_in(str(stopped.value) + shown.out + shown.err + ek.load_run("latest").to_csv()) == []
    assert found_in_files(project) == {}


def _tell(output, errors):
    told = f"{PLANTED['key']} {BASIC} {PLANTED['query']} {PLANTED['password']}"
    for number, line in enumerate(output):
        if number % 2:
            line["response"] = {"status_code": 400, "body": {"error": {"message": told, "code": told}}}
        else:
            line["response"], line["error"] = None, {"code": told, "message": told}


def test_masking_an_answer_would_change_what_is_measured_so_it_is_kept(project, endpoint):
    endpoint.script = lambda request: says(PLANTED["key"])
    model = ek.OpenAIModel("m", base_url=endpoint.url, api_key=PLANTED["key"])
    assert ek.run("tools", model=model, progress=False)["answer"].unique().tolist() == [PLANTED["key"]]
