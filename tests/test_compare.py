import json
import math

import numpy as np
import pandas as pd
import pytest

import evalkit as ek
from evalkit.compare_pairs import STATUSES
from evalkit.store import save_run
from frames import description, results, row


def runs(before, after, **values):
    """Two runs of one trial a case from {case id: passed, or a score}."""
    sides = []
    for run_id, side in (("one", before), ("two", after)):
        rows = [
            row(name, 1, None if score is None else score > 0, score=None if score is None else float(score), **values)
            for name, score in side.items()
        ]
        sides.append(results(*rows, run_id=run_id))
    return sides


def many(**counts):
    """Two runs with so many cases that go up, go down, stay passed or stay failed."""
    scores = {"up": (0, 1), "down": (1, 0), "good": (1, 1), "bad": (0, 0)}
    named = {f"{kind}{n}": scores[kind] for kind, count in counts.items() for n in range(count)}
    return runs({k: v[0] for k, v in named.items()}, {k: v[1] for k, v in named.items()})


def statuses(comparison):
    return dict(zip(comparison.cases["case_id"], comparison.cases["status"], strict=True))


@pytest.mark.parametrize(
    ("baseline", "candidate", "status", "flipped"),
    [
        (0, 1, "improved", True),
        (1, 0, "regressed", True),
        (1, 0.5, "regressed", False),
        (0.5, 1, "improved", False),
        (1, 1, "unchanged", False),
        (0, 0, "unchanged", False),
        (None, 1, "errored", False),
        (1, None, "errored", False),
        (None, None, "errored", False),
    ],
)
def test_what_became_of_a_case(baseline, candidate, status, flipped):
    case = ek.compare(*runs({"c": baseline}, {"c": candidate})).cases.iloc[0]
    assert (case["status"], bool(case["flipped"])) == (status, flipped)


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"outcome": "wrong_arguments"}, "changed failure"),
        ({"actual_tool": "read_file"}, "changed failure"),
        ({"mismatches": '[{"path":"a","kind":"value"}]'}, "changed failure"),
        ({"reviews": '[{"reviewer":"tone","passed":false,"reason":"other words"}]'}, "unchanged"),
        ({"reviews": '[{"reviewer":"tone","passed":true,"reason":"rude"}]'}, "changed failure"),
        ({"reason": "said in other words", "answer": "something else"}, "unchanged"),
    ],
)
def test_a_failure_of_another_kind_is_told_apart(values, status):
    first = {"reviews": '[{"reviewer":"tone","passed":false,"reason":"rude"}]', "mismatches": "[]"}
    one = results(row("c", 1, False, **first), run_id="one")
    two = results(row("c", 1, False, **(first | values)), run_id="two")
    assert statuses(ek.compare(one, two)) == {"c": status}


def test_cases_are_paired_by_id_whatever_the_order_of_rows():
    one, two = many(up=3, down=2, good=20, bad=4)
    straight = ek.compare(one, two)
    shuffled = ek.compare(one.sample(frac=1, random_state=1), two.sample(frac=1, random_state=2))
    assert statuses(shuffled) == statuses(straight)
    pd.testing.assert_frame_equal(shuffled.summary, straight.summary)
    pd.testing.assert_frame_equal(shuffled.tools, straight.tools)


