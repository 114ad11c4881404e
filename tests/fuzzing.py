"""What reads text of others, area by area: how to make hostile inputs for it, and what must hold for every one.

A check returns where all is well. It raises `AssertionError` where a promise is broken; any other exception is one that
the package let through. The tests give each area thousands of inputs, `benchmarks/fuzz.py` a million.
"""

from __future__ import annotations

import json
import re
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from evalkit import html, jsontext, limits
from evalkit.arguments import compare_arguments, compare_values, describe, matcher_problems, mismatch_rows
from evalkit.case_comparison import compare_case
from evalkit.case_html import case_part
from evalkit.case_view import CaseView, messages_of
from evalkit.cases import EvalCase
from evalkit.comparison_html import case_view
from evalkit.datasets import Dataset, load_dataset
from evalkit.errors import DatasetError
from evalkit.execution import score_turn
from evalkit.fences import unfenced
from evalkit.frame_view import show
from evalkit.judge_replies import read_verdict
from evalkit.records import clean_text
from evalkit.replies import Failed, read_reply
from evalkit.review_registry import ReviewerError
from evalkit.reviewers import json_schema_match, valid_json, valid_xml
from evalkit.rows import row_of
from evalkit.textdiff import word_diff
from evalkit.tools import as_tools
from loopback_replies import Request, calls, in_api, says
from mutating import CHARACTERS, WORDS, Mutator

FULL_VIEWS = 499  # of so many inputs for HTML one is rendered as whole cases and frames, which takes 100 ms


@dataclass(frozen=True)
class Area:
    """One area: Hypothesis' strategy, inputs of the cheap source, the check, and an input as a document to mutate."""

    strategy: st.SearchStrategy[Any]
    cheap: Callable[[Mutator], Any]
    check: Callable[[Any], None]
    corpus: Callable[[], list[str]]
    words: Sequence[str] = ()
    document: Callable[[Any], str] = str


_TEXT = st.text(max_size=30) | st.sampled_from(WORDS) | st.text(CHARACTERS, max_size=12)
_SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT


def _shaped(keys: Sequence[str], leaves: int = 12) -> st.SearchStrategy[Any]:
    """JSON values whose objects have mostly these keys."""
    names = st.sampled_from(list(keys)) | _TEXT
    return st.recursive(
        _SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4),
        max_leaves=leaves,
    )


# --- replies of models and of judges

_REPLY_KEYS = tuple(
    """
    choices message content tool_calls function name arguments function_call refusal error finish_reason usage
    prompt_tokens completion_tokens output type text custom input status incomplete_details reason reasoning_content
    choice id code
    """.split()
)
_REPLY_WORDS = (
    *("output_text", "message", "function_call", "custom_tool_call", "incomplete", "length", "content_filter", "stop"),
    *("list_files", '"content":', '"tool_calls":', '"choices":', '{"choice": "A", "reason": "b"}', "Verdict: PASS"),
)  # fmt: skip
_CASE = EvalCase("what is there?", expected_tool="list_files", expected_arguments={"directory": "."})
_PARAMETERS = {
    "type": "object",
    "properties": {"directory": {"type": "string", "default": "."}, "n": {"type": "integer"}},
}
_TOOLS = as_tools([{"name": "list_files", "parameters": _PARAMETERS}, {"name": "read_file"}])
_CHOICES = ("A", "B", "PASS", "not sure")


def _reply_corpus() -> list[str]:
    sent = [
        says("Choice: A"), says(None), says("**B**) because"), says('{"choice": "A", "reason": "b"}', usage={}),
        calls(("list_files", {"directory": "."})), calls(("list_files", '{"directory": "."'), ("f", {}), content="x"),
    ]  # fmt: skip
    asked = [Request("POST", path, {}, {}) for path in ("/chat/completions", "/responses")]
    bodies = [in_api(reply, request) for reply in sent for request in asked]
    return [
        *map(json.dumps, bodies),
        '{"error": {"message": "it failed", "code": 7}}',
        "<html><h1>502</h1></html>",
        "[]",
    ]


