import struct

import matplotlib as mpl
import pytest
from matplotlib import pyplot

import evalkit as ek
from evalkit.charts import SIZES, export_chart
from evalkit.plot import accuracy_over_time, tool_accuracy
from plotting import rate, rates

mpl.use("Agg")
FRAME = rates(*(rate(run, tool, 5, 12, day) for run, day in (("a", 1), ("b", 9)) for tool in ("x_1", "y$2$", "天気")))


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    yield
    pyplot.close("all")


def _data(paths):
    return {path.suffix: path.read_bytes() for path in paths}


@pytest.mark.parametrize("size", SIZES)
def test_the_same_frame_gives_the_same_bytes(tmp_path, size):
    formats = ("png", "svg", "pdf")
    first = export_chart(accuracy_over_time(FRAME), "one", size=size, formats=formats, folder=tmp_path)
    second = export_chart(accuracy_over_time(FRAME), "two", size=size, formats=formats, folder=tmp_path)
    assert _data(first) == _data(second)


def test_a_chart_exported_twice_gives_the_same_bytes_and_stays_as_it_was(tmp_path):
    ax = tool_accuracy(FRAME)
    ax.figure.savefig(tmp_path / "before.png")
    first = _data(export_chart(ax, "chart", folder=tmp_path))
    export_chart(ax, "small", size="column", folder=tmp_path)
    assert _data(export_chart(ax, "chart", folder=tmp_path)) == first
    ax.figure.savefig(tmp_path / "after.png")
    assert (tmp_path / "after.png").read_bytes() == (tmp_path / "before.png").read_bytes()


@pytest.mark.parametrize(("size", "pixels"), [("slide", (1920, 1080)), ("column", (1050, 780)), ("page", (1950, 1260))])
def test_a_picture_has_the_size_that_was_asked_for_whatever_the_user_set(tmp_path, size, pixels):
    with mpl.rc_context({"savefig.bbox": "tight", "figure.dpi": 37}):
        (path,) = export_chart(tool_accuracy(FRAME), "chart", size=size, formats="png", folder=tmp_path)
    assert struct.unpack(">II", path.read_bytes()[16:24]) == pixels


def test_letters_grow_with_the_size(tmp_path):
    ax = tool_accuracy(FRAME)
    seen = []
    ax.figure.canvas.mpl_connect("draw_event", lambda _: seen.append(ax.get_yticklabels()[0].get_fontsize()))
    for size in ("slide", "column"):
        export_chart(ax, "chart", size=size, formats="png", folder=tmp_path)
    ax.figure.canvas.draw()
    assert [round(one, 3) for one in dict.fromkeys(seen)] == [14.0, 7.5, 10.0]


def test_fonts_are_inside_and_no_date_is(tmp_path):
    files = _data(export_chart(tool_accuracy(FRAME), "chart", formats=("svg", "pdf", "png"), folder=tmp_path))
    assert b"<text" not in files[".svg"]
    assert b"<dc:date>" not in files[".svg"]
    assert b"/FontFile2" in files[".pdf"]
    assert b"CreationDate" not in files[".pdf"]
    assert b"Software" not in files[".png"]


def test_files_are_written_to_the_folder_of_results_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALKIT_RESULTS", str(tmp_path))
    paths = ek.export_chart(tool_accuracy(FRAME), "chart")
    assert paths == (tmp_path / "charts" / "chart.png", tmp_path / "charts" / "chart.svg")
    assert sorted(path.name for path in (tmp_path / "charts").iterdir()) == ["chart.png", "chart.svg"]


def test_the_figure_is_closed_when_asked(tmp_path):
    ax = tool_accuracy(FRAME)
    export_chart(ax, "chart", formats="png", folder=tmp_path)
    assert pyplot.get_fignums() == [ax.figure.number]
    export_chart(ax, "chart", formats="png", folder=tmp_path, close=True)
    assert pyplot.get_fignums() == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": "slides"}, "unknown size 'slides': slide, column, page. Did you mean 'slide'?"),
        ({"formats": ["pgn"]}, "unknown format 'pgn': png, svg, pdf. Did you mean 'png'?"),
        ({"name": "../up"}, "a chart's name must be a plain file name, got '../up': '/' is not allowed in it"),
        ({"name": ""}, "a chart's name must be text that is not blank, got ''"),
        ({"name": "con"}, "a chart's name must not be 'con', the name of a device on Windows"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path, settings, message):
    with pytest.raises(ValueError) as raised:
        export_chart(tool_accuracy(FRAME), **({"name": "chart", "folder": tmp_path} | settings))
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_axes_without_a_figure_are_refused(tmp_path):
    ax = tool_accuracy(FRAME)
    ax.remove()
    with pytest.raises(ValueError, match="removed from their figure"):
        export_chart(ax, "chart", folder=tmp_path)
