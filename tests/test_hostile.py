"""Hostile text in every field of datasets, replies and run files, through every command: it stays text.

Nothing that a terminal obeys is printed, no cell computes, Markdown has no link, picture or HTML of data's making, and
nothing outside the project is read or written. Browsers see the same project in `test_hostile_browser.py`.
"""

import csv
import io
import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import mistune
import pandas as pd
import pyarrow.parquet as pq
import pytest

import evalkit as ek
from evalkit import cli, masking
from evalkit.cli import main
from evalkit.report_files import write_review
from evalkit.runs import HistoryWarning
from evalkit.store import save_run
from frames import description, row
from hostile import FORMULA, NUMBER, OBEYED, WEEK, Canary, dataset, hostile_project, payloads, save_runs, script

READ = mistune.create_markdown(escape=False, plugins=["url", "table", "strikethrough", "math", "footnotes"])
DRAWN = set("svg metadata RDF Work type format creator Agent title defs style g path use clipPath rect".split())
BENIGN = set("p h1 h2 ul li strong em table thead tbody tr th td code".split())


class Elements(HTMLParser):
    """The elements that a browser would make of a text, each with its attributes."""

    def __init__(self, html):
        super().__init__()
        self.found = []
        self.feed(html)

    def handle_starttag(self, name, attributes):
        self.found.append((name, dict(attributes)))


def assert_plain_markdown(text, pictures=()):
    assert OBEYED.findall(text) == []
    for name, attributes in Elements(READ(text)).found:
        if name == "img":
            assert attributes["src"] in pictures
        else:
            assert name in BENIGN, (name, attributes)
            assert attributes.keys() <= {"style"}


def assert_no_formula(text):
    """Of CSV: no cell that a spreadsheet would compute; what is numbers all down a column may have its sign."""
    head, *rows = csv.reader(io.StringIO(text))
    for name, *cells in zip(head, *rows, strict=True):
        computed = [cell for cell in cells if FORMULA.match(cell) and not NUMBER.fullmatch(cell)]
        assert computed == [], name
        assert not FORMULA.match(name)


@pytest.fixture
def canary(tmp_path):
    with Canary(tmp_path) as found:
        yield found
        assert found.untouched()


@pytest.fixture
def say(monkeypatch, capsys):
    """Run a command in this process; whatever it prints must be harmless and tell nothing of the canary."""
    monkeypatch.delenv("EVALKIT_RESULTS", raising=False)

    def call(*words):
        capsys.readouterr()
        code = main([str(word) for word in words])
        shown = capsys.readouterr()
        assert OBEYED.findall(shown.out + shown.err) == []
        assert "canary-5e8b1f" not in shown.out + shown.err
        return code, shown.out, shown.err

    return call


