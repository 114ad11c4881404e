"""A run through an endpoint that mixes all that endpoints have been seen to say."""

import evalkit as ek
from odd_endpoint import TOOLS, cases_of, drawn, script, wrongly_named


def test_each_trial_is_rightly_named_whatever_the_endpoint_says(endpoint):
    endpoint.script = script
    kinds = drawn(300)
    dataset = ek.Dataset(name="odd", cases=cases_of(kinds), tools=TOOLS)
    model = ek.OpenAIModel("mock-small", base_url=endpoint.url)
    results = ek.run(dataset, model=model, save=False, progress=False)
    assert len(results) == 300
    assert wrongly_named(kinds, results) == []
