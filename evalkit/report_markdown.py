"""A review as Markdown, for a chat or a merge request: the headlines, each verdict, the tools, the worst cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .compare_words import rate, signed
from .masking import printable, unlinked
from .report_notes import read_notes
from .report_words import full_sentence
from .table_files import table_text

if TYPE_CHECKING:
    import pandas as pd

    from .report import Review

ROWS = 20  # of each table


def review_markdown(review: Review, charts: Sequence[str]) -> str:
    """The review in Markdown; all text out of data is escaped."""
    span = review.span
    parts = [f"# Review of {span.name}", f"{span.words} (UTC)."]
    parts += [f"**{word}.** {_escaped(text)}" for word, text in review.sentences]
    if review.pairs:
        parts.append("## Verdicts")
        parts.append(
            "\n".join(f"- **{_escaped(pair.name)}**: {_escaped(full_sentence(pair))}" for pair in review.pairs)
        )
        parts += ["## Tools", table_text(_tools(review.tools).head(ROWS), "markdown")]
    if len(review.changes):
        names = ["dataset", "model", "case_id", "status", "difference", "last_outcome", "this_outcome"]
        parts += ["## Cases that moved", table_text(review.changes[names].head(ROWS), "markdown")]
    if charts:
        parts += ["## Charts", "\n\n".join(f"![{name.removesuffix('.png')}](charts/{name})" for name in charts)]
    text = read_notes(review.folder, span)
    if text:
        parts += ["## Notes", _harmless(text)]
    parts.append("Whole tables are in `tables/`; what this rests on is in `manifest.json`; the page is `review.html`.")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _tools(tools: pd.DataFrame) -> pd.DataFrame:
    """The tools with their differences as text, interval beside."""
    import pandas as pd

    rows = [
        (
            row["dataset"], row["model"], row["expected_tool"], row["n"], rate(row["last_score"]),
            rate(row["this_score"]),
            f"{signed(row['difference'])} ({signed(row['ci_low'])} to {signed(row['ci_high'])})"
            if row["difference"] == row["difference"] else "–",
            row["errors"], row["verdict"],
        )
        for row in tools.to_dict("records")
    ]  # fmt: skip
    names = ["dataset", "model", "tool", "n", "last", "this", "difference (95 % interval)", "errors", "verdict"]
    return pd.DataFrame(rows, columns=names)


def _harmless(notes: str) -> str:
    """What people wrote in Markdown, its lists and emphasis kept, without pictures, links, HTML and mathematics."""
    return unlinked(re.sub(r"([\[\]<!$])", r"\\\1", printable(notes, lines=True)))


def _escaped(text: str) -> str:
    """The text with nothing in it that Markdown, or HTML inside it, would take for markup."""
    import pandas as pd

    lines = table_text(pd.DataFrame({"text": [text]}), "markdown").splitlines()
    return lines[2].removeprefix("| ").removesuffix(" |")
