"""One call written as text, read where it begins: a JSON object, a Python call, a name with arguments, or tags.

Which form it is shows at its first characters, whoever writes it so. What stands between argument tags is text on the
wire. It becomes a value as servers make one of it: where the tool's schema declares types, the JSON value that is of
one of them, else the text; where it declares none, the JSON value, else the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .call_values import NoValue, PythonCall, Value, delimited_at, python_at, typed, value_at
from .calls import call_of, same_but_for_dress
from .jsontext import write
from .records import ToolCall
from .toolschema import Declared, ToolSchema

Found = tuple[list[ToolCall], int]  # the calls, none where it is something else; and where that ends
_NAME_KEYS = ("name", "tool", "tool_name", "function", "function_name", "recipient_name", "action")
_HELD_KEYS = tuple(
    """
    arguments parameters args input params kwargs tool_input tool_arguments tool_args tool_parameters action_input
    function_args function_arguments
    """.split()
)
_WRAPPERS = ("tool_calls", "tool_call", "function_call", "functionCall", "toolUse", "tool_uses", "calls")
_NAME = r"[^\W\d][\w.:/-]*"
_DRESS = re.compile(r"\A(?:functions?|default_api|tools?)[.:](?=\w)|:\d+\Z|[.:/-]+\Z|\.call\Z")
_NAMED = re.compile(rf"(?:function<\|tool_sep\|>\s*)?(call:)?(?:[^\W\d]\w* *= *|await +)?({_NAME})")
_BETWEEN = re.compile(  # a name and its arguments
    r"(?:\s|:(?=\s*\{)|<\|\w{1,40}\|>|<tool_sep>|\[CALL_ID\]\w*|\[ARGS\]|```\w*|(?:json|code|commentary)\b)*"
)
_OPENING = re.compile(  # <function=NAME>, <invoke name="NAME">
    r"<(?:(?:function|invoke|tool_call|function_call|tool_use|tool|call)(?:\s*=\s*|\s+(?:name|tool)\s*=\s*)|function[(/])"
    rf"[\"']?(?P<name>{_NAME})[\"']?[^<>{{}}]{{0,200}}>?\s*(?:\((?=\{{))?"
)
_NAME_TAG = re.compile(
    r"(?:<invoke>\s*|<server_name>[^<]{0,200}</server_name>\s*)*<(?P<tag>tool_name|name|function_name)>\s*"
    rf"(?P<name>{_NAME})\s*</(?P=tag)>"
)
_OWN_TAG = re.compile(rf"<({_NAME})>")
_HOLDER = re.compile(r"\s*(?:<(?:parameters|arguments|args|input|tool_input|params)>(?=\s*[<{]))?\s*")
_PARAMETER = re.compile(
    r"\s*(?:<(parameter|param|argument|arg)(?:\s*=\s*|\s+(?:name|key)\s*=\s*)[\"']?([^\"'<>=\s]{1,200})[\"']?"
    r"([^<>]{0,200})>|<arg_key>([^<]{1,200})</arg_key>\s*<(arg_value)>|<([^\W\d][\w.-]{0,100})>)"
)
_IS_TEXT = re.compile(r"""\b(?:string=["']?true|type=["']?str)""")
_END = re.compile(r"</[\w.:-]+>|<\|/?\w{1,40}\|?>|<\w{1,40}\|>|<end_\w+>|\[/?(?:END_)?TOOL_\w+\]|\Z")
_PLACEHOLDER = re.compile(
    r"[\s{\[]*(?:…|\.\.\.)[\s}\]]*\Z|[^<]*:\s*<[\w -]+>"  # of somebody who explains the format
    r"|[\s{\[]*[\"']?name[\"']?\s*:\s*[\"']?(?:…|\.\.\.)"
)
_SAID_NAME = re.compile(r"""["'](?:name|tool|tool_name|function|action)["']\s*:\s*["']([^"']{1,200})["']""")
_BROKEN = re.compile(
    r"""(?:```\w*\s*)?\{\s*["'](?:name|tool|tool_name|function|action)["']\s*:\s*["']([^"']{1,200})["']\s*,\s*"""
    r"""["'](?:arguments|parameters|args|input|action_input)["']\s*:\s*\{(?!.*[}\n][ \t]{0,40}[^\W\d])""",
    re.DOTALL,
)
_SAID_ARGUMENTS = re.compile(r"""["'](?:arguments|parameters|args|input)["']\s*:\s*""")


class CallReader:
    """Reads the calls of one text. `names` were offered; `schema` gives a tool's prepared parameters, or None.

    Where a mark stands before a call (`marked`), any name counts, else only an offered one.
    """

    def __init__(self, text: str, names: tuple[str, ...], schema: Callable[[str], ToolSchema | None]):
        self.text, self.names, self._schema = text, names, schema
        self.patience = 10 * len(text) + 1000  # characters that may be read in vain

    def at(self, start: int, *, marked: bool) -> Found | None:
        """What is called from `start` on and where that ends; None where nothing can be read."""
        try:
            if self.text.startswith(("{", "["), start):
                return self._of_value(value_at(self.text, start), start, marked)
            if self.text.startswith("<", start):
                return self._of_tags(start, marked)
            named = _NAMED.match(self.text, start)
            return self._of_name(named, marked) if named is not None else None
        except NoValue as error:
            self.patience -= error.cost
            return self._garbled(None, start) if marked and self.text.startswith(("{", "["), start) else None

    def _of_value(self, found: Value, start: int, marked: bool) -> Found:
        calls = [self._call(entry, marked) for entry in _entries(found.value)]
        said = [call for call in calls if call is not None]
        if len(said) < len(calls):
            return [], found.end
        return said if found.sound else [ToolCall(one.name, self.text[start : found.end]) for one in said], found.end

    def _call(self, entry: Any, marked: bool) -> ToolCall | None:
        if isinstance(entry, PythonCall):
            return self._python_call(entry, marked)
        if not isinstance(entry, Mapping):
            return None
        call = call_of(entry, _NAME_KEYS, _HELD_KEYS)
        if call is None and len(entry) == 1:
            name, inner = next(iter(entry.items()))
            is_one = isinstance(inner, Mapping) and name not in _NAME_KEYS and self._takes(name, inner)
            call = ToolCall(name, inner) if is_one else None
        if call is None and marked and not {"description", "parameters"} & set(entry):
            name = entry.get("name")
            call = ToolCall(name) if isinstance(name, str) else ToolCall(None, None, raw=entry)
        if call is not None and "recipient_name" in entry:
            call = ToolCall(self._plain(str(call.name)), call.arguments)
        return call if call is not None and (marked or self.knows(str(call.name))) else None

    def knows(self, name: str) -> bool:
        """Whether a tool of that name was offered, give or take what its dialect puts around it."""
        return name in self.names or same_but_for_dress(name, self.names) is not None

    def _plain(self, name: str) -> str:
        """The name without what its dialect puts around it: functions.get_weather:0 is a call of get_weather."""
        return name if name in self.names else _DRESS.sub("", name)

    def _python_call(self, call: PythonCall, marked: bool) -> ToolCall | None:
        name, arguments = self._plain(call.name), call.arguments
        if not self.knows(name) and (arguments is None or not marked):
            return None
        if arguments is None and not marked:
            return None  # get_weather(city): a sentence about it, not a call
        if call.positional and isinstance(arguments, Mapping):
            declared = self._declared(name)
            names = declared.names if declared is not None else ()
            if len(call.positional) == 1 and isinstance(call.positional[0], Mapping) and not arguments:
                arguments = call.positional[0]
            elif len(names) >= len(call.positional):
                arguments = {**dict(zip(names, call.positional, strict=False)), **arguments}
            else:
                arguments = None
        return ToolCall(name, call.text if arguments is None else arguments)

    def _of_name(self, named: re.Match[str], marked: bool) -> Found | None:
        """NAME(…), NAME {…}, NAME <arg_key>…; after a mark, a NAME alone."""
        text, name = self.text, self._plain(named[2])
        known = marked or self.knows(name)
        if text.startswith("(", named.end()):
            wanted = known or named[2] == "print"
            if not wanted:
                return None
            foreign = not named[2].replace(".", "_").isidentifier()  # get-weather(…)
            start = named.end() if foreign else named.start(2)
            return self._of_value(python_at(text, start, name=named[2] if foreign else ""), start, marked)
        start = _BETWEEN.match(text, named.end()).end()  # type: ignore[union-attr]
        if known and text.startswith("{", start):
            return self._with_arguments(name, start, marked, delimited=bool(named[1]))
        if not marked:
            return None
        if text.startswith("<arg_key>", start):
            return self._with_tags(name, start)
        if text.startswith("<invoke", start):
            return self._of_tags(start, marked)
        if not self.knows(name) and self.names and text.startswith("</", named.end()):
            return None  # <tool>hammer</tool>
        if text.startswith("</tool>", named.end()):
            return self._with_tags(name, named.end() + len("</tool>"))
        ends = text.startswith(("</", "<|"), named.end()) or text.startswith("</", start)
        return ([ToolCall(name, {})], named.end()) if ends or (start == len(text) and name in self.names) else None

    def _with_arguments(self, name: str, start: int, marked: bool, *, delimited: bool = False) -> Found | None:
        """A call with the arguments of the object that begins at `start`."""
        try:
            if delimited:
                found = delimited_at(self.text, start, self._end(start))
            else:
                found = value_at(self.text, start)
        except NoValue as error:
            self.patience -= error.cost
            return self._garbled(name, start) if marked else None
        if not marked and not self._takes(name, found.value):
            return None
        return [ToolCall(name, found.value if found.text is None else found.text)], found.end

    def broken(self) -> list[ToolCall]:
        """A call of an offered tool in an object that is all of the text and no JSON: cut off, or a bracket short."""
        begun = _BROKEN.match(self.text)
        if begun is None or not self.knows(begun[1]):
            return []
        try:
            value_at(self.text, self.text.index("{"))
        except NoValue:
            found = self._garbled(None, self.text.index("{"))
            return found[0] if found is not None else []
        return []

    def with_input(self, name: str, start: int) -> Found:
        """A call of `name` with the object that begins at `start`, or with what stands there to an Observation."""
        found = self._with_arguments(name, start, marked=False) if self.text.startswith("{", start) else None
        end = self.text.find("\nObservation", start)
        end = end if end >= 0 else len(self.text)
        return found or ([ToolCall(name, self.text[start:end].strip())], end)

    def _of_tags(self, start: int, marked: bool) -> Found | None:
        """<function=NAME>…, <invoke><tool_name>NAME</tool_name>…; after no mark, <NAME>… of an offered tool."""
        if not marked:
            own = _OWN_TAG.match(self.text, start)
            if own is None or own[1] not in self.names:
                return None
            closing = self.text.find(f"</{own[1]}>", own.end())
            found = self._with_tags(own[1], own.end()) if closing >= 0 else None
            if found is None or found[1] > closing or not self._takes(own[1], found[0][0].arguments):
                return None
            return found[0], closing + len(own[1]) + 3
        named = _OPENING.match(self.text, start) or _NAME_TAG.match(self.text, start)
        return self._with_tags(self._plain(named["name"]), named.end()) if named is not None else None

    def _with_tags(self, name: str, start: int) -> Found | None:
        """A call with the arguments between the tags from `start` on: one object, or one tag for each."""
        at = _HOLDER.match(self.text, start).end()  # type: ignore[union-attr]
        if self.text.startswith("{", at):
            return self._with_arguments(name, at, marked=True)
        declared, held = self._declared(name), dict[str, Any]()
        while (found := _PARAMETER.match(self.text, at)) is not None:
            key = (found[2] or found[4] or found[6]).strip()
            closing = f"</{found[1] or found[5] or found[6]}>"
            end = self.text.find(closing, found.end())
            said = self.text[found.end() : end if end >= 0 else None]
            kind = declared.property(key) if declared is not None else None
            held[key] = said if _IS_TEXT.search(found[3] or "") else typed(said, kind)
            if end < 0:  # cut off: the arguments are, too
                cut = write(held).removesuffix("}").removesuffix('"')
                return [ToolCall(name, cut)], len(self.text)
            at = end + len(closing)
        rest = _END.match(self.text, at + len(self.text[at:]) - len(self.text[at:].lstrip()))
        return ([ToolCall(name, held)], at) if held or rest is not None else None

    def _garbled(self, name: str | None, start: int) -> Found | None:
        """A call that cannot be read: its name and its arguments as far as they are said, to where its mark ends."""
        end = self._end(start)
        said = self.text[start:end]
        if not said or _PLACEHOLDER.match(said):
            return None
        if name is not None:
            return [ToolCall(name, said)], end
        named, held = _SAID_NAME.search(said), _SAID_ARGUMENTS.search(said)
        arguments = said[held.end() :] if held is not None else None
        return [ToolCall(named[1] if named else None, arguments, raw=said)], end

    def _end(self, start: int) -> int:
        found = _END.search(self.text, start)
        return found.start() if found is not None else len(self.text)

    def _takes(self, name: str, arguments: Any) -> bool:
        """Whether a tool may be meant by an object or a tag of its name: {"title": {"en": "…"}} is data."""
        declared = self._declared(name)
        known = declared.names if declared is not None else ()
        return not (known and arguments and isinstance(arguments, Mapping)) or bool(set(known) & set(arguments))

    def _declared(self, name: str) -> Declared | None:
        schema = self._schema(name)
        return schema.declared if schema is not None else None


def _entries(value: Any, depth: int = 0) -> Iterator[Any]:
    """The entries that may be calls: of lists, and of objects that hold nothing but a list of calls, or one."""
    held = [value.get(key) for key in _WRAPPERS] if isinstance(value, Mapping) else []
    inner = value if isinstance(value, list) else next((one for one in held if isinstance(one, list | Mapping)), None)
    if inner is None or depth == 3:
        yield value
    else:
        for one in inner if isinstance(inner, list) else [inner]:
            yield from _entries(one, depth + 1)
