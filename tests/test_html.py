import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import evalkit as ek
from evalkit.html import Markup, block, diff, fold, image, inline, lines, page, table, tag
from evalkit.jsontext import write
from evalkit.textdiff import Piece, word_diff
from frames import results, row

HOSTILE = (
    "<script>document.title='x'</script>", "<img src=x onerror=alert(1)>", "</script><b>", "</table>", "</style>",
    "a < b && c", "&lt;", "&amp;lt;", "\x1b[31mred\x1b[0m", "**bold** [x](javascript:alert(1))", "$x^2$ \\(y\\)",
    "\u202enoitcerid\u202c", "\u05e9\u05dc\u05d5\u05dd", '" onmouseover="alert(1)', "' onfocus='alert(1)", "{0} {x} %s",
    "<svg/onload=alert(1)>", "\u2028line\u2029", "nul\x00", "<!-- ", "]]>", "<details open ontoggle=alert(1)>",
    "zero\u200bwidth", "\ud83d alone",
)  # fmt: skip
SAFE_TAGS = set(
    "div span p ul ol li table thead tbody tr th td details summary bdi b i pre code del ins img style".split()
)
SAFE_TAGS |= {"h3", "h4"}


class Reader(HTMLParser):
    """What a browser would see: elements, attributes and text."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.style = set(), [], "", False
        self.feed(html)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.add(name)
        self.attributes += attributes
        self.style = name == "style"

    def handle_endtag(self, name):
        self.style = False

    def handle_data(self, data):
        self.text += "" if self.style else data


def assert_harmless(html):
    seen = Reader(str(html))
    assert seen.tags <= SAFE_TAGS
    assert {name for name, _ in seen.attributes} <= {"class", "dir", "alt", "src", "open", "scope", "title"}
    assert all(value.startswith("data:image/png;base64,") for name, value in seen.attributes if name == "src")
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", str(html))
    return seen


BLOCKS = [
    inline, block, lines, page, lambda t: diff([Piece("added", t)]), lambda t: table([t], [[t]]), lambda t: fold(t, t),
    lambda t: tag("p", t, title=t),
]  # fmt: skip


def shown(text):
    """A text as views show it: what has no shape of its own as an escape."""
    hidden = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
    return re.sub(hidden, lambda found: found.group().encode("unicode_escape", "surrogatepass").decode(), text)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("view", BLOCKS)
def test_text_is_shown_as_it_is_in_every_block(view, text):
    assert shown(text) in assert_harmless(view(text)).text


def hostile_runs(text):
    """Two runs with `text` wherever a model, a dataset or a person could put it."""
    held = text.encode("utf-8", "replace").decode()
    mismatches = write([{"path": held, "kind": held, "expected": held, "actual": held, "note": held}])
    reviews = write([{"reviewer": held, "passed": False, "score": 0.0, "reason": held}])
    values = {
        "expected_tool": held, "actual_tool": held, "input": held, "expected": held, "answer": held, "reason": held,
        "outcome": held, "error": held, "tags": write([held]), "mismatches": mismatches, "reviews": reviews,
        "expected_arguments": write({held: held}), "actual_arguments": write({held: [held]}),
        "secondary_tools": write([held]),
    }  # fmt: skip
    return [
        results(
            row(held, 1, late == 0, **values),
            row("changed", 1, True, **(values | {"input": held + "!" * late})),
            row(f"only {late}", 1, True, **values),
            run_id=f"{held}{late}", label=held, dataset=held, model=f"{held}{late}",
        )
        for late in (0, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_shown_as_it_is_in_every_view_of_a_comparison(text):
    comparison = ek.compare(*hostile_runs(text))
    held = shown(text.encode("utf-8", "replace").decode())
    seen = assert_harmless(comparison._repr_html_())
    assert seen.text.count(held) > 30
    for case_id in comparison.cases["case_id"]:
        assert held in assert_harmless(comparison.case(case_id)._repr_html_()).text


def test_a_page_is_not_typeset_as_mathematics():
    assert page("$x$").startswith('<div class="ek mathjax_ignore tex2jax_ignore">')


def test_each_text_has_a_writing_direction_of_its_own():
    assert inline("שלום") == '<bdi dir="auto">שלום</bdi>'
    assert 'dir="auto"' in block("שלום")


def test_a_million_letters_are_folded_with_their_length_and_all_there():
    text = "x" * 1_000_000 + "<b>"
    seen = assert_harmless(block(text))
    assert "1,000,003 characters, show all" in seen.text
    assert text in seen.text
    folded = diff(word_diff("same " * 300_000, "same " * 299_999 + "other "))
    assert folded.index("<ins>other") < folded.index("<details>") < 5_000


def test_changed_blanks_can_be_seen():
    assert "<del>·</del><ins>··</ins>" in diff(word_diff("a b", "a  b"))


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("script", {}), ("a", {}), ("iframe", {}), ("p", {"onclick": "x"}), ("p", {"style": "x"}), ("p", {"href": "x"}),
        ("img", {"src": "https://example.invalid/x.png"}), ("img", {"src": "javascript:alert(1)"}),
    ],
)  # fmt: skip
def test_what_no_view_needs_cannot_be_made(name, attributes):
    with pytest.raises(ValueError, match="no view has"):
        tag(name, **attributes)


def test_children_are_escaped_unless_they_are_markup():
    assert tag("p", "<b>", Markup("<i>"), 3, None, class_='"') == '<p class="&#34;">&lt;b&gt;<i>3None</p>'


def test_the_same_figure_has_the_same_bytes():
    def drawn():
        figure = Figure()
        figure.subplots().plot([1, 2])
        return image(figure, "<two>")

    assert drawn() == drawn()
    assert 'alt="&lt;two&gt;"' in drawn()


def test_html_is_made_in_one_place():
    """No other module writes markup: none holds a text with an element in it, none takes text for markup."""
    for path in Path(ek.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if path.stem in ("html", "report", "report_html", "thinking"):  # the last one reads marks
            continue
        kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        docs = {ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, kinds)}
        texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)} - docs
        assert not [text for text in texts if re.search(r"</?(div|span|p|table|td|b|pre|ul|li|details)\b[^>]*>", text)]
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "Markup"]
        assert all(call.args and getattr(call.args[0], "value", None) == "" for call in calls), path.stem


@pytest.mark.parametrize("view", BLOCKS)
def test_no_text_ends_the_html_within_markdown(view):
    """Markdown reads HTML as far as the next blank line: what comes after that in a text would be markup."""
    text = "first\n\n[x](javascript:alert(1))\n \n![y](http://127.0.0.1:9/y)"
    made = str(view(text))
    assert not re.search(r"\n[^\S\n]*\n", made)
    assert text in Reader(made).text
