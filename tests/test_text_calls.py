"""Calls that servers leave in the text: every dialect, what is no call, and what each is worth."""

from __future__ import annotations

import json

import pytest

from evalkit.cases import EvalCase
from evalkit.evaluators import evaluate_tool_call
from evalkit.offered import offered_tools
from evalkit.records import Turn
from evalkit.text_calls import calls_in_text
from evalkit.tools import as_tools

_WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "metric": {"type": "boolean"},
        "at": {"type": "array", "items": {"type": "string"}},
        "place": {"type": "object"},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
}
TOOLS = as_tools(
    [{"name": "get_weather", "parameters": _WEATHER}, {"name": "get_time"}, {"name": "search"}, {"name": "get-news"}]
)
OFFERED = offered_tools(TOOLS)
OSLO = {"city": "Oslo"}
ONE = [("get_weather", OSLO)]
TWO = [("get_weather", OSLO), ("get_time", {"zone": "CET"})]
THREE_DAYS = [("get_weather", {"city": "Oslo", "days": 3})]
OBJECT = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
OTHER = '{"name": "get_time", "arguments": {"zone": "CET"}}'
ARGUMENTS = '{"city": "Oslo"}'
PYTHON = 'get_weather(city="Oslo")'


def tagged(*names, prefix=""):
    """The call in tags of these names, as Anthropic and MiniMax have it."""
    outer, call, argument = (f"{prefix}{name}" for name in names)
    inner = f'<{argument} name="city">Oslo</{argument}>'
    return f'<{outer}>\n<{call} name="get_weather">\n{inner}\n</{call}>\n</{outer}>'