@pytest.fixture
def project(tmp_path, canary, endpoint, monkeypatch):
    """A project with one dataset, asked of a server whose every word is hostile."""
    texts = payloads(canary)
    folder = tmp_path / "project"
    (folder / "eval_data").mkdir(parents=True)
    (folder / "eval_data" / "hostile.json").write_text(json.dumps(dataset(texts)), encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    endpoint.script = script(texts)
    return folder


def test_no_command_obeys_what_it_is_given(project, say, endpoint):
    model = ("--model", "=mock\x1b[2J<b>", "--label", "=1+1 <img src=x>")
    assert say("check")[0] == 0
    assert say("run", "hostile", *model, "--dry-run")[0] == 0
    for _ in range(2):
        code, output, errors = say("run", "hostile", *model)
        assert (code, errors) == (0, "")
        assert r"\x1b[2J\x1b[1;31mred\x1b]0;title\x07" in output
    assert say("resume", "latest", "--errors")[0] == 0
    assert say("rescore", "latest")[0] == 0
    assert "=1+1 <img src=x>" in say("runs")[1]
    assert say("check", "--model", "mock")[0] in (0, 2)
    for form in ("text", "markdown", "json"):
        code, output, _ = say("compare", "latest~1", "latest", "--format", form)
        assert code == 0
        if form == "markdown":
            assert_plain_markdown(output)
    assert json.loads(output)["verdict"]
    assert list(project.parent.rglob("owned*")) == []
    for path in project.rglob("*.parquet"):
        assert b"canary-5e8b1f" not in path.read_bytes()


@pytest.mark.parametrize("form", ["csv", "json", "jsonl"])
def test_exports_compute_nothing_and_steer_no_terminal(project, say, form, tmp_path):
    say("run", "hostile", "--model", "mock")
    _, output, _ = say("export", "latest", "--format", form)
    assert say("export", "latest", "--format", form, "--output", tmp_path / "out")[0] == 0
    assert (tmp_path / "out").read_bytes().decode() == output
    held = ek.load_run("latest")["input"].tolist()
    if form == "csv":
        assert_no_formula(output)
    else:
        rows = json.loads(output) if form == "json" else [json.loads(line) for line in output.splitlines()]
        assert [one["input"] for one in rows] == held  # nothing is lost: an escape of JSON's own is the text itself


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("\n=1", "'\n=1"), ("\r=1", "'\\r=1"), (" =1", "' =1"), ("\u3000@A", "'\u3000@A"), ("\u200b=1", "'\u200b=1"),
        ("\uff1d1", "'\uff1d1"), ("\uff0b1", "'\uff0b1"), ("\uff0d1", "'\uff0d1"), ("\uff20A", "'\uff20A"),
        ("\ufeff=1", "\\ufeff=1"), ("a\r\nb\tc", "a\nb\tc"), ("\x1b[2J", "\\x1b[2J"), ("\u202ex", "\\u202ex"),
        ("a=1", "a=1"), ("", ""),
    ],
)  # fmt: skip
def test_a_cell_of_a_table_is_text(tmp_path, text, cell):
    ek.export_table(pd.DataFrame({"a": [text, "x"], text: ["y", "y"]}), "t", formats=["csv"], folder=tmp_path)
    (head, *rows) = csv.reader(io.StringIO((tmp_path / "t.csv").read_bytes().decode()))
    assert (rows[0][0], head[1]) == (cell, cell)


def test_tables_in_markdown_and_html_are_text(tmp_path, canary):
    texts = payloads(canary)
    frame = pd.DataFrame(dict.fromkeys(texts, texts))
    markdown, html = (path.read_bytes().decode() for path in ek.export_table(
        frame, "t", formats=["markdown", "html"], folder=tmp_path))  # fmt: skip
    assert_plain_markdown(markdown)
    assert OBEYED.findall(html) == []
    assert {name for name, _ in Elements(html).found} == {"table", "thead", "tbody", "tr", "th", "td"}


@pytest.mark.slow
def test_a_review_is_text_in_each_of_its_files(tmp_path, canary, monkeypatch, say):
    texts = payloads(canary)
    project = hostile_project(tmp_path, texts)
    monkeypatch.chdir(project)
    results = project / "results" / "sample"
    assert say("review", "--week", WEEK, "--results-dir", results)[0] == 0
    assert say("runs", "--results-dir", results)[0] == 0
    folder = results / "reviews" / WEEK
    charts = [f"charts/{path.name}" for path in (folder / "charts").glob("*.png")]
    assert_plain_markdown((folder / "review.md").read_text(encoding="utf-8"), charts)
    for table in (folder / "tables").iterdir():
        text = table.read_bytes().decode()
        assert OBEYED.findall(text) == []
        assert_no_formula(text)
    pictures = list((folder / "charts").glob("*.svg"))
    assert len(pictures) >= 4
    for picture in pictures:
        assert {element.tag.rpartition("}")[2] for element in ElementTree.parse(picture).iter()} <= DRAWN
    for path in folder.rglob("*"):
        assert path.is_dir() or canary.secret.encode() not in path.read_bytes()


# Paths


def run_file(folder, name="run", run_id=None, **about):
    """A stopped run's file, its description as somebody edited it."""
    cases = {"name": "d", "cases": [{"id": f"c{n}", "input": f"list {n}", "expected_tool": "none"} for n in range(2)]}
    told = description(run_id or name, status="partial", planned=2, dataset="d", model="mock-small", **about)
    return save_run(folder / f"{name}.parquet", told, cases, [row("c0", input="list 0", expected_tool="none")])


LEADING_OUT = ["../../outside/owned", "/tmp/owned", "..", "a/b", "a\\b", "x\x00y", ".hidden", "C:owned"]


