"""The reviewer that wants one well-formed XML document.

Expat, the parser of the standard library, does the reading. A document may not declare an entity nor name an
external definition: the parser stops at the declaration, before anything could be expanded or fetched.
"""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from .fences import review_unfenced
from .records import Verdict
from .review_own import built_in

_SEPARATOR = "\x01"  # between name space and name, as the parser reports them; cannot stand in a document
_MOST_DEFAULTS = 100


class _Refused(Exception):
    """Raised by a handler at a declaration that is not allowed."""


@built_in()
def valid_xml(answer: str, *, strip_fences: bool = False) -> Verdict:
    """1 where the answer is one well-formed XML document, with all of its name-space prefixes declared.

    Entity declarations and a DOCTYPE with an external identifier are refused, never expanded or fetched; a DOCTYPE
    with neither is allowed. The answer is text, so the encoding that its declaration names does not count. Nothing
    may stand before the declaration: not a line end, not a byte-order mark. `strip_fences` reads what stands
    inside a Markdown fence.
    """
    return review_unfenced(answer, _review, strip_fences=strip_fences)


def _review(text: str) -> Verdict:
    if not text.strip():
        return Verdict(None, 0.0, "not XML: the answer is empty (line 1, column 1)")
    reader = _Reader(text)
    if reader.failure:
        return Verdict(None, 0.0, reader.failure)
    return Verdict(None, 1.0, f"well-formed XML with the root element {reader.root}")


class _Reader:
    """One document read: the name of its root element, or why it is not accepted."""

    def __init__(self, text: str):
        self.root = self.failure = ""
        self._defaults = 0
        self._parser = expat.ParserCreate("utf-8", _SEPARATOR)
        self._parser.XmlDeclHandler = self._declaration
        self._parser.StartElementHandler = self._first_element
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity
        self._parser.AttlistDeclHandler = self._attribute
        self._parser.EndDoctypeDeclHandler = self._doctype_ends
        if text.startswith("\ufeff"):
            self.failure = "not well-formed: it begins with a byte-order mark (line 1, column 1)"
            return
        try:
            self._parser.Parse(text.encode("utf-8"), True)
        except UnicodeEncodeError as error:
            line, column = text.count("\n", 0, error.start) + 1, error.start - text.rfind("\n", 0, error.start)
            self.failure = f"not well-formed: half of a surrogate pair cannot be encoded (line {line}, column {column})"
        except expat.ExpatError as error:
            said = expat.errors.messages[error.code].removeprefix("not well-formed ").strip("()")
            self.failure = f"not well-formed: {said} (line {error.lineno}, column {error.offset + 1})"
        except _Refused as error:
            line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
            self.failure = f"refused: {error} (line {line}, column {column})"

    def _first_element(self, name: str, _attributes: Any) -> None:
        self.root = name.rpartition(_SEPARATOR)[2]
        self._parser.StartElementHandler = None

    def _declaration(self, version: str, _encoding: str | None, _standalone: int) -> None:
        if not version.startswith("1."):
            raise _Refused(f"its declaration says XML {version}, which there is not")

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, _has_internal: int) -> None:
        named = system_id if system_id is not None else public_id
        if named is not None:
            raise _Refused(f"its DOCTYPE names an external definition, {named!r}; none is ever read")
        self._parser.DefaultHandler = self._markup

    def _markup(self, token: str) -> None:
        if token.startswith("%") and token.endswith(";"):
            raise _Refused(f"it uses the parameter entity {token!r}; entities are never expanded")

    def _doctype_ends(self) -> None:
        self._parser.DefaultHandler = None

    def _entity(self, name: str, is_parameter: int, *_rest: Any) -> None:
        kind = "parameter entity" if is_parameter else "entity"
        raise _Refused(f"it declares the {kind} {name!r}; entities are never expanded")

    def _attribute(self, _element: str, _name: str, _type: str, default: str | None, _required: int) -> None:
        self._defaults += default is not None
        if self._defaults > _MOST_DEFAULTS:  # each is given to each element, so that many of both take for ever
            raise _Refused(f"it declares more than {_MOST_DEFAULTS} default attributes")