def test_added_removed_edited_and_renamed_cases_are_not_compared_but_told():
    one = results(
        row("same", 1, True, case_hash="a"), row("edited", 1, True, case_hash="b"), row("gone", 1, True, case_hash="c"),
        row("old name", 1, True, case_hash="d"), run_id="one",
    )  # fmt: skip
    two = results(
        row("new name", 1, True, case_hash="d"), row("new", 1, False, case_hash="e"),
        row("edited", 1, False, case_hash="b2", input="Another question?"), row("same", 1, True, case_hash="a"),
        run_id="two",
    )  # fmt: skip
    comparison = ek.compare(one, two)
    assert statuses(comparison) == {
        "same": "unchanged", "edited": "changed case", "gone": "removed", "old name": "removed", "new name": "added",
        "new": "added",
    }  # fmt: skip
    assert comparison.summary.loc[0, ["n", "improved", "regressed", "added", "removed", "changed_case"]].tolist() == [
        1, 0, 0, 2, 2, 1,
    ]  # fmt: skip
    said = " ".join(comparison.warnings)
    assert "1 case changed in what is asked or expected, under the same id, and is not compared: edited." in said
    assert "1 case of the same content under another id, not compared: old name → new name." in said
    assert "Only 2 of 6 cases are in both runs (2 only in the baseline, 2 only in the candidate)" in said
    assert [name for name, _ in comparison.case("edited").content] == ["input"]


def test_without_fingerprints_another_text_is_another_case():
    one, two = runs({"w1": 1, "w2": 1}, {"w1": 1, "w2": 0})
    two.loc[two["case_id"] == "w2", "input"] = "Another question?"
    assert statuses(ek.compare(one, two)) == {"w1": "unchanged", "w2": "changed case"}


def test_trials_are_averaged_within_a_case_and_never_multiply_rows():
    one = results(*(row("c", trial, trial > 1) for trial in (1, 2, 3)), row("d", 1, True), run_id="one")
    two = results(row("c", 1, True), *(row("d", trial, trial == 1) for trial in (1, 2)), run_id="two")
    comparison = ek.compare(one, two)
    cases = comparison.cases.set_index("case_id")
    assert cases.loc["c", "baseline_score"] == pytest.approx(2 / 3)
    assert cases["difference"].tolist() == pytest.approx([1 / 3, -1 / 2])
    assert cases["baseline_trials"].tolist() == [3, 1]
    assert cases["candidate_trials"].tolist() == [1, 2]
    assert cases["status"].tolist() == ["improved", "regressed"]
    assert cases["flipped"].tolist() == [True, True]
    assert cases.loc["c", "baseline_trial"] == 1  # the first that failed
    assert any(text.startswith("Unequal trials: 2 a case in the baseline, 1.5") for text in comparison.warnings)


def test_an_error_is_left_out_of_a_case_and_counted():
    one = results(row("c", 1, None), row("c", 2, True), row("d", 1, True), run_id="one")
    two = results(row("c", 1, True), row("c", 2, True), row("d", 1, True), run_id="two")
    comparison = ek.compare(one, two)
    case = comparison.cases.iloc[0]
    assert (case["status"], case["baseline_score"], case["baseline_errors"]) == ("unchanged", 1.0, 1)
    assert "Errored trials: 1 in the baseline, 0 in the candidate." in comparison.warnings


@pytest.mark.parametrize(
    ("counts", "p", "verdict"),
    [
        ({"up": 5, "good": 195}, 0.0625, "no evidence of a difference"),
        ({"up": 6, "good": 194}, 0.03125, "better"),
        ({"down": 6, "good": 194}, 0.03125, "worse"),
        ({"up": 1, "down": 8, "good": 11}, 0.0390625, "worse"),
        ({"up": 5}, 0.0625, "too few cases"),
        ({"good": 200}, 1.0, "no evidence of a difference"),
        ({"good": 20}, 1.0, "too few cases"),
        ({"up": 30, "down": 30, "good": 40}, 1.0, "too few cases"),
    ],
)
def test_the_verdict_of_passes_and_failures(counts, p, verdict):
    comparison = ek.compare(*many(**counts))
    assert comparison.summary["p_value"].item() == pytest.approx(p)
    assert comparison.verdict == verdict == comparison.summary["verdict"].item()
    assert comparison.sentence.casefold().startswith(verdict)