@pytest.mark.parametrize("run_id", LEADING_OUT)
def test_a_run_id_in_a_file_leads_nowhere(tmp_path, canary, monkeypatch, say, endpoint, run_id):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    run_file(tmp_path / "results", run_id=run_id, settings={"kind": "openai", "api": "chat"})
    before = sorted(path for path in tmp_path.rglob("*"))
    for command in (["resume"], ["export", "--format", "json"], ["runs"]):
        say(*command, *(["latest"] if command != ["runs"] else []))
    with pytest.raises(ValueError, match="a run id must"):
        ek.resume("latest")
    assert sorted(path for path in tmp_path.rglob("*") if ".journal" not in path.name) == before
    say("rescore", "latest")
    made = [path for path in tmp_path.rglob("*") if path not in before and path.is_file()]
    assert all(path.parent == tmp_path / "results" for path in made)
    assert not Path("/tmp/owned.parquet").exists()


@pytest.mark.parametrize("word", ["../../outside/canary", "/etc/passwd", "..", "\x1b[2J", "a\x00b", "~/x", "file:///x"])
@pytest.mark.parametrize("command", ["resume", "rescore", "export"])
def test_a_run_that_is_asked_for_by_a_path_is_not_there(project, say, command, word):
    code, output, errors = say(command, word)
    assert (code, output) == (2, "")
    assert "no run" in errors or "there are no runs" in errors


def test_cases_tags_and_weeks_are_words_and_no_paths(project, say):
    for option in ("--case", "--tag"):
        code, _, errors = say("run", "hostile", "--model", "lexical", option, "../../outside/canary.txt\x1b[2J")
        assert code == 2
        assert "canary.txt\\x1b[2J" in errors
    assert say("run", "hostile", "--model", "lexical", "--label", "a/../../b", "--tag", "nope")[0] == 2
    for week in ("../../outside", "2026-W48/../../..", "/etc"):
        code, _, errors = say("review", "--week", week)
        assert (code, "a week is named like '2026-W48'" in errors) == (2, True)
    assert not (project / "results").exists()


