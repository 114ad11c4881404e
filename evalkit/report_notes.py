"""What people write about a week: `notes.md` in the review's folder, made once and never overwritten."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from .paths import leads_out
from .weeks import Span, read_week

REVIEWS = "reviews"
NOTES = "notes.md"
_LOOK_BACK = 8  # weeks; older notes are history
_LONGEST = 200_000  # characters of notes that a page shows


def review_folder(results: Path, span: Span) -> Path:
    """Where a week's review and its notes lie."""
    return results / REVIEWS / span.name


def blank_notes(span: Span) -> str:
    """What stands in `notes.md` before anybody has written into it."""
    return (
        f"Notes on {span.name}. Replace this by what people should know about this {span.noun}: what was tried and "
        "why, what was decided, who looks into what. Then run `evalkit review` again; it never overwrites this file.\n"
    )


def create_notes(folder: Path, span: Span) -> Path:
    """The path of the notes, which are made if they are not there."""
    path = folder / NOTES
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(blank_notes(span))
    except FileExistsError:
        pass
    return path


def read_notes(results: Path, span: Span) -> str | None:
    """What people wrote about a span; None where nobody did."""
    path = review_folder(results, span) / NOTES
    if leads_out(path, results):  # a link to what is nobody's note
        return None
    try:
        text = path.read_bytes().decode("utf-8-sig", "replace")
    except OSError:
        return None
    text = text.replace("\r\n", "\n").strip()
    return text[:_LONGEST] if text and text != blank_notes(span).strip() else None


def earlier_notes(results: Path, span: Span) -> tuple[Span, str] | None:
    """The newest notes on a week before the span, within eight weeks; None where there are none."""
    found = []
    for path in (results / REVIEWS).glob(f"*/{NOTES}"):
        try:
            week = read_week(path.parent.name)
        except ValueError:
            continue
        if _weeks_before(week.first, span.first) and week.last < span.first:
            found.append(week)
    for week in sorted(found, key=lambda one: one.first, reverse=True):
        text = read_notes(results, week)
        if text is not None:
            return week, text
    return None


def _weeks_before(earlier: date, later: date) -> bool:
    return 0 < (later - earlier).days <= 7 * (_LOOK_BACK + 1)
