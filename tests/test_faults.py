"""A run against a server that fails one request in five, in every way: each case ends once, and as it must."""

import pytest

import evalkit as ek
from unreliable import FAULTS, faults_of, to_be_expected, unreliable

CASES = 400


@pytest.mark.slow
def test_every_case_ends_scored_or_as_the_right_error_after_the_stated_requests(endpoint, tmp_path):
    endpoint.script = unreliable
    cases = [{"id": f"c{n}", "input": f"list files {n}", "expected_tool": "list_files"} for n in range(CASES)]
    dataset = ek.Dataset(name="unreliable", cases=cases, tools=[{"name": "list_files"}])
    model = ek.OpenAIModel("mock-small", base_url=endpoint.url, timeout=5)
    results = ek.run(dataset, model=model, concurrency=32, results_dir=tmp_path, progress=False)
    assert results["case_id"].tolist() == [f"c{n}" for n in range(CASES)]
    texts = [f"list files {n}" for n in range(CASES)]
    expected = [to_be_expected(text) for text in texts]
    assert results["attempts"].tolist() == [requests for requests, _ in expected]
    assert results["error_kind"].fillna("none").tolist() == [kind or "none" for _, kind in expected]
    assert [endpoint.asked[text] for text in texts] == [requests for requests, _ in expected]
    assert results["passed"].isna().equals(results["error_kind"].notna())
    assert results["passed"].dropna().all()
    befallen = {fault for text in texts for fault in faults_of(text, endpoint.asked[text])}
    assert befallen == {name for name, *_ in FAULTS}