def test_half_steps_count():
    worse = ek.compare(*runs({f"c{n}": 1 for n in range(40)}, {f"c{n}": 0.5 for n in range(40)}))
    assert (worse.verdict, worse.summary["flipped"].item()) == ("worse", 0)
    few = ek.compare(*runs({f"c{n}": 1 for n in range(3)}, {f"c{n}": 0.5 for n in range(3)}))
    assert (few.verdict, few.summary["p_value"].item()) == ("too few cases", 0.25)


def test_the_pass_rate_can_be_compared_instead_of_the_score():
    one, two = runs({f"c{n}": 1 for n in range(40)}, {f"c{n}": 0.5 for n in range(40)})
    comparison = ek.compare(one, two, on="passed")
    assert (comparison.verdict, comparison.summary["difference"].item()) == ("no evidence of a difference", 0.0)
    assert set(comparison.cases["status"]) == {"unchanged"}
    assert comparison.cases["candidate_score"].tolist() == [0.5] * 40


def test_equal_means_with_many_flips_are_not_called_no_change():
    comparison = ek.compare(*many(up=12, down=12, good=300))
    assert comparison.summary.loc[0, ["difference", "improved", "regressed", "flipped"]].tolist() == [0.0, 12, 12, 24]
    assert "The means are equal, and yet 24 cases changed, in both directions" in comparison.sentence
    assert "both directions" not in ek.compare(*many(good=300)).sentence


def test_the_sentence_names_size_interval_p_reach_and_the_cases_needed():
    comparison = ek.compare(*many(down=12, up=2, good=100, bad=6))
    row = comparison.summary.iloc[0]
    assert comparison.sentence.startswith(
        "Worse: the mean score fell from 0.933 to 0.850 over 120 shared cases (−0.083, 95 % interval −0."
    )
    assert f"p = {row['p_value']:.3g}): 2 improved, 12 regressed." in comparison.sentence
    assert f"differences from {row['smallest_detectable']:.3f} up (power 80 %)" in comparison.sentence
    needed = math.ceil(120 * (row["smallest_detectable"] / 0.04) ** 2)
    assert comparison.sentence.endswith(f"to see 0.04 takes about {needed:,} cases.")


def test_errors_that_could_turn_the_verdict_are_named():
    before = {f"c{n}": 1 for n in range(60)} | {f"e{n}": 1 for n in range(6)}
    after = {f"c{n}": 1 for n in range(60)} | {f"e{n}": None for n in range(6)}
    comparison = ek.compare(*runs(before, after))
    assert comparison.sentence.endswith("The verdict depends on 6 errored cases.")
    assert any("e0, e1, e2, e3, e4, e5" in text for text in comparison.warnings)
    calm = ek.compare(*runs(before, after | {f"e{n}": 1 for n in range(1, 6)}))
    assert "depends on" not in calm.sentence


def test_tools_and_tags_are_families_of_their_own():
    names = {f"{tool}{n}": tool for tool in ("a", "b") for n in range(12)}
    one, two = (
        results(
            *(
                row(case, 1, not (tool == "a" and late), expected_tool=tool, tags=json.dumps([tool, "all"]))
                for case, tool in names.items()
            ),
            row("final", 1, True, expected_tool=None, kind="final_answer", tags="[]"),
            run_id=str(late),
        )
        for late in (False, True)
    )
    comparison = ek.compare(one, two)
    tools = comparison.tools
    assert tools["expected_tool"].fillna("NA").tolist() == ["a", "b", "NA"]
    assert tools["n"].tolist() == [12, 12, 1]
    assert tools["regressed"].tolist() == [12, 0, 0]
    assert tools.loc[0, "p_holm"] == pytest.approx(3 * tools.loc[0, "p_value"])
    assert tools["verdict"].tolist() == ["worse", "too few cases", "too few cases"]
    assert comparison.tags.set_index("tag")["n"].to_dict() == {"a": 12, "all": 24, "b": 12}
    assert (tools["baseline_low"] < tools["baseline"]).all()


