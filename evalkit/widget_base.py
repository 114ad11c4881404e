"""What all widgets share: a static twin, errors that are seen, and no trace of widgets that a cell has replaced.

A widget's state reads as plain values (`picker.baseline`), its content is made by functions that return HTML, and
`static()` gives the same content as a page without script. Displaying a widget stores both: JupyterLab shows the live
one, an exported notebook its twin as it was when the cell ran.
"""

from __future__ import annotations

import functools
import traceback
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets as W

from .html import Markup, Static, block, fold, inline, page, tag

WIDE = "min(100%, 62em)"
_made: dict[str, tuple[str, list[weakref.ref[W.Widget]]]] = {}


class LiveWidget(W.VBox):  # type: ignore[misc]
    """A widget with a static twin. A subclass gives `static_view`, and wraps what its controls call in `guarded`.

    `problem` is the exception that the last action ended with, or None; it is also shown above the content.
    """

    problem: Exception | None = None

    def __init__(self, **layout: Any) -> None:
        self._told = W.HTML()
        super().__init__(**layout)
        _replace_earlier(self)

    def static_view(self) -> Markup:
        """The content as it is now, as HTML without script."""
        raise NotImplementedError

    def static(self) -> Static:
        """The content as it is now, as a page that needs neither kernel nor network."""
        return Static(page(self.static_view()))

    def tell(self, *sentences: str, kind: str = "ek-warning") -> None:
        """Show these sentences above the content, or nothing."""
        shown = [tag("p", inline(sentence)) for sentence in sentences if sentence]
        self._told.value = str(page(tag("div", *shown, class_=kind))) if shown else ""

    def guarded(self, action: Callable[[], Any]) -> Callable[..., None]:
        """The action as a callback of a control. What it raises is shown, since nobody sees what a callback raises."""

        @functools.wraps(action)
        def callback(*_: Any) -> None:
            self.problem = None
            try:
                action()
            except Exception as error:
                self.problem = error
                said = tag("p", tag("b", type(error).__name__), ": ", inline(error))
                trace = fold("where", block("".join(traceback.format_exception(error)), 100_000))
                self._told.value = str(page(tag("div", said, trace, class_="ek-error")))

        return callback

    def close(self) -> None:
        """Close the widget and all that it is made of."""
        for child in _inside(self):
            child.unobserve_all()
            W.Widget.close(child)
        super().close()

    def _repr_mimebundle_(self, **given: Any) -> dict[str, Any]:
        data = dict(super()._repr_mimebundle_(**given) or {})
        data["text/plain"] = f"<{type(self).__name__}>"
        data["text/html"] = str(self.static())
        return data


def wide(widget: type[W.Widget], **traits: Any) -> W.Widget:
    """A control as wide as the page allows, its description not cut off."""
    return widget(layout=W.Layout(width=WIDE), style={"description_width": "6em"}, **traits)


def _inside(box: W.Widget) -> list[W.Widget]:
    found: list[W.Widget] = [box._told] if isinstance(box, LiveWidget) else []
    for child in getattr(box, "children", ()):
        found += [*_inside(child), child]
    return found


def _replace_earlier(widget: LiveWidget) -> None:
    """Close the widgets that an earlier execution of the same cell made: nothing shows them any more."""
    cell, execution = _where()
    if cell is None:
        return
    earlier, widgets = _made.get(cell, (execution, []))
    if earlier != execution:
        for reference in widgets:
            if (old := reference()) is not None:
                old.close()
        widgets = []
    _made[cell] = (execution, [*widgets, weakref.ref(widget)])


def _where() -> tuple[str | None, str]:
    """The cell that is running, by its id or else its text, and which execution of it; None outside a kernel."""
    from IPython import get_ipython

    shell = get_ipython()
    get_parent = getattr(shell, "get_parent", None)
    message: Mapping[str, Any] = (get_parent() if get_parent is not None else None) or {}
    header = message.get("header") or {}
    if header.get("msg_type") != "execute_request":
        return None, ""
    cell = (message.get("metadata") or {}).get("cellId") or (message.get("content") or {}).get("code")
    return (str(cell) if cell else None), str(header.get("msg_id"))
