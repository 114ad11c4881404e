"""How much work a schema can make, and where it runs in circles."""

import json

import pytest

from evalkit import schema_check
from evalkit.schema_graph import Graph

MOST = 10**9


def _bounds(schema, depth):
    return Graph(json.loads(json.dumps(schema))).bounds(depth, MOST, MOST)


TREE = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
TWICE = {"allOf": [{"items": {"$ref": "#"}}, {"items": {"$ref": "#"}}]}


@pytest.mark.parametrize(
    ("schema", "depth", "work", "height"),
    [
        (True, 5, 1, 1),
        ({}, 5, 1, 1),
        ({"allOf": [{}, {}]}, 0, 3, 2),
        ({"allOf": [{}, {"anyOf": [{}, {}]}]}, 0, 5, 3),
        ({"items": {"items": {}}}, 0, 1, 1),
        ({"items": {"items": {}}}, 1, 2, 2),
        ({"items": {"items": {}}}, 200, 3, 3),
        ({"properties": {"a": {}, "b": {}, "c": {}}}, 1, 2, 2),
        ({"patternProperties": {"a": {}, "b": {}}, "additionalProperties": {}}, 1, 4, 2),
        ({"unevaluatedProperties": False, "allOf": [{}]}, 0, 3, 2),
        (TREE, 3, 7, 7),
        (TWICE, 3, 59, 11),
    ],
    ids=str,
)
def test_how_often_one_value_can_be_looked_at(schema, depth, work, height):
    assert _bounds(schema, depth) == (work, height)


def test_counting_stops_where_it_is_more_than_asked_about():
    work, _ = Graph(TWICE).bounds(200, 1000, MOST)
    assert 1000 < work < 10_000
    _, height = Graph(TREE).bounds(200, MOST, 10)
    assert 10 < height < 20


@pytest.mark.parametrize(
    "schema",
    [
        TREE,
        {"items": {"$ref": "#"}},
        {"$defs": {"a": {"not": {"properties": {"x": {"$ref": "#/$defs/a"}}}}}, "$ref": "#/$defs/a"},
        {"properties": {"$ref": {"type": "string"}}, "const": {"$ref": "#"}, "enum": [{"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/b/items"}, "b": {"items": {"type": "string"}}}, "$ref": "#/$defs/a"},
        {"$id": "urn:a", "$defs": {"b": {"$id": "urn:b", "$defs": {"c": {}}, "$ref": "#/$defs/c"}}, "$ref": "urn:b"},
        {"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#", "allOf": [{}]}}},
        {"x-parts": {"a/b~c": [{}, {"type": "string"}]}, "$ref": "#/x-parts/a~1b~0c/1"},
    ],
    ids=str,
)
def test_a_schema_that_goes_deeper_with_each_round_is_no_circle(schema):
    schema_check.prepare(schema)


@pytest.mark.parametrize(
    ("schema", "through"),
    [
        (
            {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}},
            ["'#/$defs/a'", "'#/$defs/b'"],
        ),
        ({"$id": "urn:x", "$defs": {"k": {"$anchor": "k", "anyOf": [{"$ref": "urn:x#k"}]}}}, ["'urn:x#k'"]),
        ({"x": {"y": {"$ref": "#/x/y"}}, "$ref": "#/x/y"}, ["'#/x/y'"]),
        ({"$id": "http://example.invalid/a/", "$defs": {"b": {"$id": "b", "$ref": "../a/b"}}}, ["'../a/b'"]),
    ],
    ids=str,
)
def test_a_circle_is_named(schema, through):
    with pytest.raises(ValueError, match="it refers to itself without end") as caught:
        schema_check.prepare(schema)
    for reference in through:
        assert reference in str(caught.value)


def test_work_that_could_be_too_much_is_done_in_a_process_of_its_own(monkeypatch):
    asked = []
    apart = schema_check._apart
    monkeypatch.setattr(schema_check, "_apart", lambda *given: asked.append(given) or apart(*given))
    branching = {"anyOf": [{"items": {"$ref": "#"}, "type": "array"}] * 4 + [{"type": "integer"}]}
    prepared = schema_check.prepare(branching)
    for text, breaks in (("[[1]]", False), ("[" * 60 + "1" + "]" * 60, False), ('["é"]', True)):
        assert bool(prepared.faults(text, json.loads(text))) is breaks
    assert [text[:3] for _, text, _ in asked] == ["[[["]


def test_a_process_of_its_own_says_where_the_schema_is_broken():
    schema = json.dumps({"items": {"properties": {"a": {"format": "date"}}}})
    (fault,) = schema_check._apart(schema, '[{"a": "2024-01-01"}, {"a": "é"}]')
    assert (fault.path, fault.message) == ((1, "a"), '"é" is not a "date"')
    assert schema_check._apart(schema, '[{"a": "2024-01-01"}]') == []
