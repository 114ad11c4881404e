"""The options that commands have in common, and the many of `evalkit run`. Loads nothing heavy."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .masking import printable


class Parser(argparse.ArgumentParser):
    """A parser that repeats no word so that a terminal obeys it: words may be the names of other people's files."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(printable(message or "", lines=True), file)


def run(parser: argparse.ArgumentParser) -> None:
    """What a run is of, whom it asks and how."""
    add = parser.add_argument
    add("datasets", nargs="+", metavar="DATASET", help="a name in eval_data/, or a path; several make several runs")
    add("--model", help='default: EVALKIT_MODEL, else gpt-4.1-mini; "lexical" needs no key and no network')
    add("--base-url", help="an OpenAI-compatible endpoint (default: OPENAI_BASE_URL)")
    add("--api", choices=("chat", "responses"), help="which API of the endpoint (default: chat)")
    add("--system-prompt", metavar="FILE", type=Path, help="a text file that replaces the dataset's system prompt")
    add("--temperature", type=float, metavar="T")
    add("--max-tokens", type=int, metavar="N", help="the longest reply, by whichever name the endpoint has for it")
    add("--seed", type=int, metavar="N")
    add("--tool-choice", metavar="CHOICE", help="auto, none, required, or the name of a tool that is to be called")
    add("--parallel-tool-calls", action=argparse.BooleanOptionalAction, help="allow several calls in a reply, or not")
    add("--reasoning-effort", metavar="LEVEL", help="such as low, medium or high")
    add("--extra", metavar="JSON", help="any other fields of the request, such as '{\"top_p\": 0.9}'")
    add("--tools", metavar="FILE", help="tool definitions, for a dataset without its own")
    add("--trials", type=int, default=1, help="attempts at each case (default: 1)")
    add("--case", action="append", metavar="ID", help="only this case; may be repeated")
    add("--tag", action="append", metavar="TAG", help="only cases with this tag; may be repeated")
    add("--limit", type=int, metavar="N", help="only the first N cases")
    add("--label", metavar="TEXT", help="what you call this run")
    add("--batch", action="store_true", help="ask by OpenAI's Batch API: half the price, done within a day")
    add("--dry-run", action="store_true", help="show how many requests and what cost to expect; send none")
    judge(parser)
    add(
        "--judge-base-url",
        metavar="URL",
        help="where judges are asked (default: EVALKIT_JUDGE_BASE_URL, else as for models)",
    )
    limits(parser)
    parser.set_defaults(concurrency=16)
    results(parser)


def judge(parser: argparse.ArgumentParser) -> None:
    """Who judges."""
    parser.add_argument(
        "--judge-model", metavar="NAME", help="who judges final answers (default: EVALKIT_JUDGE_MODEL, else the model)"
    )


def limits(parser: argparse.ArgumentParser) -> None:
    """How many requests at once, and when to stop."""
    parser.add_argument("--concurrency", type=int, metavar="N", help="requests at once (default: 16, or the run's own)")
    parser.add_argument(
        "--max-errors", type=float, metavar="X", help="stop beyond this share (below 1) or count of errors"
    )


def results(parser: argparse.ArgumentParser) -> None:
    """Where the results are."""
    parser.add_argument("--results-dir", metavar="FOLDER", help="default: EVALKIT_RESULTS, else the project's results/")


def object_of(text: str) -> dict[str, Any]:
    """The fields that --extra gives. Raises SettingsError where it is no JSON object."""
    from . import jsontext
    from .errors import SettingsError

    try:
        value = jsontext.read(text)
        why = f"it is {text.strip():.60}"
    except jsontext.JsonTextError as error:
        value, why = None, f"{error} in {text:.60}"
    if not isinstance(value, dict):
        raise SettingsError(f"--extra must be a JSON object such as '{{\"top_p\": 0.9}}': {why}")
    return value
