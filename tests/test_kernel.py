"""A real Jupyter kernel, whose event loop already runs: run, run again, interrupt, run once more."""

import os
import re

import nbformat
import pytest
from jupyter_client import KernelManager
from nbconvert import HTMLExporter

from evalkit.journal import read_records
from loopback_replies import Reply, pick_by_words

SETUP = """
import warnings, evalkit as ek
model = ek.OpenAIModel("mock-small", base_url={url!r})
cases = [{{"id": f"c{{n:02}}", "input": f"list {{n}}", "expected_tool": "list_files"}} for n in range(20)]
many = ek.Dataset(name="many", cases=cases, tools=[{{"name": "list_files"}}])
def show(results):
    print("rows", len(results), results["status"].iloc[0])
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALKIT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("EVALKIT_NO_PROGRESS", "1")
    manager = KernelManager(transport="ipc", ip=str(tmp_path / "kernel"))
    manager.start_kernel(cwd=str(tmp_path), env=dict(os.environ))
    client = manager.blocking_client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


def execute(client, code, *, meanwhile=None):
    """Run one cell; what it printed, and what it put on stderr or raised."""
    message = client.execute(code)
    if meanwhile is not None:
        meanwhile()
    streams = {"stdout": "", "stderr": ""}
    while True:
        got = client.get_iopub_msg(timeout=60)
        if got["parent_header"].get("msg_id") != message:
            continue
        kind, content = got["msg_type"], got["content"]
        if kind == "stream":
            streams[content["name"]] += content["text"]
        elif kind == "error":
            streams["stderr"] += "\n".join(content["traceback"])
        elif kind == "status" and content["execution_state"] == "idle":
            return streams["stdout"], streams["stderr"]


@pytest.mark.parametrize("call", ["ek.run(many, model=model)", "await ek.run_async(many, model=model)"])
def test_a_cell_runs_again_and_after_an_interrupt(endpoint, kernel, tmp_path, call):
    manager, client = kernel
    assert execute(client, SETUP.format(url=endpoint.url)) == ("", "")
    for _ in range(2):
        assert execute(client, f"show({call})") == ("rows 20 complete\n", "")

    endpoint.asked.clear()
    endpoint.script = lambda request: Reply(delay_s=60) if sum(endpoint.asked.values()) > 14 else pick_by_words(request)

    def interrupt():
        journals = tmp_path / "results" / ".journal"
        while not any(len(read_records(path)) >= 14 for path in journals.glob("*.jsonl")):
            pass
        manager.interrupt_kernel()

    shown, errors = execute(client, f"show({call})", meanwhile=interrupt)
    assert errors == ""
    assert "14 of 20 trials are kept" in shown
    assert shown.endswith("rows 14 partial\n")

    endpoint.script = pick_by_words
    assert execute(client, f"show({call})") == ("rows 20 complete\n", "")
    assert execute(client, "print(ek.list_runs()['partial'].tolist())") == ("[False, True, False, False]\n", "")


def test_texts_of_our_frames_are_no_formulas_in_a_notebook_and_those_of_others_are_as_they_were(kernel):
    _, client = kernel
    execute(client, "import pandas as pd, evalkit as ek")
    execute(client, "rows = pd.DataFrame({'run_id': ['r'], 'case_id': ['c'], 'trial': [1], 'passed': [True]})")
    execute(client, "results = ek.schema.conform(rows.assign(answer='$x$ and $y$'))")
    ignored = "tex2jax_ignore"
    for cell, is_ours in (
        ("results", True), ("results[['case_id', 'answer']]", True), ("ek.show(results)", True),
        ("results.set_index('case_id')[['answer']]", True), ("ek.failures(results)", True),
        ("results[['input', 'answer', 'reason']]", True), ("results[['answer']].assign(theirs='$')", False),
        ("pd.DataFrame({'answer': ['$x$ and $y$']})", False),
    ):  # fmt: skip
        assert (ignored in shown_by(client, cell)) == is_ours, cell
    assert execute(client, "print(pd.get_option('display.html.use_mathjax'))")[0].strip() == "True"


def shown_by(client, cell):
    """What a cell shows, as nbconvert makes HTML of it."""
    found = []
    client.execute_interactive(cell, output_hook=lambda message: found.append(message), timeout=60)
    outputs = [nbformat.v4.output_from_msg(one) for one in found if one["msg_type"] == "execute_result"]
    node = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell, outputs=outputs)])
    body = HTMLExporter(template_name="basic").from_notebook_node(node)[0]
    tables = re.findall(r'<(?:table|div) [^>]*class="[^"]*"[^>]*>', body)
    return " ".join(tables)