def test_a_tool_seen_in_one_run_only_stays_in_the_table_without_rates():
    one = results(row("c", 1, True, expected_tool="a"), run_id="one")
    two = results(row("d", 1, True, expected_tool="b"), run_id="two")
    comparison = ek.compare(one, two)
    assert comparison.tools["expected_tool"].tolist() == ["a", "b"]
    assert comparison.tools["n"].tolist() == [0, 0]
    assert comparison.tools[["baseline", "difference", "p_value", "p_holm"]].isna().all(axis=None)
    assert comparison.verdict == "too few cases"
    assert "The runs have no case in common: nothing is compared." in comparison.warnings
    assert "share no case that was scored in both" in comparison.sentence


@pytest.mark.parametrize("side", ["one", "two", "both"])
def test_all_errors_and_empty_frames_are_compared_without_a_fall(side):
    one, two = runs({"c": 1}, {"c": 1})
    empty, errors = one.head(0), results(row("c", 1, None), run_id="three")
    for nothing in (empty, errors):
        comparison = ek.compare(nothing if side != "two" else one, nothing if side != "one" else two)
        assert (comparison.verdict, comparison.summary["n"].item()) == ("too few cases", 0)
        assert "share no case that was scored in both" in comparison._repr_html_()


def test_a_run_compared_with_itself_shows_no_difference_and_says_why():
    one, _ = runs({f"c{n}": n % 2 for n in range(300)}, {"c0": 1})
    comparison = ek.compare(one, one)
    assert set(comparison.cases["status"]) == {"unchanged"}
    assert comparison.summary["difference"].item() == 0
    assert "Both sides are the same run, 'one': no difference can show." in comparison.warnings


def test_cases_that_share_clusters_are_said_to_count_as_such():
    clustered = ek.compare(*runs({f"c{n}": 1 for n in range(8)}, {f"c{n}": 0 for n in range(8)}, cluster="k"))
    assert clustered.warnings[-1].startswith("8 compared cases stand in 1 cluster, and a cluster counts as one")
    assert not [text for text in ek.compare(*many(up=3, down=2)).warnings if "cluster" in text]


def test_clusters_are_the_units():
    before = {f"c{n}": 1 for n in range(60)}
    after = {f"c{n}": 0 if n < 12 else 1 for n in range(60)}
    one, two = runs(before, after)
    clustered = [frame.assign(cluster=[f"k{int(name[1:]) // 12}" for name in frame["case_id"]]) for frame in (one, two)]
    assert ek.compare(one, two).verdict == "worse"
    comparison = ek.compare(*clustered)
    assert (comparison.verdict, comparison.summary["units"].item()) == ("too few cases", 5)


def test_other_rules_of_scoring_are_not_passed_over():
    one, two = runs({"c": 1}, {"c": 1})
    comparison = ek.compare(one.assign(scoring_hash="1"), two.assign(scoring_hash="2"))
    assert "their scores are not comparable" in comparison.warnings[0]
    assert "`evalkit rescore one` and `evalkit rescore two`" in comparison.warnings[0]
    assert comparison.differences["what"].tolist() == ["scoring (fingerprint)"]


def test_nothing_that_was_given_is_changed_and_the_same_data_give_the_same_numbers():
    rng = np.random.default_rng(5)
    scores = [{f"c{n}": float(s) for n, s in enumerate(rng.choice([0, 0.5, 1], 80))} for _ in range(2)]
    one, two = runs(*scores)
    kept = one.copy(deep=True), two.copy(deep=True)
    first, second = ek.compare(one, two), ek.compare(one, two)
    pd.testing.assert_frame_equal(one, kept[0])
    pd.testing.assert_frame_equal(two, kept[1])
    pd.testing.assert_frame_equal(first.summary, second.summary)
    assert first._repr_html_() == second._repr_html_()


