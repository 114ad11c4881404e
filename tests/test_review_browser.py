"""The page of a review in a real browser with the network refused, as a picture and as a printed PDF."""

import os
import shutil
from pathlib import Path

import pypdfium2
import pytest

from evalkit.report_files import write_review
from jupyterlab_browser import browser_page
from report_histories import EARLIER, cases, save, two_weeks

pytestmark = pytest.mark.browser

SHOTS = os.environ.get("EVALKIT_TEST_SCREENSHOTS")
WEEK = "2026-W48"
PAYLOAD = "<img src=http://127.0.0.1:9/x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
WIDE = "天気 Привет שלום 🌧 C:\\new_file 50% a_b " + "x" * 300


# What sticks out of the page.
BEYOND = """() => document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] :
  [...document.querySelectorAll('main *')].filter(one => !one.closest('.ek-wide') || one.matches('.ek-wide'))
    .filter(one => one.getBoundingClientRect().right > document.documentElement.clientWidth)
    .map(one => one.tagName + '.' + one.className + ' ' + one.textContent.slice(0, 60))"""


@pytest.fixture(scope="module")
def review(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    two_weeks(folder)
    texts = {"input": PAYLOAD, "answer": PAYLOAD, "actual_tool": "tool " + WIDE, "expected_tool": "tool " + WIDE}
    save(folder, "hostile before", cases(20, reason=PAYLOAD, **texts), at=EARLIER, model=PAYLOAD)
    save(folder, "hostile after", cases(9, reason=PAYLOAD, **texts), model=PAYLOAD, label=WIDE)
    return write_review(WEEK, pdf=True, results_dir=folder)


def test_the_page_asks_for_nothing_and_misses_nothing(review):
    with browser_page() as page:
        asked, said = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.goto((review / "review.html").as_uri())
        for fold in page.locator("details").all():
            fold.evaluate("one => one.open = true")
        page.wait_for_timeout(300)
        assert [url for url in asked if not url.startswith(("data:", "file:"))] == []
        assert said == []
        assert page.title() == f"Review of {WEEK}"
        widths = page.evaluate("[...document.images].map(one => one.naturalWidth)")
        assert len(widths) >= 4
        assert min(widths) > 100
        shown = page.inner_text("body")
        for words in ("Worse", "95 % interval", "Monday 23 November 2026", "<script>document.title='owned'</script>"):
            assert words in shown
        assert page.evaluate(BEYOND) == []
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / "review.png", full_page=True)


def test_the_printed_page_holds_what_is_folded_on_the_screen(review):
    with pypdfium2.PdfDocument(review / "review.pdf") as document:
        printed = [page.get_textpage().get_text_range() for page in document]
    assert len(printed) >= 3
    text = " ".join(" ".join(printed).split())
    assert "Messages sent from message" in text
    assert text.count("Expected and actual") >= 3
    if SHOTS:
        shutil.copyfile(review / "review.pdf", Path(SHOTS) / "review.pdf")


def test_charts_as_pdf_come_with_it(review):
    assert {path.suffix for path in (review / "charts").iterdir()} == {".png", ".svg", ".pdf"}