def _cheap_reply(source: Mutator) -> bytes:
    if source.chance.random() < 0.2:
        return source.document(5, _REPLY_KEYS).encode("utf-8", "surrogatepass")
    return source.raw()


def check_reply(body: bytes) -> None:
    """Whatever a server sends is an error or a Turn that can be scored, read as a judge's, and stored."""
    for api in ("chat", "responses"):
        turn = read_reply(body, api, names={"list_files_": "list_files"}, limit=50)
        if isinstance(turn, Failed):
            continue
        verdict = score_turn(_CASE, turn, _TOOLS)
        assert "could not be scored" not in verdict.reason or "comparing" in verdict.reason, verdict.reason
        jsontext.write(row_of(_CASE, 1, turn, verdict)).encode()
        for structured in (True, False):
            reading = read_verdict(turn, _CHOICES, structured=structured)
            assert reading.choice in _CHOICES or (reading.choice is None and reading.why)
    json.dumps(body.decode("utf-8", "replace"))


# --- expected and actual arguments

_ARGUMENT_KEYS = ("directory", "n", "a", "b", "é", "e\u0301", "")
_MATCHERS = tuple(
    """
    $one_of $any $absent $type $text $regex $contains $approx $unordered $date $similar $optional $literal $unknown
    """.split()
)
_HELD = (
    "string",
    "(a|b)+",
    "(a+)+$",
    "[",
    "2024-04-01",
    "2024-04-01T10:00Z",
    0.1,
    1,
    True,
    ["string", "null"],
    "\\d{4}",
)


def _expectation(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    held = values | st.sampled_from(_HELD) | st.lists(values, max_size=3)
    matcher = st.builds(lambda name, value, more: {name: value, **more}, st.sampled_from(_MATCHERS), held, _OPTIONS)
    return st.recursive(
        _SCALARS | matcher,
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.sampled_from(_ARGUMENT_KEYS) | _TEXT, inner, max_size=3)
            | st.builds(
                lambda name, value: {name: value}, st.sampled_from(_MATCHERS), inner | st.lists(inner, max_size=3)
            )
        ),
        max_leaves=8,
    )


_OPTIONS = st.sampled_from([{}, {}, {}, {"rel": 0.1}, {"abs": -1}, {"min": 0.5}, {"min": "x"}, {"$any": True}])
_ARGUMENTS = st.tuples(
    st.dictionaries(st.sampled_from(_ARGUMENT_KEYS), _expectation(_SCALARS), max_size=3),
    st.dictionaries(st.sampled_from(_ARGUMENT_KEYS), _shaped(_ARGUMENT_KEYS), max_size=3),
    st.sampled_from(["declared", "none", "any"]),
)


def _cheap_expectation(source: Mutator, depth: int) -> Any:
    chance = source.chance
    if depth <= 0 or chance.random() < 0.25:
        return source.scalar()
    if chance.random() < 0.5:
        held = chance.choice(_HELD) if chance.random() < 0.4 else _cheap_expectation(source, depth - 1)
        if chance.random() < 0.4:
            held = [held, _cheap_expectation(source, depth - 1)]
        more = chance.choice(({}, {}, {}, {"rel": 0.1}, {"abs": 1e300}, {"min": 0.5}, {"min": []}, {"$any": 1}))
        return {chance.choice(_MATCHERS): held, **more}
    if chance.random() < 0.5:
        return [_cheap_expectation(source, depth - 1) for _ in range(chance.randrange(4))]
    return {chance.choice(_ARGUMENT_KEYS): _cheap_expectation(source, depth - 1) for _ in range(chance.randint(1, 3))}


def _sent_for(source: Mutator, expected: Any) -> Any:
    """A value near to what is expected, so that comparing goes deep."""
    chance = source.chance
    if chance.random() < 0.12:
        return source.value(2, _ARGUMENT_KEYS)
    if isinstance(expected, dict):
        matcher = next((name for name in expected if name in _MATCHERS), None)
        if matcher is not None:
            held = expected[matcher]
            one = chance.choice(held) if isinstance(held, list) and held and chance.random() < 0.7 else held
            return _sent_for(source, one)
        sent = {key: _sent_for(source, value) for key, value in expected.items() if chance.random() < 0.9}
        return sent if chance.random() < 0.9 else {**sent, source.word(): source.scalar()}
    if isinstance(expected, list):
        sent_list = [_sent_for(source, value) for value in expected]
        if chance.random() < 0.3:
            chance.shuffle(sent_list)
        return sent_list
    if isinstance(expected, str) and chance.random() < 0.3:
        return chance.choice((expected + " ", expected.upper(), expected[:-1], json.dumps(expected)))
    return expected


