"""`evalkit review`: its options, and what it says when it is done. Loads nothing heavy before it is run."""

from __future__ import annotations

import argparse


def add_review_options(parser: argparse.ArgumentParser) -> None:
    """Give a parser the options of a review."""
    add = parser.add_argument
    add("--week", metavar="WEEK", help="such as 2026-W48 (ISO weeks, UTC; default: that of the newest complete run)")
    add("--since", metavar="DAY", help="instead of a week: the first day, such as 2026-11-01")
    add("--until", metavar="DAY", help="and the last one (default: that of the newest complete run)")
    add("--dataset", action="append", metavar="NAME", help="only this dataset; may be repeated")
    add("--baseline", metavar="RUN", help="compare with this run instead of the newest one of an earlier week")
    add("--pdf", action="store_true", help="also print the page, by Chromium, and write charts as PDF")


def write(arguments: argparse.Namespace) -> list[str]:
    """Write the review that is asked for; the lines to say."""
    from .errors import SettingsError
    from .report_files import write_review

    try:
        folder = write_review(
            arguments.week, since=arguments.since, until=arguments.until, dataset=arguments.dataset,
            baseline=arguments.baseline, pdf=arguments.pdf, results_dir=arguments.results_dir,
        )  # fmt: skip
    except RuntimeError as error:  # a cell, the kernel or the browser failed
        raise SettingsError(str(error)) from error
    return [f"Wrote {folder / 'review.html'}", f"Write what people should know into {folder / 'notes.md'}"]
