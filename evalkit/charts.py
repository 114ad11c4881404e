"""Charts as files that go into a slide or a report unchanged: fixed size and letters; same chart, same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .nearmiss import did_you_mean
from .paths import check_file_name, results_part, write_whole
from .plot_style import figure_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Size(NamedTuple):
    """A size of charts: inches, dots per inch (PNG), and the size of letters in points."""

    width: float
    height: float
    dpi: int
    letters: float


SIZES = {
    "slide": Size(10.0, 5.625, 192, 14.0),
    "column": Size(3.5, 2.6, 300, 7.5),
    "page": Size(6.5, 4.2, 300, 9.0),
}
FORMATS = ("png", "svg", "pdf")
_METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_SETTINGS: Any = {
    "svg.hashsalt": "evalkit", "svg.fonttype": "path", "pdf.fonttype": 42, "pdf.compression": 6, "savefig.bbox": None,
}  # fmt: skip


def export_chart(
    ax: Axes,
    name: str,
    *,
    size: str = "slide",
    formats: Sequence[str] = ("png", "svg"),
    folder: str | Path | None = None,
    close: bool = False,
) -> tuple[Path, ...]:
    """The paths of the chart's files, one per format: the whole figure that `ax` stands in.

    `size` fixes inches, resolution and letters: "slide" (10 × 5.625 in, 192 dpi, 14 pt), "column" (3.5 × 2.6 in,
    300 dpi, 7.5 pt) or "page" (6.5 × 4.2 in, 300 dpi, 9 pt). SVG holds its letters as outlines, PDF its fonts; no file
    holds a date, so that the same chart gives the same bytes. Files are written to `folder` (the project's
    `results/charts/`), over those of the same name. The figure itself stays as it was; `close=True` closes it.

    Raises ValueError for an unknown size or format and for a name that is no plain file name.
    """
    check_file_name(name, "a chart's name")
    wanted = _known(size, SIZES, "size")
    formats = (formats,) if isinstance(formats, str) else tuple(formats)
    for form in formats:
        _known(form, dict.fromkeys(FORMATS), "format")
    into = Path(folder).expanduser() if folder is not None else results_part("charts")
    into.mkdir(parents=True, exist_ok=True)
    figure = figure_of(ax)
    paths = []
    for form in formats:
        paths.append(into / f"{name.removesuffix(f'.{form}')}.{form}")
        write_whole(paths[-1], _drawn(figure, wanted, form))
    if close:
        from matplotlib import pyplot

        pyplot.close(figure)
    return tuple(paths)


def _drawn(figure: Figure, size: Size, form: str) -> bytes:
    import matplotlib as mpl

    target = io.BytesIO()
    with mpl.rc_context(_SETTINGS), _sized(figure, size):
        figure.savefig(target, format=form, dpi=size.dpi, metadata=_METADATA[form])
    return target.getvalue()


@contextmanager
def _sized(figure: Figure, size: Size) -> Iterator[None]:
    """The figure in this size while the context lasts, its letters in proportion; afterwards as it was."""
    import matplotlib as mpl

    before = float(figure.get_figwidth()), float(figure.get_figheight())
    factor = size.letters / mpl.rcParams["font.size"]
    _lay_out_anew(figure)
    undo = _scale_ticks(figure, factor) + _scale_texts(figure, factor)
    figure.set_size_inches(size.width, size.height, forward=False)
    try:
        yield
    finally:
        figure.set_size_inches(before, forward=False)
        for setter, value in reversed(undo):
            setter(value)
        _lay_out_anew(figure)


def _lay_out_anew(figure: Figure) -> None:
    """Forget where axes were moved to make room for their labels: the next layout depends on where it begins."""
    if figure.get_layout_engine() is None:
        return
    for ax in figure.axes:
        spec = ax.get_subplotspec()
        if spec is not None:
            ax.set_subplotspec(spec)


def _scale_texts(figure: Figure, factor: float) -> list[tuple[Any, Any]]:
    from matplotlib.axis import Tick
    from matplotlib.text import Text

    of_ticks = {id(label) for tick in figure.findobj(Tick) for label in (tick.label1, tick.label2)}
    undo = []
    for text in figure.findobj(Text):
        if id(text) not in of_ticks:
            points = float(text.get_fontsize())
            undo.append((text.set_fontsize, points))
            text.set_fontsize(points * factor)
    return undo


def _scale_ticks(figure: Figure, factor: float) -> list[tuple[Any, Any]]:
    """Tick labels are made anew whenever a chart is drawn, so that their size is the axis' to keep."""
    from matplotlib.axis import Axis

    undo: list[tuple[Any, Any]] = []
    for axis in figure.findobj(Axis):
        for which in ("major", "minor"):
            sizes = [
                tick.label1.get_fontsize()
                for tick in (axis.get_major_ticks() if which == "major" else axis.get_minor_ticks())
            ]
            if sizes:
                undo.append((_setter(axis, which), sizes[0]))
                axis.set_tick_params(which=which, labelsize=float(sizes[0]) * factor)
    return undo


def _setter(axis: Any, which: str) -> Any:
    return lambda points: axis.set_tick_params(which=which, labelsize=points)


def _known(word: str, allowed: dict[str, Any], what: str) -> Any:
    if word not in allowed:
        raise ValueError(f"unknown {what} {word!r}: {', '.join(allowed)}.{did_you_mean(str(word), allowed)}")
    return allowed[word]
