"""Documents and schemas that would reach out, or blow up: no visit, no secret, no more memory than a little.

Each set is reviewed in a child process whose address space is limited, while a socket listens and a file holds a
secret. The time-outs are kill switches: nothing here comes near them unless it hangs.
"""

import json
import socket
import subprocess
import sys

import pytest

MEMORY = 600 * 2**20  # bytes of address space
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2)
import evalkit as ek
from evalkit.reviewers import ReviewerError
for reviewer, answer, parameters in json.load(sys.stdin):
    try:
        verdict = getattr(ek.reviewers, reviewer)(answer, **parameters)
        said = [verdict.passed, verdict.reason]
    except ReviewerError as error:
        said = ["reviewer error", str(error)]
    except ValueError as error:
        said = ["refused", str(error)]
    print(json.dumps(said), flush=True)
"""


class Surroundings:
    """What must not be touched: a listening socket and a file with a secret."""

    def __init__(self, folder):
        self.secret = "canary-5e8b1f"
        self.file = folder / "canary.txt"
        self.file.write_text(f"<a>{self.secret}</a>", encoding="utf-8")
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.setblocking(False)
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}/x"

    def visits(self):
        count = 0
        while True:
            try:
                self.socket.accept()[0].close()
            except BlockingIOError:
                return count
            count += 1


@pytest.fixture
def surroundings(tmp_path):
    found = Surroundings(tmp_path)
    yield found
    found.socket.close()


def _review_in_child(calls):
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(MEMORY)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def _nested_entities(levels, each):
    entities = "".join(f"<!ENTITY e{n} '{f'&e{n - 1};' * each}'>" for n in range(1, levels))
    return f"<!DOCTYPE a [<!ENTITY e0 'ha'>{entities}]><a>&e{levels - 1};</a>"


def _xml(url, file):
    defaults = " ".join(f"b{n} CDATA '{n}'" for n in range(9000))
    return [
        _nested_entities(6, 10),
        _nested_entities(30, 10),
        f"<!DOCTYPE a [<!ENTITY e '{'x' * 100_000}'>]><a>{'&e;' * 100_000}</a>",
        f"<!DOCTYPE a [<!ENTITY e SYSTEM '{url}'>]><a>&e;</a>",
        f"<!DOCTYPE a [<!ENTITY e SYSTEM '{file}'>]><a>&e;</a>",
        f"<!DOCTYPE a [<!ENTITY e SYSTEM '{file}' NDATA n>]><a b='e'/>",
        f"<!DOCTYPE a SYSTEM '{url}'><a/>",
        f"<!DOCTYPE a SYSTEM '{file}'><a/>",
        f"<!DOCTYPE a PUBLIC '-//x' '{url}'><a/>",
        f"<!DOCTYPE a [<!ENTITY % e SYSTEM '{url}'> %e;]><a/>",
        f"<!DOCTYPE a [<!ENTITY % f SYSTEM '{file}'> <!ENTITY % e '<!ENTITY g SYSTEM \"{url}?%f;\">'> %e;]><a>&g;</a>",
        "<!DOCTYPE a [<!ENTITY e '&e;'>]><a>&e;</a>",
        "<!DOCTYPE a [ %undeclared; ]><a/>",
        f"<!DOCTYPE a [<!ATTLIST a {defaults}>]><r>{'<a/>' * 9000}</r>",
    ]


def test_xml_that_reaches_out_or_blows_up_is_refused_and_nothing_is_touched(surroundings):
    documents = _xml(surroundings.url, surroundings.file.as_uri())
    for passed, reason in _review_in_child([["valid_xml", document, {}] for document in documents]):
        assert passed is False
        assert reason.startswith("refused: it")
        assert surroundings.secret not in reason
    assert surroundings.visits() == 0


def test_xml_that_only_names_addresses_is_read_without_a_visit(surroundings):
    url, file = surroundings.url, surroundings.file.as_uri()
    documents = [
        f"<a xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='{file}'/><xi:include href='{url}'/></a>",
        f"<?xml-stylesheet href='{url}'?><a/>",
        f"<a xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xsi:schemaLocation='x {url}'/>",
        f"<!DOCTYPE a [<!NOTATION n SYSTEM '{url}'>]><a/>",
        "<a>" * 100_000 + "</a>" * 100_000,
        f"<!DOCTYPE a [<!ELEMENT a {'(' * 50_000}b{')' * 50_000}>]><a/>",
    ]
    for passed, reason in _review_in_child([["valid_xml", document, {}] for document in documents]):
        assert passed is True, reason
        assert surroundings.secret not in reason
    assert surroundings.visits() == 0


def test_a_visit_would_be_noticed(surroundings):
    port = surroundings.socket.getsockname()[1]
    subprocess.run(
        [sys.executable, "-c", f"import socket; socket.create_connection(('127.0.0.1', {port}))"],
        check=True,
        timeout=300,
    )
    assert surroundings.visits() == 1


def test_a_schema_that_refers_to_something_outside_is_refused_without_a_visit(surroundings):
    url, file = surroundings.url, surroundings.file.as_uri()
    schemas = [
        {"$ref": url},
        {"$ref": file},
        {"$ref": str(surroundings.file)},
        {"$schema": url},
        {"$schema": file, "type": "integer"},
        {"$id": url, "$ref": "y"},
        {"$id": file, "$ref": "canary.txt#/x"},
        {"$defs": {"unused": {"not": {"$ref": url}}}},
        {"$dynamicRef": url},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$ref": url}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"$ref": url}}},
        {"allOf": [{"$ref": "https://schemas.example.invalid/a.json"}]},
    ]
    for schema, (passed, reason) in zip(
        schemas, _review_in_child([["json_schema_match", "1", {"schema": schema}] for schema in schemas]), strict=True
    ):
        assert passed == "refused", (schema, reason)
        assert surroundings.secret not in reason
    assert surroundings.visits() == 0


def _chain(keyword, length, last):
    parts = {f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(length)}
    return {"$defs": {**parts, f"d{length}": last}, "$ref": "#/$defs/d0"}


def _nested(levels):
    return "[" * levels + "]" * levels


def test_a_schema_without_end_is_an_error_and_not_a_crash():
    def long_way_round(length):
        parts = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{(n + 1) % length}"}]} for n in range(length)}
        return {"$defs": parts, "$ref": "#/$defs/d0"}

    schemas = [
        {"$defs": {"loop": {"$ref": "#/$defs/loop"}}, "$ref": "#/$defs/loop"},
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"oneOf": [{"type": "string"}, {"not": {"$ref": "#"}}]},
        {"if": {"$ref": "#"}, "then": True},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"},
        {"$dynamicAnchor": "here", "$dynamicRef": "#here"},
        {"$id": "https://example.invalid/x", "allOf": [{"$ref": "https://example.invalid/x"}]},
        {"$anchor": "k", "anyOf": [{"$ref": "#k"}]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"$ref": "#/definitions/a"}}},
        long_way_round(3000),
    ]
    for passed, reason in _review_in_child([["json_schema_match", "1", {"schema": schema}] for schema in schemas]):
        assert passed == "refused"
        assert "it refers to itself without end" in reason


def test_a_schema_that_multiplies_is_stopped_or_done_with():
    doubling = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}
    either = {"anyOf": [{"items": {"$ref": "#"}, "minItems": 2}, {"items": {"$ref": "#"}, "maxItems": 0}]}
    deep = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}]} for n in range(3000)}
    high = {"$defs": {**deep, "d3000": {"items": {"$ref": "#"}}}, "$ref": "#/$defs/d0"}
    found = _review_in_child(
        [
            ["json_schema_match", '"x"', {"schema": _chain("oneOf", 40, {"type": "string"})}],
            ["json_schema_match", "1", {"schema": _chain("allOf", 40, {"type": "string"})}],
            ["json_schema_match", _nested(150), {"schema": doubling}],
            ["json_schema_match", _nested(60), {"schema": either}],
            ["json_schema_match", _nested(150), {"schema": high}],
            ["json_schema_match", "1", {"schema": {"type": "integer"}}],
        ]
    )
    assert found[0][0] == "reviewer error"
    assert "it was not done with this answer within 5 s" in found[0][1]
    assert found[1] == [False, 'breaks the schema: 1 is not of type "string"']
    assert found[2] == [True, "keeps to the schema"]
    assert found[3][0] is False
    assert found[4][0] in (
        True,
        "reviewer error",
    )  # whether the machine's stack is high enough, is the machine's affair
    assert found[5] == [True, "keeps to the schema"]


def test_answers_that_are_nested_or_large_do_not_upset_any_reviewer():
    answers = ["[" * 100_000, _nested(100_000), '{"a":' * 100_000, "9" * 100_000, "1e999999999", "x" * 1_000_000]
    calls = [
        [reviewer, answer, parameters]
        for answer in answers
        for reviewer, parameters in (
            ("valid_json", {}),
            ("exact_match", {"expected": {"a": 1}}),
            ("json_schema_match", {"schema": {"type": "object"}}),
            ("numeric_match", {"expected": 5}),
            ("regex_match", {"pattern": "[a-w]+"}),
            ("levenshtein", {"expected": "hello"}),
            ("valid_xml", {}),
        )
    ]
    for call, (passed, reason) in zip(calls, _review_in_child(calls), strict=True):
        if call[0] == "valid_json" and call[1][0].isdigit():
            assert passed is True
        else:
            assert passed is False, call[0]
        assert len(reason) < 2000