def _cheap_arguments(source: Mutator) -> tuple[Any, Any, str]:
    names = (source.chance.choice(_ARGUMENT_KEYS) for _ in range(source.chance.randint(0, 3)))
    expected = {name: _cheap_expectation(source, 3) for name in names}
    sent = _sent_for(source, expected)
    return expected, sent if isinstance(sent, dict) else {"a": sent}, source.chance.choice(("declared", "none", "any"))


def check_arguments(given: tuple[Any, Any, str]) -> None:
    """Comparing gives counts and sentences for any pair, however broken the expectation; a value is what it is."""
    expected, actual, extra = given
    matcher_problems(expected)
    try:
        with limits.within():
            found = compare_arguments(expected, actual, parameters=_PARAMETERS, extra=extra)
            compare_values(expected, actual)
            compare_values(actual, expected)
    except limits.TooCostly:
        return
    assert 0 <= found.right <= found.checked
    assert found.passed == (not any(not one.ok for one in found.mismatches)), "a mismatch counts, or nothing does"
    jsontext.write(mismatch_rows(found.mismatches)).encode()
    assert all(isinstance(describe(one), str) for one in found.mismatches)
    assert compare_values(actual, actual, literal=True).passed


# --- dataset files

_CASE_KEYS = tuple(
    """
    input id expected_tool secondary_tools expected_arguments extra_arguments calls text_calls expected reviewers
    tags cluster notes kind cases tools name system_prompt defaults description role content tool arguments reviewer
    threshold parameters expected_parameters
    """.split()
)
_CASE_WORDS = (
    *("contains", "levenshtein", "judge", "user", "system", "none", "any", "first", "all", "valid_xml", "json_schema"),
    *('"input":', '"expected_tool": "none"', '"tags": ["a"]', '"reviewers": ["exact_match"]', ",", "\n", '"', "{", "}"),
)  # fmt: skip
_SUFFIXES = (".json", ".jsonl", ".csv")
_CASES = st.lists(st.dictionaries(st.sampled_from(_CASE_KEYS), _shaped(_CASE_KEYS, 6), max_size=6), max_size=3)
_DATASETS = st.one_of(
    st.tuples(st.just(".json"), st.one_of(_CASES, _shaped(_CASE_KEYS)).map(json.dumps).map(str.encode)),
    st.tuples(st.just(".jsonl"), _CASES.map(lambda cases: "\n".join(map(json.dumps, cases)).encode())),
    st.tuples(st.sampled_from(_SUFFIXES), st.binary(max_size=60)),
    st.tuples(st.just(".csv"), st.lists(_TEXT, max_size=9).map(lambda cells: _table(cells))),
)  # fmt: skip
_FOLDER = tempfile.TemporaryDirectory(prefix="evalkit-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None)


def _table(cells: list[str]) -> bytes:
    return ("input,id,tags\n" + ",".join(cells)).encode("utf-8", "replace")


def _dataset_corpus() -> list[str]:
    """The sample datasets, a case or two at a time: as a list, as a full form with tools, as lines and as a table."""
    found = ['input,id,expected_tool,tags\nhello,a,none,"[""x""]"\n"a, b",c,,\n', "input;id\na;b\n"]
    for path in sorted((Path(__file__).parent.parent / "eval_data").glob("*.json")):
        written = json.loads(path.read_text(encoding="utf-8"))
        cases = written["cases"] if isinstance(written, dict) else written
        around = {key: value for key, value in written.items() if key != "cases"} if isinstance(written, dict) else {}
        around["tools"] = [{"name": "list_files", "parameters": _PARAMETERS}]
        for number in range(0, min(len(cases), 30), 2):
            few = cases[number : number + 2]
            found += [json.dumps(few), json.dumps({**around, "cases": few}), "\n".join(map(json.dumps, few))]
    return [text for text in found if len(text) < 3_000]


def _cheap_dataset(source: Mutator) -> tuple[str, bytes]:
    if source.chance.random() < 0.2:
        cases = [source.value(3, _CASE_KEYS) for _ in range(source.chance.randint(1, 2))]
        return ".json", json.dumps({"cases": cases} if source.chance.random() < 0.5 else cases).encode()
    return source.chance.choice(_SUFFIXES), source.raw()


def check_dataset(given: tuple[str, bytes]) -> None:
    """A file is a dataset, which its own full form gives again, or a DatasetError that says why it is none."""
    suffix, content = given
    path = Path(_FOLDER.name, f"fuzzed{suffix}")
    path.write_bytes(content)
    try:
        loaded = load_dataset(path)
    except DatasetError as error:
        _says_something(error)
    else:
        again = Dataset.from_dict(jsontext.read_again(jsontext.write(loaded.as_dict())))
        assert (again.dataset_hash, again.tools_hash) == (loaded.dataset_hash, loaded.tools_hash)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return
    for one in value if isinstance(value, list) else [value]:
        try:
            EvalCase.from_dict(one)
        except DatasetError as error:
            _says_something(error)


def _says_something(error: ValueError) -> None:
    assert str(error).strip()


# --- answers that ought to be XML, and those that ought to be JSON

_XML_WORDS = (
    *("<a>", "</a>", "<a/>", "<b c='d'>", "<!ELEMENT a ANY>", "<!ATTLIST a b CDATA 'c'>", "<!DOCTYPE a SYSTEM 'b'>"),
    *("<!ENTITY % p SYSTEM 'http://x/'>", "%p;", "xmlns:p='urn:x'", "<p:a", "<?p ?>", "encoding='UTF-16'"),
)  # fmt: skip


def _xml_corpus() -> list[str]:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    return [
        "<a/>", "<?xml version='1.0' encoding='UTF-8'?>\n<a b='c'><d>e &amp; f</d><![CDATA[<x>]]><!-- y --></a>",
        f'<!DOCTYPE a [<!ENTITY l0 "lol">{laughs}]><a>&l9;</a>', '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/x"><a/>',
        "<!DOCTYPE a [<!ENTITY % p SYSTEM 'file:///etc/passwd'>%p;]><a/>", "<p:a xmlns:p='urn:x'><p:b p:c='d'/></p:a>",
        "<!DOCTYPE a [<!ATTLIST a b CDATA 'c'><!ELEMENT a ANY>]><a/>", "```xml\n<a>\n</a>\n```", "<a>" * 9 + "</a>" * 9,
    ]  # fmt: skip


_XML = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(_XML_WORDS) | _TEXT, max_size=10).map("".join))