@pytest.mark.parametrize("name", ["../x", "/tmp/owned", "a/b", "", ".x", "a\x00b"])
def test_charts_and_tables_have_names_and_no_paths(tmp_path, name):
    from matplotlib.figure import Figure

    with pytest.raises(ValueError, match=r"a chart's name must"):
        ek.export_chart(Figure().subplots(), name, folder=tmp_path)
    with pytest.raises(ValueError, match=r"a table's name must"):
        ek.export_table(pd.DataFrame({"a": [1]}), name, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("default")
def test_a_dataset_outside_the_project_is_not_read_on_a_run_files_word(project, canary, say, endpoint):
    for path in (str(canary.file), "../outside/canary.json", "eval_data/../../outside/canary.json"):
        run_file(project / "results", dataset_path=path, settings={"kind": "openai", "api": "chat"})
        code, _, errors = say("rescore", "run")
        assert code == 0
        assert "lies outside this project, so it is not read on the word of a run's file" in errors
        code, _, errors = say("resume", "run")
        assert (code, "lies outside this project" in errors) == (0, True)
    assert endpoint.asked.keys() <= {"list 1"}


def test_a_dataset_beneath_a_linked_eval_data_is_the_projects_own(tmp_path, monkeypatch, say):
    real = tmp_path / "real"
    real.mkdir()
    (real / "d.json").write_text('[{"id": "c0", "input": "list 0", "expected_tool": "none"}]', encoding="utf-8")
    project = tmp_path / "project"
    project.mkdir()
    (project / "eval_data").symlink_to(real)
    monkeypatch.chdir(project)
    assert say("run", "d", "--model", "lexical")[0] == 0
    assert say("rescore", "latest")[2] == ""


def test_a_link_to_tools_outside_is_refused(project, canary, say):
    (project / "eval_data" / "linked.tools.json").symlink_to(canary.file)
    linked = {"tools": "linked.tools.json", "cases": [{"input": "x", "expected_tool": "none"}]}
    (project / "eval_data" / "linked.json").write_text(json.dumps(linked), encoding="utf-8")
    code, output, _ = say("check", "eval_data/linked.json")
    assert (code, "leads out of eval_data/" in output) == (2, True)


@pytest.mark.filterwarnings("default")
def test_links_out_of_the_results_are_not_followed(tmp_path, canary, monkeypatch, say):
    results = tmp_path / "project" / "results"
    (tmp_path / "project" / "eval_data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    run_file(results)
    (results / "annotations").mkdir()
    (results / "annotations" / "eve.jsonl").symlink_to(canary.folder / "canary.txt")
    with pytest.raises(ValueError, match=r"annotations/eve.jsonl leads out of results/ by a link"):
        ek.annotate("run", "c0", passed=True, author="eve")
    with pytest.warns(HistoryWarning, match=r"eve.jsonl \(it leads out of the results folder by a link\)"):
        assert len(ek.load_annotations()) == 0
    (results / ".journal").mkdir()
    (results / ".journal" / "other.jsonl").symlink_to(canary.file)
    assert "other.jsonl: it leads out of the results folder by a link" in say("runs")[2]
    for part, make in (("tables", lambda: ek.export_table(pd.DataFrame({"a": [1]}), "t")), ("charts", chart)):
        (results / part).symlink_to(canary.folder)
        with pytest.raises(ValueError, match=f"{part}/ leads out of results/ by a link"):
            make()


def chart():
    from matplotlib.figure import Figure

    return ek.export_chart(Figure().subplots(), "c")


def test_a_journal_folder_that_leads_elsewhere_takes_no_run(tmp_path, canary, monkeypatch, say):
    (tmp_path / "project" / "results").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project")
    Path("results/.journal").symlink_to(canary.folder)
    Path("d.json").write_text('[{"input": "list 0", "expected_tool": "none"}]', encoding="utf-8")
    code, _, errors = say("run", "d.json", "--model", "lexical")
    assert (code, ".journal/ leads out of results/ by a link" in errors) == (2, True)


def test_what_is_written_takes_no_links_place_elsewhere(tmp_path, canary):
    for name in (".t.csv.part", "t.csv"):
        (tmp_path / name).symlink_to(canary.file)
    ek.export_table(pd.DataFrame({"a": [1]}), "t", formats=["csv"], folder=tmp_path)
    assert (tmp_path / "t.csv").read_text(encoding="utf-8") == "a\n1\n"
    assert canary.secret in canary.file.read_text(encoding="utf-8")


def test_notes_that_lead_elsewhere_are_not_shown(tmp_path, canary, say, monkeypatch):
    results = tmp_path / "results"
    monkeypatch.chdir(tmp_path)
    save_runs(results, payloads(canary)[:2])
    notes = results / "reviews" / WEEK / "notes.md"
    notes.unlink()
    notes.symlink_to(canary.folder / "canary.txt")
    review = ek.report.Review(WEEK, results_dir=results)
    assert canary.secret not in review.notes._repr_html_()
    notes.unlink()
    notes.parent.rmdir()
    notes.parent.symlink_to(canary.folder)
    with pytest.raises(ek.SettingsError, match=f"{WEEK}/ leads out of results/ by a link: no review is written there"):
        write_review(WEEK, results_dir=results)


@pytest.mark.parametrize("author", ["../x", "/etc/x", "a/b", "x\x1b[2J", ".x", ""])
def test_an_author_is_a_name_and_no_path(tmp_path, author):
    run_file(tmp_path)
    with pytest.raises(ValueError, match="an author's name must"):
        ek.annotate("run", "c0", passed=True, author=author, results_dir=tmp_path)
    assert not (tmp_path / "annotations").exists()


# What people copy, and what they see where something fails


def test_a_command_to_copy_runs_nothing_else(tmp_path, monkeypatch, say):
    monkeypatch.chdir(tmp_path)
    run_file(tmp_path / "results", run_id="x; touch owned $(touch owned)")
    assert "→ evalkit resume 'x; touch owned $(touch owned)'" in say("runs")[1]


def test_a_word_that_is_no_option_is_repeated_harmlessly(capsys):
    for words in (["run", "x", "--bogus\x1b[2J"], ["\x1b[2J"], ["compare", "a", "b", "--format", "\x1b[2J"]):
        with pytest.raises(SystemExit):
            main(words)
        shown = capsys.readouterr().err
        assert OBEYED.findall(shown) == []
        assert "\\x1b[2J" in shown


def test_a_fault_of_ours_is_told_without_keys_and_escape_sequences(monkeypatch, capsys):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-PLACEHOLDER-0001")
    try:
        raise KeyError("sk-test-PLACEHOLDER-0001") from TypeError("\x1b[2J\x9b sk-test-PLACEHOLDER-0001")
    except KeyError as error:
        cli._show_crash(KeyError, error, error.__traceback__)
    shown = capsys.readouterr().err
    assert "PLACEHOLDER" not in shown
    assert OBEYED.findall(shown) == []
    assert "Traceback" in shown
    assert "TypeError: \\x1b[2J\\x9b ***" in shown


@pytest.mark.parametrize("kind", [ek.SettingsError, ek.DatasetError, ek.SchemaError])
def test_an_error_is_harmless_where_python_prints_it(kind):
    assert str(kind("no \x1b[2J, two\nlines")) == "no \\x1b[2J, two\nlines"


def test_a_frame_shown_in_a_terminal_is_harmless():
    frame = pd.DataFrame({"a": ["\x1b[2J\u202e"]})
    assert "\\x1b[2J\\u202e" in repr(ek.show(frame))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("see https://x.example", "see https\\://x.example"), ("WWW.x.example", "WWW\\.x.example"),
        ("ftp://x", "ftp\\://x"), ("http: no", "http: no"), ("awww.x", "awww.x"),
    ],
)  # fmt: skip
def test_a_bare_address_in_markdown_is_no_link(text, said):
    assert masking.unlinked(text) == said
    assert "<a " not in READ(said)


