"""The calls that servers leave in the text: whether a text *is* a call, or ends in one, in whatever dialect.

After a mark that only calls have (`[TOOL_CALLS]`, `<tool_call>`, `<function=…>`, channel marks, …) a call of any name
counts (after `<tool>` and other tags of plain words, one that was offered). Before it may stand anything; after it,
too, on lines of its own, where the text begins with it. Without a mark the name must be one that was offered, and the
call ends the text: an object, fenced or bare, after anything; a Python call or a name with its arguments at the
beginning of a line or after a sentence; Action and Action Input; tags named as a tool. After it stand white space,
punctuation, a closing fence or tag, a comment, or a made-up result, and nothing else. So a sentence about a tool, an
example with an explanation after it, code that defines the tool, and JSON with names that are no tool's are answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .call_forms import CallReader
from .records import ToolCall
from .thinking import set_aside
from .toolschema import ToolSchema

_MOST_TRIES = 100  # marks that nothing follows
_SPECIAL = re.compile(r"<[|｜](/?)((?i:tool|start_action|end_action|function)[^<>|｜\s]{0,60})[|｜]>")  # <｜tool▁sep｜>
_PREFIXED = re.compile(r"<(/?)(?:[|｜]DSML[|｜] ?|(?:\w{1,20}:|longcat_)(?=tool_|function_|invoke|param|arg_))")
_OPEN_CLOSE = re.compile(r"<\|(open|close)\|>([^<>]{1,300})<\|sep\|>")  # <|open|>call tool="…"<|sep|>
_SPECIAL_MARK = (
    r"\[TOOL_CALLS\]|\[TOOL_REQUEST\]|\[unused11\]|<start_function_call>|<\|(?:python_tag|python_start|function_?calls?(?:begin)?|"
    r"action_start|start_action|tools_prefix|tool_calls?(?:_start|(?:_section)?_begin)?)\|?>"
)
_SPECIAL_FIRST = re.compile(_SPECIAL_MARK)
_MARK = re.compile(
    rf"(?P<special>{_SPECIAL_MARK})"
    r"|(?P<tag><(?:tool_?calls?|TOOLCALLS?|function_?calls?|tools?|tool_code|tool_use|use_mcp_tool|execute_tool|function|invoke|call)"
    r"(?=[\s>=]|(?<=<function)[(/])(?:\s+(?!\s|name|tool)[^<>]{0,200})?>?)"
    r"|function call<\|role_sep\|>|-> tool/function_call\s|\bfunctools(?=\[)|>>>(?=[\w.-]{1,200}\n\s*\{)"
    r"|<\|channel\|>\w+ to=|to=(?=functions\.)"
)
_PLAIN_TAG = re.compile(r"<(?:tools?|function|call)[\s>]")  # of any XML; a call where its name was offered
_STOP = (  # what a model makes up after its call
    r"<\|(?:im_start|start|start_header_id|user|observation|tool_response|tool_outputs?)\w*\|?>|<start_function_resp"
    r"|<tool_(?:response|result|output)|<function_res|\[TOOL_RESULTS\]|✿RESULT|\*{0,2}Observation\*{0,2}:"
)
_AFTER = re.compile(_STOP)
_GAP = re.compile(  # what may stand between calls, and after the last one
    rf"(?:(?!{_STOP}|{_SPECIAL_MARK})(?:[\s,;.}}]|\)(?=\s{{0,9}}</)|\*\*|```\w*|</[\w.:-]{{1,60}}>|<[|｜][^<>|｜\s]{{1,60}}[|｜]>|<\w{{1,60}}\|>|</s>|<end_\w+>"
    r"|\[/?(?:END_)?TOOL_\w+\]|\[unused12\]|(?:#|//)[^\n]*|/\*[^*]{0,200}\*/|<!--[^>]{0,200}-->))*"
)
_LIKE_A_CALL = re.compile(r"[)\]}>][\s.,;`*]*(?:(?:#|//|/\*|<!--)[^\n]*)?\Z|" + _STOP)
_NAMESPACE = re.compile(r"[.:/]|__")
_TAIL = 400  # characters at the end in which it shows whether a text may end in a call
_START = re.compile(
    r"(?P<open>(?<![^\s`*。：！？，])(?:[\[{]|<[^\W\d][\w.:-]*>))"
    r"|(?:^[ \t]*(?:\*\*)?|(?<=\D[.!?:;…]\s)|(?<=[。：！？])|(?<=\|>))(?=(?:[^\W\d]\w* *= *|await +)?[^\W\d][\w.:/-]*"
    r"(?:\(|\s{0,9}(?:<\|tool_sep\|>|```\w{0,9}\s)?\s{0,9}\{))",
    re.MULTILINE,
)
_ACTION = re.compile(
    r"^[ \t*]*✿?(?i:Action|Tool|Function)(?:[ _](?i:name|call))?[ *✿]*:([^\n]{1,200})\n"
    r"[ \t*]*(?:Action[ _]Input[ *]*:"
    r"|✿?(?:(?i:Tool)[ _])?(?i:Input|Arguments|Args|Parameters)[ *✿]*:(?=[\s*]*(?:```\w*\s*)?\{))"
    r"[\s*]*(?:```\w*\s*)?",
    re.MULTILINE,
)


def calls_in_text(
    text: str | None, names: tuple[str, ...] = (), schema: Callable[[str], ToolSchema | None] = lambda _: None
) -> tuple[ToolCall, ...]:
    """The calls that a text *is* or ends in, in their order; () where it is an answer.

    `names` are those that were offered (or that could be meant). `schema` gives the prepared parameters of a tool,
    by which what stands between argument tags becomes a value. A call that a mark announces and that cannot be read
    has what could be read of it: perhaps no name, or arguments that are no JSON.
    """
    if not text or text.isspace():
        return ()
    text = set_aside(text)[1].strip()
    if text.startswith("`") and text.endswith("`") and text.count("`") == 2:
        text = text[1:-1]
    if "<" in text:
        text = _SPECIAL.sub(lambda found: f"<|{found[1]}{found[2].replace('▁', '_').lower()}|>", text)
        text = _OPEN_CLOSE.sub(lambda found: f"<{'/' * (found[1] == 'close')}{found[2]}>", text)
        text = _PREFIXED.sub(r"<\1", text)
    reader = CallReader(text, tuple(names), schema)
    return tuple(_marked(reader) or (_bare(reader) if names else ()))


def _marked(reader: CallReader) -> list[ToolCall]:
    text, found, first, at, tries = reader.text, list[ToolCall](), 0, 0, 0
    while tries < _MOST_TRIES and reader.patience > 0 and (mark := _MARK.search(text, at)):
        named = mark["tag"] and not mark["tag"].endswith(">")  # <function=NAME>
        more, end = _run(reader, mark.start() if named else mark.end())
        is_data = (
            reader.names
            and _PLAIN_TAG.match(text, mark.start())
            and not any(reader.knows(str(one.name)) for one in more)
        )
        if more and not is_data:
            first = first if found else mark.start()
            found, at = found + more, end
        else:
            tries, at = tries + 1, mark.end()
    if not found:
        return _unreadable(text)
    leads = first == 0 and (_SPECIAL_FIRST.match(text) or "\n" in text[at : _skipped(text, at)])
    return found if leads or _is_over(text, at) else []


def _run(reader: CallReader, start: int) -> tuple[list[ToolCall], int]:
    """The calls that stand after one mark, one after another, and where the last one ends."""
    found, end, at, marked = list[ToolCall](), start, _skipped(reader.text, start), True
    while (one := reader.at(at, marked=marked)) is not None and one[0]:
        found, end = found + one[0], one[1]
        at = _skipped(reader.text, end)
        marked = "<" not in reader.text[end:at]
    return found, end


def _unreadable(text: str) -> list[ToolCall]:
    """A call without a name, where the text begins with a mark and what follows can be nothing else."""
    mark = _MARK.match(text)
    if mark is None:
        return []
    after = text[mark.end() :]
    closed = (
        mark["tag"] is not None
        and "call" in mark["tag"].removeprefix("<call")
        and after.endswith(f"</{mark['tag'][1:]}")
    )
    return [ToolCall(None, None, raw=text)] if closed or (mark["special"] and after[:1].strip() == after[:1]) else []


def _bare(reader: CallReader) -> list[ToolCall]:
    text, folded = reader.text, reader.text.casefold()
    if not any(_NAMESPACE.split(name)[-1].casefold() in folded for name in reader.names):
        return []
    if found := _actions(reader) or reader.broken():
        return found
    if not _LIKE_A_CALL.search(text, max(0, len(text) - _TAIL)) and not _AFTER.search(text):
        return []
    first = at = end = 0
    while reader.patience > 0 and (begin := _START.search(text, at)):
        start = begin.start() if begin["open"] else begin.end()
        one = reader.at(start, marked=False)
        if one is None:
            at = start + 1
            continue
        if found and _skipped(text, end) < start:
            found = []
        first = first if found else start
        found, at = (found + one[0] if one[0] else []), one[1]
        end = at
        if found and _AFTER.match(text, _skipped(text, end)):
            break
    return found if found and _is_over(text, end) and not _is_shown(text, first, found[0].name) else []


def _actions(reader: CallReader) -> list[ToolCall]:
    """Action: NAME, and on the next line Action Input: with an object, or text that is none."""
    text, found, at = reader.text, list[ToolCall](), 0
    while (action := _ACTION.search(text, at)) and (name := action[1].strip(" `*")) in reader.names:
        more, at = reader.with_input(name, action.end())
        found += more
        if _AFTER.match(text, _skipped(text, at)):
            break
    return found if found and _is_over(text, at) else []


def _is_shown(text: str, start: int, name: str | None) -> bool:
    """Whether the call at `start` is shown with other code around it: in one fence, or after the tool's definition."""
    before = text[:start]
    if before.count("```") % 2:
        lines = before[before.rfind("```") :].split("\n")[1:]
        if any(line.strip() and not line.lstrip().startswith(("#", "//")) for line in lines):
            return True
    known = re.escape(name or "")
    return (
        re.search(rf"\b(?:def|function|fn|func)\s+{known}\s*\(|\bimport\s[^\n]{{0,200}}\b{known}\b", before) is not None
    )


def _is_over(text: str, at: int) -> bool:
    at = _skipped(text, at)
    return at == len(text) or _AFTER.match(text, at) is not None


def _skipped(text: str, at: int) -> int:
    return _GAP.match(text, at).end()  # type: ignore[union-attr]