def check_xml(text: str) -> None:
    """A verdict of 1 or 0 with its reason; no declaration of an entity is ever accepted."""
    for strip, read in ((False, text), (True, unfenced(text) or text)):
        verdict = valid_xml(text, strip_fences=strip)
        assert verdict.score in (0, 1)
        assert verdict.reason
        verdict.reason.encode()
        assert not (verdict.score == 1 and "<!ENTITY" in _without_quoted(read))


def _without_quoted(text: str) -> str:
    """The text without what may hold anything: comments, CDATA, instructions, quoted values."""
    return re.sub(r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|\"[^\"]*\"|'[^']*'", "", text, flags=re.DOTALL)


_SCHEMA_KEYS = tuple(
    """
    type properties items required $ref anyOf not pattern enum const minimum $defs additionalProperties format if
    then $schema $id uniqueItems maxLength a
    """.split()
)
_SCHEMA_WORDS = ("object", "string", "#", "#/$defs/a", "http://127.0.0.1:9/s", "date-time", "^(a+)+$", "integer")
_SCHEMAS: tuple[Any, ...] = (
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"type": ["array", "object"], "items": {"$ref": "#"}, "uniqueItems": True},
    {"anyOf": [{"type": "string", "format": "date-time"}, {"pattern": "^(?=a)b"}, {"multipleOf": 0.1}]},
)
_JSON = st.one_of(
    _shaped(_SCHEMA_KEYS).map(json.dumps), _shaped(_SCHEMA_KEYS).map(lambda v: json.dumps(v, ensure_ascii=False)), _TEXT
)


