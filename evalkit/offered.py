"""The tools that a model was offered, as scoring looks at them: their names, and their schemas ready for use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .tools import Tool, as_tools
from .toolschema import ToolSchema, tool_schema


class Offered:
    """The tools that were offered, by name, with their schemas prepared when they are first needed."""

    def __init__(self, tools: tuple[Tool, ...]):
        self._tools = {tool.name: tool for tool in tools}
        self._schemas: dict[str, ToolSchema | None] = {}
        self.names = tuple(self._tools)

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def schema(self, name: str) -> ToolSchema | None:
        """The prepared schema of the tool `name`; None where it was not offered."""
        if name in self._tools and name not in self._schemas:
            self._schemas[name] = tool_schema(self._tools[name].parameters)
        return self._schemas.get(name)


_RECENT: dict[int, tuple[tuple[Tool, ...], Offered]] = {}  # by identity; a tuple of Tools never changes
_MOST_RECENT = 32


def offered_tools(tools: Iterable[Any]) -> Offered:
    """The offered tools, from whatever `as_tools` takes; a tuple of Tools that comes again is prepared once."""
    recent = _RECENT.get(id(tools))
    if recent is not None and recent[0] is tools:
        return recent[1]
    listed = tools if isinstance(tools, list | tuple) else list(as_tools(tools))
    if not all(isinstance(tool, Tool) for tool in listed):
        listed = as_tools(listed)
    offered = Offered(tuple(listed))
    if listed is tools and isinstance(tools, tuple):
        if len(_RECENT) >= _MOST_RECENT:
            _RECENT.clear()
        _RECENT[id(tools)] = (tools, offered)
    return offered