# Keys


def foreign(folder, **settings):
    return run_file(folder, settings={"kind": "openai", "api": "chat", **settings})


def test_no_key_is_sent_to_an_endpoint_on_a_run_files_word(tmp_path, monkeypatch, say):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-PLACEHOLDER-0001")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    asked = [
        "https://gw.example/v1",
        "http://api.openai.com/v1",
        "https://openai.com.example/v1",
        "https://x@gw.example",
    ]
    for base_url in asked:
        foreign(tmp_path / "results", base_url=base_url)
        code, _, errors = say("resume", "run")
        assert code == 2
        assert "a run's file may come from anybody: your key is not sent there on its word" in errors
        assert "PLACEHOLDER" not in errors
    assert not list(tmp_path.rglob("*.jsonl"))


def test_the_key_is_sent_where_the_environment_says_so_or_to_this_machine(tmp_path, monkeypatch, say, endpoint):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-PLACEHOLDER-0001")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    foreign(tmp_path / "results", base_url=endpoint.url)
    assert say("resume", "run")[0] == 0
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    foreign(tmp_path / "results", base_url="https://gw.example/v1")
    assert say("resume", "run")[0] == 0
    keys = {request.headers["authorization"] for request in endpoint.requests}
    assert keys == {"Bearer sk-test-PLACEHOLDER-0001"}


def test_no_key_is_sent_to_a_judge_on_a_run_files_word(monkeypatch):
    from evalkit.jury import stored_judge

    settings = {"kind": "openai", "api": "chat", "base_url": "https://gw.example/v1"}
    about = {"run_id": "r", "judges": {"default": {"model": "j", "settings": settings, "self_judged": False}}}
    for name in ("OPENAI_API_KEY", "EVALKIT_JUDGE_API_KEY"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "sk-test-PLACEHOLDER-0001")
            with pytest.raises(ek.SettingsError, match="your key is not sent there on its word"):
                stored_judge(about)
            patch.setenv("EVALKIT_JUDGE_BASE_URL", "https://gw.example/v1")
            assert stored_judge(about).settings["base_url"] == "https://gw.example/v1"


@pytest.mark.filterwarnings("ignore")
def test_a_footer_of_any_shape_is_read_or_left_out(tmp_path, monkeypatch, say):
    """Values of other kinds where text, numbers or mappings are expected: no command ends in a traceback."""
    monkeypatch.chdir(tmp_path)
    odd = [None, 7, "\x1b[2J", ["a"], {"a": 1}, "x" * 10_000]
    names = """label model dataset status settings judges batches selection trials planned started_at rescored_from
               concurrency dataset_path""".split()
    for name in names:
        for place, value in enumerate(odd):
            path = run_file(tmp_path / "results", "run")
            _edit(path, {name: value})
            for words in (["runs"], ["export", "run"], ["compare", "run", "run"], ["rescore", "run"]):
                try:
                    say(*words)
                except Exception as error:
                    pytest.fail(f"{words} with {name} = {value!r:.40}: {type(error).__name__}: {error}")
            for made in (tmp_path / "results").rglob("*.*"):
                made.unlink() if made.is_file() else None
            assert place < len(odd)


def _edit(path, changes):
    table, held = pq.read_table(path), pq.read_metadata(path).metadata
    footer = {b"evalkit": json.dumps(json.loads(held[b"evalkit"]) | changes).encode()}
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(footer | {b"evalkit_dataset": held[b"evalkit_dataset"]})
