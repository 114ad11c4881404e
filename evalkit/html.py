"""The one place where HTML is made. Whatever is not made here is text, and is escaped.

Views are put together from `tag` and the blocks below it; no module writes markup of its own. Text out of data is
shown as it is: escaped, its control characters and direction marks as visible escapes, each piece with a writing
direction of its own, never typeset as mathematics. There is no script, no link and nothing to load: what is seen in a
notebook is seen in an exported file.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from .textdiff import ADDED, REMOVED, SAME, Piece

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Markup", "Static", "block", "diff", "fold", "image", "inline", "lines", "page", "table", "tag"]

LONGEST = 1_500  # characters; longer text is folded, the whole of it a click away
AROUND = 120  # characters of unchanged text kept around a change in a folded diff
MOST_CHANGES = 60  # pieces shown of a folded diff
_TAGS = frozenset(
    "div span p ul ol li table thead tbody tr th td details summary bdi b i code pre ins del img style h3 h4 caption"
    .split()
)  # fmt: skip
_VOID = frozenset({"img"})
_ATTRIBUTES = frozenset({"class", "title", "dir", "alt", "src", "colspan", "open", "scope", "data-review"})
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
# A blank line would end the HTML within Markdown, to which notebooks can be converted, and text would be markup again.
_LINE_BREAK = Markup("&#10;")
_BLANKS = str.maketrans({" ": "·", "\t": "→\t", "\n": "↵\n", "\u00a0": "⍽"})


class Static(str):
    """HTML as text that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return str(self)


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element with its children, all escaped but what is markup already; `class_` is `class`, None leaves out.

    Raises ValueError for an element or attribute that views have no use for: scripts, links, handlers, styles.
    """
    if name not in _TAGS:
        raise ValueError(f"no view has a <{name}>; allowed are {', '.join(sorted(_TAGS))}")
    given = {key.rstrip("_"): value for key, value in attributes.items() if value is not None and value is not False}
    wrong = set(given) - _ATTRIBUTES
    if wrong or not str(given.get("src", "data:image/png;base64,")).startswith("data:image/png;base64,"):
        raise ValueError(f"no view has an element with {', '.join(sorted(wrong)) or 'an image from elsewhere'}")
    written = Markup("").join(Markup(' {}="{}"').format(key, _escaped(str(value))) for key, value in given.items())
    start = Markup("<{}{}>").format(name, written)
    return start if name in _VOID else Markup("{}{}</{}>").format(start, Markup("").join(map(_escaped, children)), name)


def inline(text: object, longest: int | None = None) -> Markup:
    """A text within a line, in a writing direction of its own; cut where it is longer than `longest`."""
    shown = str(text)
    if longest is not None and len(shown) > longest:
        shown = shown[:longest] + "…"
    return tag("bdi", _visible(shown), dir="auto")


def block(text: object, longest: int = LONGEST) -> Markup:
    """A text on lines of its own, white space kept; a long one folded, with its length and its beginning to be seen."""
    shown = str(text)
    if len(shown) <= longest:
        return tag("div", _visible(shown), class_="ek-text", dir="auto")
    return _folded(
        len(shown), _visible(shown[: longest // 4]) + "…", tag("div", _visible(shown), class_="ek-text", dir="auto")
    )


def diff(pieces: Sequence[Piece], longest: int = LONGEST) -> Markup:
    """Two texts in one: what is gone is struck out, what is new underlined; a long one is folded to its changes."""
    length = sum(len(piece.text) for piece in pieces)
    whole = tag("div", *map(_piece, pieces), class_="ek-text", dir="auto")
    if length <= longest:
        return whole
    short = [Piece(kind, _shortened(kind, text, longest)) for kind, text in pieces[:MOST_CHANGES]]
    more = "…" if len(pieces) > MOST_CHANGES else ""
    return _folded(length, Markup("").join([*map(_piece, short), more]), whole)


def lines(unified: str) -> Markup:
    """Changed lines, marked `-` and `+` at their beginning."""
    kinds = {"-": "del", "+": "ins"}
    shown = [tag(kinds.get(line[:1], "span"), _visible(line)) for line in unified.split("\n")]
    return tag("div", Markup("\n").join(shown), class_="ek-text ek-code", dir="auto")


def table(headings: Sequence[Any], rows: Iterable[Sequence[Any]], *, numbers: Iterable[int] = ()) -> Markup:
    """A table; cells are markup, or anything else as text. Columns in `numbers` are set to the right."""
    right = set(numbers)

    def row(name: str, cells: Sequence[Any], **more: Any) -> Markup:
        shown = (cell if isinstance(cell, Markup) else inline("" if cell is None else cell) for cell in cells)
        classes = ("ek-number" if place in right else None for place in range(len(cells)))
        return tag("tr", *(tag(name, cell, class_=kind, **more) for cell, kind in zip(shown, classes, strict=True)))

    body = tag("tbody", *(row("td", cells) for cells in rows))
    head = tag("thead", row("th", headings, scope="col"))
    return tag("div", tag("table", head, body), class_="ek-wide")


def fold(summary: Any, *content: Any, open: bool = False) -> Markup:
    """Content behind a line that opens it."""
    return tag("details", tag("summary", summary), *content, open="open" if open else None)


def image(figure: Figure, alt: str) -> Markup:
    """A figure as a picture within the page, with words for those who cannot see it; same figure, same bytes."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=110, facecolor="white", metadata={"Software": None})
    return tag(
        "img", src=f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}", alt=alt, class_="ek-chart"
    )