def test_exchanging_the_sides_turns_the_signs_and_nothing_else():
    one, two = many(up=3, down=9, good=50)
    there, back = ek.compare(one, two).summary.iloc[0], ek.compare(two, one).summary.iloc[0]
    assert back["difference"] == -there["difference"]
    assert (back["ci_low"], back["ci_high"]) == (-there["ci_high"], -there["ci_low"])
    assert back["p_value"] == there["p_value"]
    assert (back["improved"], back["regressed"]) == (there["regressed"], there["improved"])


def test_long_ids_and_large_numbers_are_what_they_were():
    held = '{"order_id":1234567890123456789}'
    ids = ["007", "1e3", "true", "NA"]
    one = results(*(row(i, 1, True, expected_arguments=held, actual_arguments=held) for i in ids[:3]), run_id="one")
    two = results(*(row(i, 1, True, expected_arguments=held, actual_arguments=held) for i in ids[1:]), run_id="two")
    comparison = ek.compare(one, two)
    assert comparison.cases["case_id"].tolist() == ids
    assert comparison.case("true").arguments == (
        ("order_id", "1234567890123456789", "1234567890123456789", "", "1234567890123456789", ""),
    )


def test_changes_are_in_order_of_weight_and_every_status_has_its_place():
    comparison = ek.compare(*many(up=2, down=2, good=2))
    assert comparison.changes["status"].tolist() == ["regressed"] * 2 + ["improved"] * 2
    assert set(STATUSES) == {
        "improved", "regressed", "unchanged", "changed failure", "added", "removed", "changed case", "errored",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"on": "scores"}, "on must be 'score' or 'passed', got 'scores'. Did you mean 'score'?"),
        ({"worth_knowing": 0}, "worth_knowing must be above 0 and at most 1, got 0"),
        ({"worth_knowing": True}, "worth_knowing must be above 0 and at most 1, got True"),
    ],
)
def test_wrong_settings_are_refused(given, message):
    with pytest.raises(ValueError) as error:
        ek.compare(*runs({"c": 1}, {"c": 1}), **given)
    assert str(error.value) == message


def test_several_runs_in_one_frame_and_no_run_at_all_are_refused():
    one, two = runs({"c": 1}, {"c": 1})
    with pytest.raises(ValueError, match=r"baseline must be the results of one run, got 2: 'one', 'two'\. Choose one"):
        ek.compare(pd.concat([one, two]), two)
    with pytest.raises(ValueError, match="candidate must be a run's id or its results, got None: no run is chosen"):
        ek.compare(one, None)
    with pytest.raises(ek.SchemaError, match="not a results frame"):
        ek.compare(one, two.drop(columns="passed"))
    with pytest.raises(KeyError, match=r"no case 'cc' in either run\. Did you mean 'ccc'"):
        ek.compare(*runs({"ccc": 1}, {"ccc": 1})).case("cc")


def test_a_frame_of_another_tool_with_the_key_and_passed_alone_is_compared():
    frames = [
        pd.DataFrame({"run_id": name, "case_id": ["a", "b"], "trial": 1, "passed": passed})
        for name, passed in (("x", [True, False]), ("y", [True, True]))
    ]
    comparison = ek.compare(*frames)
    assert statuses(comparison) == {"a": "unchanged", "b": "improved"}
    assert comparison.cases["candidate_score"].tolist() == [1.0, 1.0]


