"""The case browser without a browser: filters, moves, verdicts, what is shown, and that nothing shown is markup."""

import json

import pytest

import evalkit as ek
from evalkit.errors import SettingsError
from evalkit.store import save_run
from frames import description, results, row

HOSTILE = ("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</style></div></table><b>", "\u202egnirts")


def tool_case(case_id, passed, **values):
    return row(case_id, values.pop("trial", 1), passed, tool_passed=passed, **values)


@pytest.fixture
def history(tmp_path):
    """A results folder with one run of five cases, of which two fail and one errs."""
    rows = [
        tool_case("a-listed", True, actual_tool="list_files", tags='["easy"]'),
        tool_case(
            "b-answered", False, actual_tool="none", answer="I cannot.", outcome="no_call", tags='["easy", "odd"]'
        ),
        tool_case("c-late", None, actual_tool=None, error="no reply in 30 s", expected_tool="read_file"),
        tool_case(
            "d-elsewhere", False, expected_tool="read_file", actual_tool="read_file", outcome="wrong_arguments",
            tags='["odd"]', expected_arguments='{"path": "a.txt", "lines": 3}', arguments_passed=False,
            actual_arguments='{"path": "b.txt", "lines": 3, "encoding": "utf-8"}',
            mismatches=json.dumps([
                {"path": "path", "kind": "value", "expected": "a.txt", "actual": "b.txt", "ok": False},
                {"path": "encoding", "kind": "extra_default", "actual": "utf-8", "ok": True},
            ]),
        ),
        row("e-capital", 1, True, kind="final_answer", expected_tool=None, expected="Paris", answer="It is Paris.",
            reviews='[{"reviewer": "tone", "passed": true, "choice": "A", "judge_model": "m", "reason": "well put"}]'),
    ]  # fmt: skip
    about = description("r1", system_prompt="Be kind.", planned=5)
    save_run(tmp_path / "r1.parquet", about, None, rows)
    return tmp_path


@pytest.fixture
def browser(history):
    return ek.widgets.CaseBrowser(ek.load_run("r1", results_dir=history), results_dir=history)


def shown(browser):
    return browser.shown["case_id"].tolist()


def on_view(browser):
    return browser._detail.value


def test_at_first_what_did_not_pass_is_shown(browser):
    assert (browser.tool, browser.tag, browser.outcome, browser.text) == ("(all)", "(all)", "(not passed)", "")
    assert shown(browser) == ["b-answered", "c-late", "d-elsewhere"]
    assert browser.row["case_id"] == "b-answered"


def test_where_everything_passed_everything_is_shown(history):
    results = ek.load_run("r1", results_dir=history)
    browser = ek.widgets.CaseBrowser(results[results["passed"].fillna(False)], results_dir=history)
    assert (browser.outcome, shown(browser)) == ("(all)", ["a-listed", "e-capital"])


@pytest.mark.parametrize(
    ("filters", "cases"),
    [
        ({"outcome": "(all)"}, ["a-listed", "b-answered", "c-late", "d-elsewhere", "e-capital"]),
        ({"outcome": "error"}, ["c-late"]),
        ({"tool": "read_file"}, ["c-late", "d-elsewhere"]),
        ({"tool": "(final answer)", "outcome": "(all)"}, ["e-capital"]),
        ({"tag": "odd"}, ["b-answered", "d-elsewhere"]),
        ({"tag": "easy", "outcome": "(all)"}, ["a-listed", "b-answered"]),
        ({"text": "CANNOT"}, ["b-answered"]),
        ({"text": "files answered"}, ["b-answered"]),
        ({"tool": "read_file", "tag": "easy"}, []),
    ],
)
def test_filters_narrow_each_other(browser, filters, cases):
    for name, value in filters.items():
        setattr(browser, name, value)
    assert {name: getattr(browser, name) for name in filters} == filters
    assert shown(browser) == cases
    assert browser.problem is None


def test_choices_say_how_many_trials_they_hold(browser):
    assert [label for label, _ in browser._tag.options] == ["(all)", "easy · 2", "odd · 2"]
    assert [label for label, _ in browser._outcome.options][:2] == ["(all)", "(not passed) · 3"]


def test_a_filter_that_no_trial_has_is_refused_with_the_nearest(browser):
    with pytest.raises(SettingsError, match=r"no trial here has the tool 'read_fil'\. Did you mean 'read_file'\?"):
        browser.tool = "read_fil"
    with pytest.raises(SettingsError, match=r"no trial here has the tag 'xyz'\. There are '\(all\)', 'easy', 'odd'\."):
        browser.tag = "xyz"


def test_buttons_go_on_and_back_and_stop_at_the_ends(browser):
    assert (browser._back.disabled, browser._on.disabled) == (True, False)
    browser._on.click()
    browser._on.click()
    assert (browser.position, browser._place.value) == (2, "3 of 3")
    assert (browser._back.disabled, browser._on.disabled) == (False, True)
    browser._on.click()
    assert browser.row["case_id"] == "d-elsewhere"
    browser._back.click()
    assert browser.row["case_id"] == "c-late"


def test_a_filter_begins_at_its_first_trial(browser):
    browser.position = 2
    browser.tag = "odd"
    assert (browser.position, browser.row["case_id"]) == (0, "b-answered")


def test_a_position_outside_is_refused(browser):
    with pytest.raises(SettingsError, match="position must be from 0 to 2, got 3"):
        browser.position = 3


def test_where_no_trial_passes_the_filters_that_is_said(browser):
    browser.text = "nowhere to be found"
    assert browser.row is None
    assert browser.position == 0
    assert "No trial passes these filters." in on_view(browser)
    assert "0 trials: outcome (not passed), text nowhere to be found" in browser.static()
    assert (browser._pass.disabled, browser._fail.disabled) == (True, True)