def page(*content: Any) -> Markup:
    """Content with the style that it needs, wherever it stands: in a notebook, a widget, an exported file."""
    return tag("div", tag("style", _STYLE), *content, class_="ek mathjax_ignore tex2jax_ignore")


def _escaped(child: Any) -> Markup:
    return child if isinstance(child, Markup) else escape(_visible(str(child))).replace("\n", _LINE_BREAK)


def _visible(text: str) -> str:
    return _HIDDEN.sub(lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)


def _piece(piece: Piece) -> Markup:
    if piece.kind == SAME:
        return _escaped(piece.text)
    text = piece.text.translate(_BLANKS) if piece.text.isspace() else piece.text
    return tag("del" if piece.kind == REMOVED else "ins", _visible(text))


def _shortened(kind: str, text: str, longest: int) -> str:
    around = AROUND if kind not in (REMOVED, ADDED) else longest // 4
    return text if len(text) <= 2 * around + 1 else f"{text[:around]} … {text[-around:]}"


def _folded(length: int, beginning: Any, whole: Markup) -> Markup:
    said = tag("i", f"{length:,} characters, show all", class_="ek-faint")
    return tag("div", tag("div", beginning, class_="ek-text", dir="auto"), fold(said, whole))


_STYLE = Markup("""
.ek { color: var(--jp-content-font-color1, inherit); font: 13px/1.45 var(--jp-ui-font-family, system-ui, sans-serif); }
.ek.ek p { margin: .4em 0; } .ek.ek h3 { font-size: 1.1em; margin: 1.1em 0 .3em; }
.ek.ek h4 { font-size: 1em; font-weight: 600; margin: .8em 0 .2em; }
.ek ul { margin: .3em 0; padding-left: 1.4em; }
.ek-wide { overflow-x: auto; }
.ek.ek table { border-collapse: collapse; border: 0; margin: .3em 0; table-layout: auto; font-size: inherit;
  font-variant-numeric: tabular-nums; }
.ek.ek th, .ek.ek td { text-align: left; vertical-align: top; padding: .2em .7em; border: 0;
  border-bottom: 1px solid var(--jp-border-color2, #cccccc80); color: inherit; background: none; max-width: 34em;
  overflow-wrap: anywhere; }
.ek.ek th { font-weight: 600; overflow-wrap: break-word; }
.ek.ek td.ek-number, .ek.ek th.ek-number { text-align: right; white-space: nowrap; }
.ek td:first-child { min-width: 8em; }
.ek-text { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
.ek-code { font-family: var(--jp-code-font-family, monospace); font-size: .95em; }
.ek del { background: rgba(213, 94, 0, .22); text-decoration: line-through; color: inherit; }
.ek ins { background: rgba(0, 114, 178, .22); text-decoration: underline; color: inherit; }
.ek-faint { color: var(--jp-content-font-color2, #757575); }
.ek-badge { display: inline-block; padding: .05em .6em; border-radius: .8em; font-weight: 600;
  border: 1px solid currentColor; white-space: nowrap; }
.ek-better, .ek-improved { background: rgba(0, 114, 178, .18); }
.ek-worse, .ek-regressed { background: rgba(213, 94, 0, .22); }
.ek-verdict { font-size: 1.1em; } .ek-warning { border-left: 3px solid #e69f00; padding-left: .7em; }
.ek-error { border-left: 3px solid #d55e00; padding-left: .7em; }
.ek details { margin: .25em 0; } .ek summary { cursor: pointer; }
.ek summary:focus-visible { outline: 2px solid var(--jp-brand-color1, #0072b2); }
.ek-chart { max-width: 100%; border-radius: 4px; }
@media print { .ek-wide { overflow: visible; } .ek details::details-content { content-visibility: visible; } }
""")
