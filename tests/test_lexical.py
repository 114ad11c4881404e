"""The baseline: nearest words, readable arguments, the same every time."""

import pytest

from evalkit.errors import SettingsError
from evalkit.lexical import ANSWER, LexicalBaseline, last_user_text, pick, readable_arguments
from evalkit.tools import Tool


def takes(**properties):
    return {"type": "object", "properties": properties}


TOOLS = (
    Tool("list_files", "List the files in a directory", takes(directory={"type": "string"})),
    Tool("read_file", "Read the contents of a file", takes(path={"type": "string"})),
)


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("What files are in the current directory?", "list_files", {}),
        ("Show me the contents of src/main.rs", "read_file", {"path": "src/main.rs"}),
        ("Read the Cargo.toml file", "read_file", {"path": "Cargo.toml"}),
        ("What is Rust?", None, None),
        ("Tell me a joke", None, None),
        ("List everything in the src directory", "list_files", {"directory": "src"}),
        ("", None, None),
        ("日本語", None, None),
        ("???", None, None),
    ],
)
def test_the_tool_with_the_nearest_words_is_picked(text, tool, arguments):
    turn = pick(text, TOOLS)
    assert [(call.name, call.arguments) for call in turn.tool_calls] == ([(tool, arguments)] if tool else [])
    assert turn.answer == (None if tool else ANSWER)


def test_without_tools_it_answers_in_text():
    assert pick("List the files", ()).answer == ANSWER


def test_words_in_quotes_and_paths_do_not_choose_the_tool():
    assert pick('Translate "list the files in a directory"', TOOLS).tool_calls == ()


def test_names_in_any_style_are_read_as_words():
    tools = (Tool("getWeather"), Tool("calendar.create-event"))
    assert pick("How is the weather?", tools).tool_calls[0].name == "getWeather"
    assert pick("Create an event", tools).tool_calls[0].name == "calendar.create-event"


def test_the_first_of_two_equal_tools_is_picked():
    tools = (Tool("ping_a"), Tool("ping_b"))
    assert pick("ping", tools).tool_calls[0].name == "ping_a"
    assert pick("ping", tools[::-1]).tool_calls[0].name == "ping_b"


def test_the_threshold_decides():
    text = "Show me the contents of src/main.rs"
    assert pick(text, TOOLS, threshold=46).tool_calls == ()
    assert pick(text, TOOLS, threshold=45).tool_calls != ()


@pytest.mark.parametrize(
    ("text", "properties", "arguments"),
    [
        (
            'Send "hi there" to bob@example.com',
            {"to": {"type": "string", "format": "email"}},
            {"to": "bob@example.com"},
        ),
        ('Send "hi there" to bob', {"text": {"type": "string"}}, {"text": "hi there"}),
        ("Send 'hi there', it's bob's", {"text": {"type": "string"}}, {"text": "hi there"}),
        ("on 2026-01-02", {"date": {"type": "string"}, "n": {"type": "integer"}}, {"date": "2026-01-02"}),
        ("3 times at 2.50", {"n": {"type": "integer"}, "cost": {"type": "number"}}, {"n": 3, "cost": 2.5}),
        ("at 2.50", {"n": {"type": "integer"}}, {}),
        ("minus -4 degrees", {"n": {"type": "integer"}}, {"n": -4}),
        ("with high priority", {"p": {"type": "string", "enum": ["low", "High"]}}, {"p": "High"}),
        ("highly praised", {"p": {"enum": ["high", 5]}}, {}),
        ("open https://x.example/a?b=1.", {"url": {"type": "string"}}, {"url": "https://x.example/a?b=1"}),
        (
            "copy a.txt to b/c.txt",
            {"file": {"type": "string"}, "path": {"type": "string"}},
            {"file": "a.txt", "path": "b/c.txt"},
        ),
        ("read .env", {"path": {"type": "string"}}, {"path": ".env"}),
        ("in the current folder", {"folder": {"type": "string"}}, {}),
        ("in the docs folder", {"folder": {"type": "string"}}, {"folder": "docs"}),
        ("yes please", {"sure": {"type": "boolean"}, "all": {"type": "array"}}, {}),
        ("nothing to read", {"name": {"type": "string"}, "odd": True}, {}),
    ],
)
def test_only_what_stands_in_the_message_becomes_an_argument(text, properties, arguments):
    assert readable_arguments(text, takes(**properties)) == arguments


def test_a_tool_without_properties_gets_no_arguments():
    assert readable_arguments("3 files", {"type": "object"}) == {}


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        (
            [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}],
            "b",
        ),
        ([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}], "a"),
        ([{"role": "system", "content": "a"}], ""),
        ([], ""),
    ],
)
def test_the_last_user_message_counts(messages, text):
    assert last_user_text(messages) == text


async def test_it_is_a_model_that_says_what_it_is():
    model = LexicalBaseline(threshold=30)
    assert (model.name, model.settings) == ("lexical", {"kind": "lexical baseline", "threshold": 30.0})
    async with model.session() as session:
        turns = [await session.ask([{"role": "user", "content": "Read a.txt"}], TOOLS, extra={}) for _ in range(2)]
    assert turns[0].tool_calls == turns[1].tool_calls
    assert (turns[0].attempts, turns[0].usage.input_tokens, turns[0].error_kind) == (1, None, None)


@pytest.mark.parametrize("threshold", [-1, 101, "5", True, None])
def test_a_threshold_out_of_range_is_refused(threshold):
    with pytest.raises(SettingsError, match="threshold must be from 0 to 100"):
        LexicalBaseline(threshold)