def test_runs_on_disk_are_found_by_id_and_their_frames_know_their_description(tmp_path):
    tool = {"type": "function", "function": {"name": "read", "description": "Read.", "parameters": {}}}
    for name, prompt, words in (("one", "Be brief.\nBe kind.", "Read."), ("two", "Be brief.\nBe exact.", "Read it.")):
        tools = [tool | {"function": tool["function"] | {"description": words}}]
        about = description(
            name, system_prompt=prompt, settings={"temperature": 0.0 if name == "one" else 1.0, "extra": {"seed": 1}},
            tools_hash=words, prompt_hash=prompt, settings_hash=name, evalkit_version="0.1",
            started_at=f"2026-11-30T1{len(words)}:00:00+00:00", judge_model=None if name == "one" else "judge-2",
        )  # fmt: skip
        save_run(tmp_path / f"{name}.parquet", about, {"tools": tools, "cases": []}, [row("c", 1, True)])
    for sides in (("one", "latest"), [ek.load_run(name, results_dir=tmp_path) for name in ("one", "two")]):
        found = ek.compare(*sides, results_dir=tmp_path).differences.set_index("what")
        assert found.index.tolist() == ["setting temperature", "system prompt", "tool read", "judge model"]
        assert found.loc["setting temperature", ["baseline", "candidate"]].tolist() == ["0.0", "1.0"]
        assert found.loc["system prompt", "diff"] == " Be brief.\n-Be kind.\n+Be exact."
        assert '-  "description": "Read.",' in found.loc["tool read", "diff"]
        assert found.loc["judge model", ["baseline", "candidate"]].tolist() == ["not set", "judge-2"]


def test_without_descriptions_the_fingerprints_are_named_and_run_ids_lead_nowhere(tmp_path):
    one, two = runs({"c": 1}, {"c": 1})
    one = one.assign(prompt_hash="p1", run_id="../../etc/passwd", model="m1")
    comparison = ek.compare(one, two.assign(prompt_hash="p2", run_id="latest", model="m2"), results_dir=tmp_path)
    assert comparison.differences["what"].tolist() == ["model", "system prompt (fingerprint)"]


def test_unfinished_runs_are_compared_and_said_to_be_unfinished():
    one, two = runs({"c": 1}, {"c": 1})
    comparison = ek.compare(one, two.assign(status="partial"))
    assert "The candidate is partial: `evalkit resume two` does the rest." in comparison.warnings


def test_a_case_side_by_side():
    expected = '{"path":"a.txt","limit":5,"deep":{"list":[1,2]},"when":{"$date":"2026-01-02"}}'
    one = results(row("c", 1, True, expected_arguments=expected, actual_arguments=expected, answer="It is Paris."))
    mismatches = [
        {"path": "limit", "kind": "type", "expected": 5, "actual": "5"},
        {"path": "deep.list[1]", "kind": "value", "expected": 2, "actual": 3},
        {"path": "more", "kind": "extra", "actual": True, "ok": True},
        {"path": "when", "kind": "date", "note": "ambiguous"},
    ]
    two = results(
        row(
            "c", 1, False, expected_arguments=expected, answer="It is Lyon.", mismatches=json.dumps(mismatches),
            actual_arguments='{"path":"a.txt","limit":"5","deep":{"list":[1,3]},"more":true,"when":"02.01."}',
            reviews='[{"reviewer":"tone","passed":false,"score":0.2,"reason":"rude"}]',
        ),
        run_id="two",
    )  # fmt: skip
    case = ek.compare(one, two).case("c")
    assert [tuple(argument) for argument in case.arguments] == [
        ("path", '"a.txt"', '"a.txt"', "", '"a.txt"', ""),
        ("limit", "5", "5", "", '"5"', "type"),
        ("deep.list[0]", "1", "1", "", "1", ""),
        ("deep.list[1]", "2", "2", "", "3", "value"),
        ("when", '{"$date": "2026-01-02"}', '{"$date": "2026-01-02"}', "", '"02.01."', "date (ambiguous)"),
        ("more", None, None, "", "true", "extra, allowed"),
    ]
    assert [tuple(piece) for piece in case.answer if piece.kind != "same"] == [("removed", "Paris"), ("added", "Lyon")]
    assert [tuple(review) for review in case.reviews] == [("tone", None, (False, 0.2, "rude"))]