def test_no_results_at_all_are_no_error():
    browser = ek.widgets.CaseBrowser(results(row()).head(0))
    assert (browser.row, browser.problem) == (None, None)
    assert "0 trials" in browser.static()


def test_arguments_stand_side_by_side_and_only_what_counts_is_marked(browser):
    browser.position = 2
    rows = on_view(browser).split("<tr>")
    path, lines, encoding = (next(r for r in rows if f">{name}<" in r) for name in ("path", "lines", "encoding"))
    assert path.index("a.txt") < path.index("b.txt")
    assert "ek-worse" in path
    assert "right" in lines
    assert "ek-worse" not in lines
    assert "extra_default, allowed" in encoding
    assert "ek-worse" not in encoding


def test_the_messages_sent_begin_with_the_runs_system_prompt(browser):
    assert on_view(browser).index("Be kind.") < on_view(browser).index("What files are here?")


def test_a_dialogue_is_shown_message_by_message_with_its_calls():
    dialogue = [
        {"role": "user", "content": "Is it raining?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": '{"place": "Oslo"}'}}]},
        {"role": "tool", "tool_call_id": "1", "content": "rain"},
        {"role": "user", "content": [{"type": "text", "text": "And in Bergen?"}]},
    ]  # fmt: skip
    frame = results(tool_case("more", False, input=json.dumps(dialogue), actual_tool="none"))
    seen = on_view(ek.widgets.CaseBrowser(frame))
    said = ["Is it raining?", "→ get_weather({&#34;place&#34;: &#34;Oslo&#34;})", "rain", "And in Bergen?"]
    assert [text for text in said if text not in seen] == []


def test_an_error_is_no_failure_and_says_why(browser):
    browser.position = 1
    assert '<span class="ek-badge">error</span>' in on_view(browser)
    assert "no reply in 30 s" in on_view(browser)


def test_a_final_answer_stands_beside_the_expected_one_with_its_reviews(browser):
    browser.outcome, browser.tool = "(all)", "(final answer)"
    seen = on_view(browser)
    assert seen.index("Paris") < seen.index("It is Paris.") < seen.index("Reviews") < seen.index("well put")


def test_a_verdict_is_written_shown_and_read_again(browser, history):
    browser._author.value, browser._note.value = "ana", "it was asked not to"
    browser._pass.click()
    assert browser.problem is None
    assert "it was asked not to" in on_view(browser)
    assert "Written to ana.jsonl." in browser._told.value
    said = ek.load_annotations(results_dir=history)
    assert said[["run_id", "case_id", "trial", "author", "passed", "note"]].values.tolist() == [
        ["r1", "b-answered", 1, "ana", True, "it was asked not to"]
    ]
    again = ek.widgets.CaseBrowser(ek.load_run("r1", results_dir=history), results_dir=history)
    assert "it was asked not to" in on_view(again)
    again._on.click()
    assert "it was asked not to" not in on_view(again)


def test_a_verdict_can_be_on_what_one_reviewer_judges(browser, history):
    assert browser._question.options == (("the whole answer", None),)
    browser.outcome, browser.tool = "(all)", "(final answer)"
    assert [name for name, _ in browser._question.options] == ["the whole answer", "what tone judges"]
    browser._author.value, browser._question.value = "ana", "tone"
    browser._pass.click()
    assert browser.problem is None
    assert ek.load_annotations(results_dir=history)["reviewer"].tolist() == ["tone"]
    assert on_view(browser).index("What people said") < on_view(browser).rindex("tone")
    browser.tool = "(all)"
    assert browser._question.value is None


def test_a_verdict_that_cannot_be_written_says_why(browser):
    browser._author.value = "../ana"
    browser._fail.click()
    assert isinstance(browser.problem, ValueError)
    assert "It becomes the name of a file." in browser._told.value


@pytest.mark.parametrize("payload", HOSTILE)
def test_nothing_that_came_from_data_is_markup(payload):
    said = dict.fromkeys(("input", "answer", "reason", "expected_tool", "actual_tool", "outcome"), payload)
    said |= {"tags": json.dumps([payload]), "expected_arguments": json.dumps({payload: payload})}
    said |= {"actual_arguments": payload, "tool_calls": json.dumps([{"name": payload, "arguments": payload}] * 2)}
    said |= {"mismatches": json.dumps([{"path": payload, "kind": payload, "note": payload}])}
    browser = ek.widgets.CaseBrowser(results(row(payload, 1, False, **said), run_id=f"r{payload}"))
    for html in (on_view(browser), str(browser.static())):
        assert payload not in html
        assert not any(f"<{tag}" in html for tag in ("script", "img", "svg", "b>gnirts"))


def test_the_static_twin_begins_at_the_trial_on_view_and_says_how_many_there_are(history):
    frame = results(*(tool_case(f"case-{number:02}", False) for number in range(30)))
    browser = ek.widgets.CaseBrowser(frame)
    assert "30 trials: outcome (not passed). Here 1 to 20" in browser.static()
    browser.position = 25
    twin = browser._repr_mimebundle_()["text/html"]
    assert "Here 26 to 30" in twin
    assert twin.count("<details open") == 1
    assert ("case-24" in twin, "case-25" in twin) == (False, True)


def test_what_is_given_stays_as_it_was(history):
    frame = ek.load_run("r1", results_dir=history)
    before = frame.copy()
    browser = ek.widgets.CaseBrowser(frame, results_dir=history)
    on_view, passing = browser.row, browser.shown
    on_view["case_id"] = passing.loc[0, "case_id"] = "changed"
    assert frame.equals(before)
    assert browser.row["case_id"] == "b-answered"