def _json_corpus() -> list[str]:
    schemas = [json.dumps(schema) for schema in _SCHEMAS]
    values = [
        '{"a": 1, "b": [true, null, "c"]}',
        '[1, 2.5, -3e2, "\\u00e9\\ud83d"]',
        '"x"',
        "7",
        "```json\n{}\n```",
        "[[[[]]]]",
    ]
    return [*schemas, *values, '{"$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}', "1" * 4_001]


def check_json(text: str) -> None:
    """What can be read is written and read back the same; a schema made of it is used or refused with a sentence."""
    schema: Any = None
    try:
        value = jsontext.read(text)
    except jsontext.JsonTextError as error:
        _says_something(error)
        in_text = 0 <= error.position <= len(text)
    else:
        in_text = True
        written = jsontext.write(value)
        written.encode()
        assert jsontext.read(written) == value
        assert jsontext.fingerprint(value) == jsontext.fingerprint(jsontext.read(written))
        schema = value if isinstance(value, dict) else None
    assert in_text
    assert valid_json(text).score in (0, 1)
    assert valid_json(text, strip_fences=True, unique_keys=True).score in (0, 1)
    used = _SCHEMAS[len(text) % len(_SCHEMAS)] if schema is None else schema
    try:
        verdict = json_schema_match(text, schema=used, strip_fences=True)
    except ReviewerError:
        return
    except ValueError as error:  # of the schema: a dataset with it is refused, with this sentence
        _says_something(error)
        own = used is schema
    else:
        verdict.reason.encode()
        own = True
    assert own, "a sound schema was refused"


# --- HTML

_TEXTS = st.lists(
    _TEXT | st.text(max_size=200) | _shaped(("path", "kind", "role", "content")).map(json.dumps), min_size=4, max_size=8
)
_VIEW_KEYS = tuple(
    """
    role content tool_calls function name arguments path kind expected actual note ok reviewer passed score reason
    choice judge_model tool text type a $any
    """.split()
)
_CLASS = re.compile(r"(?:ek[a-z-]*|mathjax_ignore|tex2jax_ignore)(?: (?:ek[a-z-]*|mathjax_ignore|tex2jax_ignore))*")
_ALLOWED = {"class": _CLASS, "dir": re.compile("auto"), "scope": re.compile("col"), "open": re.compile("open")}