@pytest.mark.parametrize("sent", ["{broken", '"text"', "[1, 2]", "null", "", '{"a": 1e999}', '{"a":1,"a":2}'])
def test_arguments_of_any_form_are_shown(sent):
    one = results(row("c", 1, False, expected_arguments='{"a":1}', actual_arguments=sent), run_id="one")
    two = results(row("c", 1, False, expected_arguments='{"a":1}', actual_arguments=None), run_id="two")
    comparison = ek.compare(one, two)
    assert comparison.case("c").arguments
    assert "Arguments" in comparison.case("c")._repr_html_()


DIALOGUE = [{"role": "user", "content": "Which?"}]


@pytest.mark.parametrize("asked", ["Which files?", DIALOGUE], ids=["text", "dialogue"])
@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (["list_files", "read_file"], ["list_files", "search"], {"changed case": 1, "unchanged": 1}),
        (["list_files", "read_file"], ["search", "read_file"], {"changed case": 1, "unchanged": 1}),
        (["list_files", "read_file"], ["search", "none"], {"changed case": 2}),
        (["list_files", "read_file"], ["read_file", "search"], {"changed case": 1, "unchanged": 1}),
        (
            ["list_files", "read_file", "none"],
            ["search", "read_file"],
            {"changed case": 1, "removed": 1, "unchanged": 1},
        ),
        (["list_files"], ["search", "none"], {"changed case": 1, "added": 1}),
        (["list_files"], ["search"], {"changed case": 1}),
        (["list_files"], ["list_files", "search"], {"removed": 1, "added": 2}),  # the same content under another id
    ],
)
def test_an_edited_expectation_is_a_changed_case_among_equal_inputs_too(asked, before, after, found):
    tools = [
        {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": {}}}}
        for name in ("list_files", "read_file", "search")
    ]
    sides = []
    for number, expected in enumerate((before, after)):
        cases = [{"input": asked, "expected_tool": name} for name in expected] + [
            {"input": "Joke", "expected_tool": "none"}
        ]
        dataset = ek.Dataset(name="d", cases=cases, tools=tools)
        sides.append(ek.score(dataset, [None] * len(cases), model="m").assign(run_id=f"r{number}"))
    comparison = ek.compare(*sides)
    counts = comparison.cases["status"].value_counts().to_dict()
    counts["unchanged"] -= 1  # the joke
    assert {status: count for status, count in counts.items() if count} == found
    for case_id in comparison.cases.loc[comparison.cases["status"] == "changed case", "case_id"]:
        assert case_id in set(sides[1]["case_id"])
        assert "expected_tool" in dict(comparison.case(case_id).content)


def test_cases_with_ids_of_their_own_are_never_paired_by_what_they_ask():
    before = results(row("first", case_hash="a" * 12), run_id="one")
    after = results(row("second", case_hash="b" * 12), run_id="two")
    assert statuses(ek.compare(before, after)) == {"first": "removed", "second": "added"}


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({}, {"id": "files"}, {"changed case": 1, "unchanged": 1}),
        ({"id": "files"}, {}, {"changed case": 1, "unchanged": 1}),
        ({"id": "files"}, {"id": "files"}, {"changed case": 1, "unchanged": 1}),
        ({"id": "files"}, {"id": "a list"}, {"removed": 1, "added": 1, "unchanged": 1}),
    ],
)
def test_an_edited_case_that_is_given_an_id_or_loses_it_is_a_changed_case(before, after, found):
    tools = [{"type": "function", "function": {"name": name}} for name in ("list_files", "search")]
    sides = []
    for number, (own, expected) in enumerate(((before, "list_files"), (after, "search"))):
        cases = [
            {"input": "Which?", "expected_tool": expected, **own}, {"input": "Joke", "expected_tool": "none"},
        ]  # fmt: skip
        dataset = ek.Dataset(name="d", cases=cases, tools=tools)
        sides.append(ek.score(dataset, [None, None], model="m").assign(run_id=f"r{number}"))
    assert ek.compare(*sides).cases["status"].value_counts().to_dict() == found