OBJECTS = [
    (OBJECT, ONE),
    (f"  {OBJECT}\n", ONE),
    (f"[{OBJECT}]", ONE),
    (f"[{OBJECT}, {OTHER}]", TWO),
    (f"{OBJECT}\n{OTHER}", TWO),
    (f"{OBJECT}; {OTHER}", TWO),
    (f"{OBJECT}, {OTHER}", TWO),
    (f"```json\n{OBJECT}\n```", ONE),
    (f"```\n{OBJECT}\n```", ONE),
    (f"```tool_call\n{OBJECT}\n```", ONE),
    (f"```tool_code\n[{OBJECT}]\n```", ONE),
    (f"```json\n{OBJECT}\n```\n```json\n{OTHER}\n```", TWO),
    (f"Sure! {OBJECT}", ONE),
    (f"You could call it like this: {OBJECT}", ONE),
    (f"I will look that up.\n\n```json\n{OBJECT}\n```", ONE),
    (f"Let me see.\n{OBJECT}", ONE),
    (f"{OBJECT}  // asks for the weather", ONE),
    (f"{OBJECT} # asks", ONE),
    (f"{OBJECT}<|im_end|>", ONE),
    (f"{OBJECT}</s>", ONE),
    (f"<think>a < b, so {{list}}</think>\n{OBJECT}", ONE),
    (f"`{OBJECT}`", ONE),
    ('{"name": "get_weather", "parameters": {"city": "Oslo"}}', ONE),
    ('{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}', ONE),
    ('{"name": "get_weather", "args": {"city": "Oslo"}}', ONE),
    ('{"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Oslo"}}', ONE),
    ('{"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}', ONE),
    ('{"function": {"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}}', ONE),
    ('{"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', ONE),
    ('{"function": "get_weather", "arguments": {"city": "Oslo"}}', ONE),
    ('{"tool_calls": [{"id": "c1", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]}', ONE),
    ('{"tool_call": {"name": "get_weather", "arguments": {"city": "Oslo"}}}', ONE),
    ('{"function_call": {"name": "get_weather", "arguments": "{\\"city\\": \\"Oslo\\"}"}}', ONE),
    ('{"functionCall": {"name": "get_weather", "args": {"city": "Oslo"}}}', ONE),
    ('{"toolUse": {"toolUseId": "t", "name": "get_weather", "input": {"city": "Oslo"}}}', ONE),
    ('{"tool": "get_weather", "parameters": {"city": "Oslo"}}', ONE),
    ('{"tool": "get_weather", "tool_input": {"city": "Oslo"}}', ONE),
    ('{"tool_name": "get_weather", "tool_arguments": {"city": "Oslo"}}', ONE),
    ('{"action": "get_weather", "action_input": {"city": "Oslo"}}', ONE),
    ('{"thought": "I look it up", "action": "get_weather", "action_input": {"city": "Oslo"}}', ONE),
    ('{"recipient_name": "functions.get_weather", "parameters": {"city": "Oslo"}}', ONE),
    ('{"tool_uses": [{"recipient_name": "functions.get_weather", "parameters": {"city": "Oslo"}}]}', ONE),
    ('{"get_weather": {"city": "Oslo"}}', ONE),
    ('[{"get_weather": {"city": "Oslo"}}, {"get_time": {"zone": "CET"}}]', TWO),
    ("{'name': 'get_weather', 'arguments': {'city': 'Oslo'}}", ONE),
    ("[{'name': 'get_weather', 'arguments': {'city': 'Oslo', 'metric': True, 'note': None}}]",
     [("get_weather", {"city": "Oslo", "metric": True, "note": None})]),
    ('{"name": "get_weather", "arguments": {"city": "Oslo",},}', ONE),
    ('{"tool": "get_time", "arguments": null}', [("get_time", {})]),
]  # fmt: skip
MARKED = [
    (f"<function(get_weather){ARGUMENTS}</function>", ONE),
    (f"<function/get_weather>{ARGUMENTS}</function>", ONE),
    (f"<function=get_weather>({ARGUMENTS})</function>", ONE),
    (f"<function=get_weather({ARGUMENTS})</function>", ONE),
    (f"<|FunctionCallBegin|>[{OBJECT}]<|FunctionCallEnd|>", ONE),
    (f"<execute_tool>{PYTHON}</execute_tool>", ONE),
    (f"<tool>get_weather</tool>\n<tool_input>{ARGUMENTS}</tool_input>", ONE),
    ("<longcat_tool_call>get_weather\n<longcat_arg_key>city</longcat_arg_key>\n"
     "<longcat_arg_value>Oslo</longcat_arg_value>\n</longcat_tool_call>", ONE),
    (f"<tool_call>\n{OBJECT}\n</tool_call>", ONE),
    (f"I will look.\n<tool_call>{OBJECT}</tool_call>", ONE),
    (f"<tool_call>\n{OBJECT}\n</tool_call>\n<tool_call>\n{OTHER}\n</tool_call>", TWO),
    (f"<tool_call>{OBJECT}\n{OTHER}</tool_call>", TWO),
    (f"<tool_call>{OBJECT}", ONE),
    (f"I look.\n<tool_call>\n{OBJECT}}}\n</tool_call>", ONE),
    (f"```xml\n<tool_call>\n{OBJECT}\n</tool_call>\n```", ONE),
    (f"<tool_call>{OBJECT}</tool_call>\n<tool_response>\n7 degrees\n</tool_response>\nIt is 7 degrees.", ONE),
    (f"<tool_call>{OBJECT}</tool_call>\nI have asked for it.", ONE),
    (f"<tool_call>[{OBJECT}, {OTHER}]", TWO),
    (f"<function_call> {OBJECT}", ONE),
    (f"<functioncall> {OBJECT} <|endoftext|>", ONE),
    ('<functioncall> {"name": "get_weather", "arguments": \'{"city": "Oslo"}\'} <|endoftext|>', ONE),
    (f"<tools>\n{OBJECT}\n</tools>", ONE),
    (f"<longcat_tool_call>{OBJECT}</longcat_tool_call>", ONE),
    (f"<|tool_call|>[{OBJECT}]<|/tool_call|>", ONE),
    (f"<|tool_call|>[{OBJECT}, {OTHER}]", TWO),
    (f"<|tool_call|>{OBJECT}<|/tool_call|>", ONE),
    (f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>", ONE),
    (f"<|tool_call_start|>[{PYTHON}]<|tool_call_end|>I am asking.", ONE),
    (f"[unused11][{OBJECT}][unused12]", ONE),
    (f"<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{ARGUMENTS}"
     '<|tool_call_end|><|tool_call_begin|>functions.get_time:1<|tool_call_argument_begin|>{"zone": "CET"}'
     "<|tool_call_end|><|tool_calls_section_end|>", TWO),
    (f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{ARGUMENTS}\n```"
     "<｜tool▁call▁end｜><｜tool▁calls▁end｜>", ONE),
    (f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{ARGUMENTS}\n```"
     "<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>get_time\n```json\n{\"zone\": \"CET\"}\n```"
     "<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>", TWO),
    (f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>"
     "<｜tool▁calls▁end｜>", ONE),
    ('<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n<｜DSML｜parameter name="city" string="true">Oslo'
     '</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
     "</｜DSML｜function_calls>", THREE_DAYS),
    ('<｜DSML｜tool_calls>\n<｜DSML｜invoke name="get_time">\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>',
     [("get_time", {})]),
    ("<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n"
     "<arg_value>3</arg_value>\n</tool_call>", THREE_DAYS),
    ("<tool_call>get_weather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>", ONE),
    ("<tool_call>get_time\n</tool_call>", [("get_time", {})]),
    ("<tool_calls>\n<tool_call>get_weather<tool_sep>\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n</tool_call>"
     "\n</tool_calls>", ONE),
    ("<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
     "</function>\n</tool_call>", THREE_DAYS),
    ("<function=get_weather><parameter=city>Oslo</parameter></function>\n"
     "<function=get_time><parameter=zone>CET</parameter></function>", TWO),
    (f"<function=get_weather>{ARGUMENTS}</function>", ONE),
    (f"<function=get_weather>{ARGUMENTS}", ONE),
    (f"<function=get_weather{ARGUMENTS}</function>", ONE),
    ('<function name="get_weather">\n<param name="city">Oslo</param>\n</function>', ONE),
    ('<function name="get_weather"><parameter name="city"><![CDATA[Oslo]]></parameter></function>', ONE),
    (tagged("function_calls", "invoke", "parameter"), ONE),
    (tagged("function_calls", "invoke", "parameter", prefix="antml:"), ONE),
    (tagged("minimax:tool_call", "invoke", "parameter"), ONE),
    ("<function_calls><invoke><tool_name>get_weather</tool_name><parameters><city>Oslo</city></parameters></invoke>"
     "</function_calls>", ONE),
    ("<seed:tool_call><function=get_weather><parameter=city>Oslo</parameter></function></seed:tool_call>", ONE),
    ("<get_weather>\n<city>Oslo</city>\n<days>3</days>\n</get_weather>", THREE_DAYS),
    (f"I look.\n\n<get_weather>{ARGUMENTS}</get_weather>", ONE),
    ("<use_mcp_tool>\n<server_name>weather</server_name>\n<tool_name>get_weather</tool_name>\n<arguments>\n"
     f"{ARGUMENTS}\n</arguments>\n</use_mcp_tool>", ONE),
    (f"<tool_call><name>get_weather</name><arguments>{ARGUMENTS}</arguments></tool_call>", ONE),
    (f"<|action_start|><|plugin|>\n{OBJECT}<|action_end|>", ONE),
    (f"<tool_calls>\n[{OBJECT}, {OTHER}]\n</tool_calls>", TWO),
    (f"<tool_calls>\n{OBJECT}\n{OTHER}\n</tool_calls>", TWO),
    (f"<TOOLCALL>[{OBJECT}]</TOOLCALL>", ONE),
    ('<｜tool_calls_begin｜>\n<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="get_weather">'
     '<steptml:parameter name="city">Oslo</steptml:parameter></steptml:invoke><｜tool_call_end｜>\n'
     "<｜tool_calls_end｜>", ONE),
    ('Action: ```json\n[\n    {\n        "tool_name": "get_weather",\n        "parameters": '
     '{"city": "Oslo"}\n    }\n]\n```', ONE),
    ('<|START_THINKING|>I look.<|END_THINKING|><|START_ACTION|>[\n    {"tool_call_id": "0", '
     '"tool_name": "get_weather", "parameters": {"city": "Oslo"}}\n]<|END_ACTION|>', ONE),
    (f">>>get_weather\n{ARGUMENTS}", ONE),
    (f">>>all\nI look that up.>>>get_weather\n{ARGUMENTS}>>>get_time\n{{\"zone\": \"CET\"}}", TWO),
    (f"get_weather\n{ARGUMENTS}", ONE),
    (f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{ARGUMENTS}<|call|>", ONE),
    ("<|channel|>analysis<|message|>I need it.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
     f"<|constrain|>json<|message|>{ARGUMENTS}", ONE),
    (f"<|start|>assistant to=functions.get_weather<|channel|>commentary json<|message|>{ARGUMENTS}<|call|>", ONE),
    (f"I need the weather.assistantcommentary to=functions.get_weather json{ARGUMENTS}", ONE),
    (f"commentary to=functions.get_weather {ARGUMENTS}", ONE),
    (f"[TOOL_CALLS][{OBJECT}]", ONE),
    (f"[TOOL_CALLS] [{OBJECT}, {OTHER}]", TWO),
    (f"[TOOL_CALLS] {OBJECT}", ONE),
    (f"[TOOL_CALLS]get_weather{ARGUMENTS}", ONE),
    (f'[TOOL_CALLS]get_weather{ARGUMENTS}[TOOL_CALLS]get_time{{"zone": "CET"}}', TWO),
    (f"[TOOL_CALLS]get_weather[ARGS]{ARGUMENTS}</s>", ONE),
    (f"[TOOL_CALLS]get_weather[CALL_ID]abc123[ARGS]{ARGUMENTS}", ONE),
    (f"[TOOL_REQUEST]{OBJECT}[END_TOOL_REQUEST]", ONE),
    (f"<|python_tag|>{OBJECT}", ONE),
    ('<|python_tag|>{"type": "function", "name": "get_weather", "parameters": {"city": "Oslo"}}<|eom_id|>', ONE),
    (f"<|python_tag|>{OBJECT}; {OTHER}", TWO),
    ('<|python_tag|>get_weather.call(city="Oslo")', ONE),
    (f"<|python_start|>[{PYTHON}]<|python_end|>", ONE),
    (f"<|python_start|>{OBJECT}<|python_end|>", ONE),
    ("<start_function_call>call:get_weather{city:<escape>Oslo<escape>,days:3}<end_function_call>", THREE_DAYS),
    ('<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>', THREE_DAYS),
    ('<|tool_call>call:get_weather{at:[<|"|>noon, sharp<|"|>,<|"|>{late}<|"|>],metric:true,'
     'place:{name:<|"|>a "b"<|"|>}}<tool_call|>',
     [("get_weather", {"at": ["noon, sharp", "{late}"], "metric": True, "place": {"name": 'a "b"'}})]),
    (f'<function_calls>\n{PYTHON}\nget_time(zone="CET")\n</function_calls>', TWO),
    (f"<|function_call|>{OBJECT}", ONE),
    (f"function call<|role_sep|>\n{OBJECT}", ONE),
    (f'<|tools_prefix|>[{{"get_weather": {ARGUMENTS}}}, {{"get_time": {{"zone": "CET"}}}}]<|tools_suffix|>', TWO),
    (f" functools[{OBJECT}]", ONE),
    (f" -> tool/function_call\n[{OBJECT}]", ONE),
    ('<|open|>tools<|sep|><|open|>call tool="get_weather" index="1"<|sep|><|open|>argument key="city" '
     'type="string"<|sep|>Oslo<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>', ONE),
]  # fmt: skip
PYTHONIC = [
    (f"**{PYTHON}**", ONE),
    (f"✿FUNCTION✿: get_weather\n✿ARGS✿: {ARGUMENTS}\n✿RESULT✿: 7", ONE),
    (f"Tool Call: get_weather\nTool Input: {ARGUMENTS}", ONE),
    (f"tool_name: get_weather\ntool_input: {ARGUMENTS}", ONE),
    (f'{{"function_name": "get_weather", "function_args": {ARGUMENTS}}}', ONE),
    (f'{{"name": "get_weather", "arguments": {ARGUMENTS}', ONE),  # a bracket short
    (PYTHON, ONE),
    (f"[{PYTHON}]", ONE),
    (f'[{PYTHON}, get_time(zone="CET")]', TWO),
    (f'{PYTHON}\nget_time(zone="CET")', TWO),
    (f'{PYTHON}; get_time(zone="CET");', TWO),
    (f"```python\n{PYTHON}\n```", ONE),
    (f"```tool_code\nprint(default_api.{PYTHON})\n```", ONE),
    (f"```tool_code\n# asks for it\nprint({PYTHON})\n```", ONE),
    (f"<tool_code>\nprint({PYTHON})\n</tool_code>", ONE),
    (f"Let me look.\n\n[{PYTHON}]", ONE),
    (f"Sure! {PYTHON}", ONE),
    (f"result = {PYTHON}", ONE),
    ("get_weather('Oslo', days=3)", THREE_DAYS),
    ('get_weather({"city": "Oslo"})', ONE),
    ("get_weather()", [("get_weather", {})]),
    ('[get_weather(city="O)s(l\'o", days=-3, metric=true, at=["x", None], place={"a": {"b": 1.5}})]',
     [("get_weather", {"city": "O)s(l'o", "days": -3, "metric": True, "at": ["x", None], "place": {"a": {"b": 1.5}}})]),
    (f"Thought: I look it up.\nAction: get_weather\nAction Input: {ARGUMENTS}", ONE),
    (f"Action: get_weather\nAction Input: {ARGUMENTS}\nObservation: 7 degrees\nFinal Answer: 7", ONE),
    (f"Tool: get_weather\nArguments: {ARGUMENTS}", ONE),
    (f"get_weather<｜tool▁sep｜>{ARGUMENTS}<｜tool▁call▁end｜>", ONE),
    (f"<|assistant|>get_weather\n{ARGUMENTS}", ONE),
    (f"我来查一下：{PYTHON}", ONE),
    (f"我来查一下。{OBJECT}", ONE),
    ("functions.get_weather({ city: 'Oslo' })", ONE),
    ("[get_weather(city=Oslo)]", ONE),
    ("I look.\nget-news(city='Oslo')", [("get-news", OSLO)]),
    (f"**Action:** `get_weather`\n**Action Input:** {ARGUMENTS}", ONE),
]  # fmt: skip


def read(text, names=OFFERED.names, schema=OFFERED.schema):
    return [(call.name, arguments_of(call)) for call in calls_in_text(text, names, schema)]


def arguments_of(call):
    return json.loads(call.arguments) if isinstance(call.arguments, str) else call.arguments or {}


def judged(text, expected="get_weather", tools=TOOLS, **fields):
    case = EvalCase.from_dict({"input": "What is the weather in Oslo?", "expected_tool": expected, **fields})
    return evaluate_tool_call(case, Turn(answer=text), tools)


@pytest.mark.parametrize(("text", "calls"), OBJECTS + MARKED + PYTHONIC)
def test_a_call_is_read_in_whatever_dialect_it_is_written(text, calls):
    assert read(text) == calls


@pytest.mark.parametrize(("text", "calls"), MARKED)
def test_a_mark_tells_a_call_where_no_tool_is_known(text, calls):
    if not text.startswith(("get_weather\n", "Action", "<get_weather>", "I look.")):
        assert [name for name, _ in read(text, (), lambda _: None)] == [name for name, _ in calls]


ANSWERS = [
    "It is sunny in Oslo.",
    "",
    "   ",
    "I would use get_weather(city) for that.",
    'You could call get_weather(city="Oslo") for that.',
    'I would use get_weather(city="Oslo")',
    "You can call `get_weather` with a city, or `get_time`.",
    'To ask for it, write `get_weather(city="Oslo")`.',
    "get_weather",
    '"get_weather"',
    "get_weather is what I would use.",
    f"For example:\n```json\n{OBJECT}\n```\nThat asks for the weather.",
    f"{OBJECT}\nThat asks for the weather.",
    f"Use <tool_call>{OBJECT}</tool_call> to ask for it.",
    f"<tool_call>{OBJECT}</tool_call> is how Hermes writes it.",
    "The syntax is <function=get_weather>{...}</function>.",
    'In this format a call is <tool_call>{"name": <function-name>, "arguments": <arguments>}</tool_call>',
    "[get_weather](https://example.org)",
    'Which one? get_weather(city="Oslo")?',
    'get_weather(city="Oslo") -> 7',
    "function get_weather(city) {\n  return 7\n}",
    '1. get_weather(city="Oslo")\n2. get_time()',
    '<invoke name="get_weather"> is how one begins a call.',
    "Tool: get_weather\nArguments: the name of a city",
    f'He wrote "<tool_call>{OBJECT}</tool_call>"',
    "<tool_call> is a tag that some models write.",
    '"<tool_call>" is a tag',
    "The mark <|tool_call|> comes before a call.",
    "Mistral's models write [TOOL_CALLS] before a call.",
    "[TOOL_CALLS] is Mistral's mark.",
    f"Phi-4 writes `<|tool_call|>[{OBJECT}]<|/tool_call|>` for it.",
    "```python\ndef get_weather(city):\n    return 7\n```",
    'Here is the code:\n```python\ndef get_weather(city):\n    return 7\n\nget_weather("Oslo")\n```',
    "```python\nfrom tools import get_weather\n\nfor city in cities:\n    get_weather(city)\n```",
    '```python\nimport tools\nget_weather(city="Oslo")\n```',
    'def get_weather(city): ...\n\nget_weather(city="Oslo")',
    '{"name": "Paris", "arguments": {"city": "Oslo"}}',
    '{"name": "Paris", "arguments": ["a", "b"]}',
    '{"name": "get_weather"}',
    '{"name": "get_weather", "arguments": 5}',
    '{"name": "get_weather", "description": "Asks for it", "parameters": {"type": "object"}}',
    '{"name": "get_weather", "parameters": {"type": "object", "properties": {}}}',
    '{"type": "function", "function": {"name": "get_weather", "description": "d", "parameters": {"type": "object"}}}',
    '<tools>[{"name": "get_weather", "description": "d", "parameters": {"type": "object"}}]</tools>',
    '{"action": "Final Answer", "action_input": "It is sunny."}',
    '{"city": "Oslo"}',
    '{"get_weather": "sunny"}',
    '{"get_weather": {"en": "Weather", "no": "Vær"}}',
    "<get_weather><to>Tove</to><from>Jani</from></get_weather>",
    'get_weather: {"summary": "sunny"}',
    "<tool>hammer</tool>",
    '<tools><tool name="hammer"/></tools>',
    "<tools>\n<tool><name>hammer</name></tool>\n</tools>",
    '<function name="f"><parameter name="x">1</parameter></function>',
    '<tool name="hammer">\n<weight>2</weight>\n</tool>',
    "<call><name>Bob</name><number>5</number></call>",
    "<call>me</call>",
    "It is sunny. (See also: get_weather())",
    '{"name": "get_weather", "arguments": {"city": "Oslo"} would ask for it.',
    '{"name": "get_weather", "arguments": {"city": "Oslo"}\nThat asks for it.',
    'A call looks so:\n\n<tool_call>\n{"name": "…", "arguments": {…}}\n</tool_call>',
    '{"steps": [{"name": "get_weather", "arguments": {"city": "Oslo"}}], "done": true}',
    '{"answer": {"name": "get_weather", "arguments": {}}}',
    "[1, 2]",
    "[]",
    "['Oslo', 'Bergen']",
    "['get_weather', 'get_time']",
    '{"tool_calls": []}',
    f"[{OBJECT}, 5]",
    "<city>Oslo</city>",
    "<get_weather> is the tool for that.",
    '<p>Call <code>get_weather(city="Oslo")</code></p>',
    "Action: call the police\nAction Input: 112",
    "The answer is f(x) = 3 (see above)",
    "print(7)",
    "x = [1, 2]\nlen(x)",
    "To answer to=me you write (something).",
    "<|channel|>final<|message|>It is sunny.",
    "<function>f(x)</function> is how one writes it.",
    "{" * 500,
    "[" * 500,
    '{"a": ' * 300 + "1",
]


@pytest.mark.parametrize("text", ANSWERS)
def test_a_text_about_a_call_is_an_answer(text):
    assert read(text) == []
    if text.strip():
        assert judged(text, "none").outcome == "correct"
        assert judged(text).outcome == "no_call"


@pytest.mark.parametrize(("text", "calls"), OBJECTS + MARKED + PYTHONIC)
def test_a_call_as_text_is_no_abstention_and_no_call_and_is_scored_as_one_where_that_is_accepted(text, calls):
    [(name, arguments), *others] = calls
    wanted = judged(text, name)
    assert (wanted.outcome, wanted.score, wanted.actual_tool) == ("call_in_text", 0.0, name)
    assert wanted.reason == f"Expected {name}, got the call as text: the endpoint does not return tool calls"
    unwanted = judged(text, "none")
    assert (unwanted.outcome, unwanted.passed) == ("call_in_text", False)
    assert unwanted.reason == (
        f"Expected no tool call, got a call of {name} as text: the endpoint does not return tool calls"
    )
    accepted = judged(text, name, text_calls="accept", expected_arguments=arguments)
    assert (accepted.outcome, accepted.reason) == ("correct", f"Correct: selected {name}")
    assert {"call_in_text"} | ({"extra_calls"} if others else set()) == set(accepted.flags) - {
        "empty_arguments",
        "thinking",
    }


def test_several_calls_as_text_are_several_calls():
    text = f"<tool_call>{OBJECT}</tool_call>\n<tool_call>{OTHER}</tool_call>"
    accepted = {"text_calls": "accept", "expected_arguments": {"zone": "CET"}}
    assert judged(text, "get_time", calls="any", **accepted).outcome == "correct"
    assert judged(text, "get_time", **accepted).outcome == "wrong_tool"
    assert judged(text, "get_weather", calls="only", text_calls="accept").outcome == "extra_calls"


@pytest.mark.parametrize(
    ("name", "said", "value"),
    [
        ("city", "5", "5"),
        ("city", "true", "true"),
        ("city", '"Oslo"', '"Oslo"'),
        ("city", "\n a\n", " a"),
        ("city", "a < b", "a < b"),
        ("days", "5", 5),
        ("days", " 5 ", 5),
        ("days", "five", "five"),
        ("metric", "true", True),
        ("metric", "True", True),
        ("metric", "yes", "yes"),
        ("at", '["noon"]', ["noon"]),
        ("at", "['noon']", ["noon"]),
        ("place", '{"name": "x"}', {"name": "x"}),
        ("place", "[1]", "[1]"),
        ("note", "null", None),
        ("note", "5", "5"),
        ("unknown", "5", 5),
        ("unknown", "Oslo", "Oslo"),
        ("unknown", '"5"', "5"),
        ("unknown", "NaN", "NaN"),
        ("unknown", "f(x=1)", "f(x=1)"),
        ("unknown", "[f(x=1)]", "[f(x=1)]"),
        ("unknown", "{(1,): [2]}", "{(1,): [2]}"),
        ("unknown", "['a', 1e999]", "['a', 1e999]"),
    ],
)
def test_text_between_argument_tags_becomes_what_the_schema_declares(name, said, value):
    for text in (
        f"<function=get_weather><parameter={name}>{said}</parameter></function>",
        f"<tool_call>get_weather<arg_key>{name}</arg_key><arg_value>{said}</arg_value></tool_call>",
    ):
        [(_, arguments)] = read(text)
        assert arguments == {name: value}
        assert type(arguments[name]) is type(value)


@pytest.mark.parametrize(
    ("text", "name", "problem"),
    [
        ('<tool_call>{"name": "get_weather", "arguments": {"city": "Os', "get_weather", "Unterminated string"),
        ("<function=get_weather><parameter=city>Os", "get_weather", "Unterminated string"),
        ('[TOOL_CALLS]get_weather{"city": "Os', "get_weather", "Unterminated string"),
        ("<tool_call>{name: get_weather, city: Oslo}</tool_call>", None, None),
        (
            '<tool_call>{"name": "get_weather", "arguments": {city}}</tool_call>',
            "get_weather",
            "Expecting property name",
        ),
        (
            '<tool_call>{"name": "get_weather", "arguments": {"a": 1, "a": 2}}</tool_call>',
            "get_weather",
            "appears twice",
        ),
        ("[TOOL_CALLS]get_weather{city}", "get_weather", "Expecting property name"),
        ("<tool_call>get_weather(city)</tool_call>", "get_weather", "Expecting value"),
        ('<tool_call>{"city": "Oslo"}</tool_call>', None, None),
        ('<|tool_call|>[{"na', None, None),
        ("[TOOL_CALLS]", None, None),
        ("<|python_tag|>import os", None, None),
        ("<tool_call>???</tool_call>", None, None),
    ],
)
def test_a_marked_call_that_cannot_be_read_is_still_one(text, name, problem):
    wanted = judged(text)
    assert (wanted.outcome, wanted.actual_tool) == ("call_in_text", name)
    said = "the call" if name else "a call without a usable name"
    assert wanted.reason == f"Expected get_weather, got {said} as text: the endpoint does not return tool calls"
    assert judged(text, "none").outcome == "call_in_text"
    accepted = judged(text, text_calls="accept")
    assert accepted.outcome == ("unparsable" if name else "unusable_call")
    assert problem is None or problem in accepted.reason


def test_a_cut_off_call_as_text_is_truncated_where_it_is_accepted():
    turn = Turn(answer='<tool_call>{"name": "get_weather", "arguments": {"city": "Os', finish_reason="length")
    case = EvalCase.from_dict({"input": "?", "expected_tool": "get_weather", "text_calls": "accept"})
    assert evaluate_tool_call(case, turn, TOOLS).error_kind == "truncated"


def test_a_marked_call_of_an_unknown_tool_is_a_call_of_it_and_a_bare_one_an_answer():
    text = '{"name": "get_whether", "arguments": {}}'
    assert judged(text).outcome == "no_call"
    assert judged(f"<tool_call>{text}</tool_call>").outcome == "call_in_text"
    accepted = judged(f"<tool_call>{text}</tool_call>", text_calls="accept")
    assert accepted.outcome == "unknown_tool"
    assert "nearest: get_weather" in accepted.reason


def test_without_tools_the_names_of_the_case_count_and_every_mark():
    assert judged(OBJECT, tools=()).outcome == "call_in_text"
    assert judged(PYTHON, tools=()).outcome == "call_in_text"
    assert judged(OBJECT, "none", tools=()).outcome == "correct"
    assert judged(f"<tool_call>{OBJECT}</tool_call>", "none", tools=()).outcome == "call_in_text"


def test_a_secondary_none_is_no_licence_to_write_a_call():
    assert judged(OBJECT, "get_time", secondary_tools=["none"]).outcome == "call_in_text"
    assert judged(OBJECT, "none", secondary_tools=["get_weather"]).outcome == "call_in_text"


HOSTILE = [
    "<",
    "[",
    "{",
    "{ ",
    "( ",
    "get_weather(",
    "\nget_weather(",
    "\nget_weather({",
    "\nget_weather('",
    '\n{"',
    '\n{"a": "',
    "<tool_call>",
    "<tool_call>{",
    '<tool_call>{"a": "',
    '<tool_call>{"name": ',
    "<function=a>",
    "<function=a><parameter=b>",
    "<arg_key>",
    "<tool_call>a<arg_key>b</arg_key><arg_value>",
    "<|",
    "<|tool_call|>",
    "<|tool_call|>[",
    "[TOOL_CALLS]",
    "[TOOL_CALLS]a",
    "[TOOL_CALLS]a{",
    "to=functions.",
    "Action: get_weather\nAction Input: {",
    "Action: get_weather\n",
    "```\n",
    "# a\n",
    "\\'",
    "-",
    "a.",
    "<get_weather>",
    "<escape>",
    "<start_function_call>call:a{b:<escape>",
    "*",
    "# ",
    "import get_weather ",
    "get_weather: ",
    "Tool: get_weather\nInput: ",
    f"{OBJECT}\n",
    f"<tool_call>{OBJECT}</tool_call>x",
]


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", "}", ")", "]\"'})"])
def test_hostile_text_is_read_to_its_end(piece, end):
    calls_in_text(piece * (60_000 // len(piece)) + end, OFFERED.names, OFFERED.schema)