class Seen(HTMLParser):
    """Reads HTML as a browser would; raises for any element or attribute that views do not make themselves."""

    def __init__(self, titles: Sequence[str] = ()):
        super().__init__()
        self.text, self._open, self._titles = "", list[str](), titles

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Ours only."""
        assert tag in html._TAGS, tag
        for name, value in attrs:
            if name == "title":
                assert value in self._titles, value
            else:
                assert _ALLOWED[name].fullmatch(value or ""), (name, value)
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Each closes the one opened last."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """What a reader sees."""
        if "style" not in self._open:
            self.text += data

    def unwanted(self, data: str) -> None:
        """No comment, declaration or instruction is ours."""
        raise AssertionError(f"markup out of data: {data!r}")

    handle_comment = handle_decl = handle_pi = unknown_decl = unwanted


def seen_in(markup: object, titles: Sequence[str] = ()) -> str:
    """The text in HTML that holds nothing but our own elements. Raises AssertionError for anything else."""
    reader = Seen(titles)
    reader.feed(str(markup))
    reader.close()
    assert not reader._open, reader._open
    return reader.text


def _cheap_texts(source: Mutator) -> list[str]:
    made = [source.document(3, _VIEW_KEYS) if source.chance.random() < 0.4 else source.text()[:400] for _ in range(5)]
    if source.chance.random() < 0.05:
        made[0] = (made[0] * 60)[:4_000]
    return made


def check_html(texts: list[str]) -> None:
    """Text stays text: all of it is seen, and no element or attribute comes of it. One building block per input."""
    one, two, three = texts[:3]
    shown = html._visible(one)
    number = zlib.crc32("".join(texts).encode("utf-8", "surrogatepass"))
    match number % 6:
        case 0:
            assert seen_in(html.tag("p", html.inline(one))) == shown
        case 1:
            assert seen_in(html.block(one, max(len(one), 1))) == shown
        case 2:
            assert seen_in(html.fold(html.tag("b", two, title=one), one), [shown]) == html._visible(two) + shown
        case 3:
            seen_in(html.block(one, 20))
        case 4:
            assert seen_in(html.table([two, 7], [[one, None]], numbers=[1])) == html._visible(two) + "7" + shown
        case _:
            assert seen_in(html.lines(three)) == html._visible(three)
    if number % FULL_VIEWS == 0:
        _check_views(texts)


_ROW_TEXT = tuple(
    """
    run_id case_id input expected_tool actual_tool expected answer reason error outcome tags secondary_tools
    expected_arguments actual_arguments tool_calls mismatches reviews finish_reason
    """.split()
)


def _row(texts: Sequence[str], shift: int) -> dict[str, Any]:
    row: dict[str, Any] = {name: texts[(place * 3 + shift) % len(texts)] for place, name in enumerate(_ROW_TEXT)}
    passed = (True, False, None)[shift % 3]
    kind = ("tool_choice", "final_answer")[shift % 2]
    return row | {"trial": 1, "passed": passed, "score": 0.5, "kind": kind, "latency_s": 1.0, "attempts": 2}


def _check_views(texts: list[str]) -> None:
    """A stored run and a frame hold only text that can be encoded."""
    import pandas as pd

    texts = [clean_text(text) for text in texts]
    rows = [_row(texts, len(texts[0]) + shift) for shift in range(2)]
    for row in rows:
        notes = ({"author": texts[1], "passed": None, "note": texts[2]},)
        seen_in(case_part(CaseView(row, messages_of(row["input"], texts[3]), notes)))
    sides = {
        f"{side}_{name}": value
        for side, row in zip(("baseline", "candidate"), rows, strict=True)
        for name, value in {
            "outcome": row["outcome"], "tool": row["actual_tool"], "reason": row["reason"], "error": row["error"],
            "score": 0.5, "trials": 1, "errors": 0,
        }.items()
    }  # fmt: skip
    about = {"case_id": texts[0], "status": "changed case", "flipped": True, "difference": 0.1} | sides
    about |= {name: rows[1][name] for name in ("input", "expected", "expected_tool", "secondary_tools")}
    seen_in(case_view(compare_case(pd.Series(about, dtype=object), *rows)))
    seen_in(html.diff(word_diff(texts[0], texts[1])))
    seen_in(show(pd.DataFrame({texts[0]: texts, "n": range(len(texts))}))._repr_html_())


AREAS = {
    "replies": Area(
        st.one_of(st.binary(max_size=80), _shaped(_REPLY_KEYS).map(json.dumps).map(str.encode)),
        _cheap_reply, check_reply, _reply_corpus, _REPLY_WORDS, lambda body: body.decode("utf-8", "replace"),
    ),
    "arguments": Area(_ARGUMENTS, _cheap_arguments, check_arguments, lambda: ["a", "2024-04-01"]),
    "datasets": Area(
        _DATASETS, _cheap_dataset, check_dataset, _dataset_corpus, _CASE_WORDS,
        lambda given: given[1].decode("utf-8", "replace"),
    ),
    "xml": Area(_XML, Mutator.text, check_xml, _xml_corpus, _XML_WORDS),
    "json": Area(
        _JSON, lambda source: source.document(4, _SCHEMA_KEYS) if source.chance.random() < 0.3 else source.text(),
        check_json, _json_corpus, _SCHEMA_WORDS,
    ),
    "html": Area(_TEXTS, _cheap_texts, check_html, lambda: [*_xml_corpus(), *_json_corpus()], _XML_WORDS, "\n".join),
}  # fmt: skip
