"""The lines that a terminal shows: a finished trial, the summary of a run, the list of runs.

All of it harmless to print.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .jsontext import write
from .masking import printable
from .metrics import rates
from .plans import Plan
from .prices import BATCH_SHARE, cost
from .records import Usage
from .review_table import reviews
from .reviewers import is_judge
from .runs import going_on, how_to_resume
from .tallies import clustered

if TYPE_CHECKING:
    import pandas as pd

LONGEST_INPUT = 80
LONGEST_REASON = 240  # of a final answer; a tool choice's is shown whole
CHARACTERS_PER_TOKEN = 4
TOKENS_PER_REPLY = 60
CHARACTERS_AROUND = 150  # of a request in a batch, beside its messages and tools


def trial_line(row: Mapping[str, Any], *, trials: int = 1) -> str:
    """`[PASS] "What files …?" → Correct: selected list_files`"""
    word = "ERROR" if row["passed"] is None else "PASS" if row["passed"] else "FAIL"
    which = f" (trial {row['trial']})" if trials > 1 else ""
    asked = " ".join(_last_message(row["input"]).split())
    if len(asked) > LONGEST_INPUT:
        asked = asked[: LONGEST_INPUT - 1] + "…"
    kind = f"{row['error_kind']}: " if row["passed"] is None else ""
    reason = " ".join((row["reason"] or "").split())
    if row["kind"] == "final_answer" and len(reason) > LONGEST_REASON:  # judges go on; `reviews` holds it all
        reason = reason[: LONGEST_REASON - 1] + "…"
    return printable(f'[{word}] "{asked}"{which} → {kind}{reason}')


def summary_lines(description: Mapping[str, Any]) -> list[str]:
    """The summary of a run from its description: rate with interval, average score, errors, and what a reader must
    know.
    """
    counts = description["counts"]
    totals = rates(counts)
    n, trials = totals["n"], description.get("trials") or 1
    if n:
        interval = f"{percent(totals['ci_low'])}–{percent(totals['ci_high'])} %"
        rate = f"{percent(totals['pass_rate'])} %, 95 % interval {interval}"
        passed = f"Passed: {number(totals['passed'])}/{n} ({rate})"
        score = f"Average score: {totals['average_score']:.2f}"
    else:
        passed, score = "Passed: no case could be scored", "Average score: –"
    lines = ["--- Summary ---", f"{passed}   {score}   Errors: {totals['errors']}{_kinds(counts['error_kinds'])}"]
    if trials > 1:
        lines.append(f"{trials} trials of each case; a case counts once, with the mean of its trials.")
    if totals["n_effective"] < n - 1e-9:
        said = clustered(n, totals["n_effective"])
        lines.append(f"{said[0].upper()}{said[1:]}.")
    if totals["errors"] and n:
        bounds = f"{percent(totals['bound_low'])}–{percent(totals['bound_high'])} %"
        lines.append(f"Errors are not failures: had every errored trial failed or passed, it would be {bounds}.")
    return lines + _notes(description)


def _notes(description: Mapping[str, Any]) -> list[str]:
    counts, resume = description["counts"], how_to_resume(description)
    notes = []
    misses = counts["trials"] - counts["passed_trials"]
    in_text = counts["outcomes"].get("call_in_text", 0)
    if in_text and in_text * 2 >= misses:
        notes.append(
            f"{in_text} of {misses} misses are calls written as text: the endpoint does not return tool calls. "
            'A chat template that does, or "text_calls": "accept" on the dataset, scores them as calls.'
        )
    if truncated := counts["error_kinds"].get("truncated", 0):
        notes.append(
            f"{truncated} replies were cut off at the token limit (truncated): raise max_tokens and run again."
        )
    if unknown := counts.get("unknown_finish_reasons"):
        words = ", ".join(
            f"{word!r} ({count} {'trial' if count == 1 else 'trials'})" for word, count in unknown.items()
        )
        notes.append(f"Finish reasons not known here: {words}. Such replies are scored as they came.")
    judges = description.get("judges") or {}
    if any(judge["self_judged"] for judge in (judges.get("default"), *judges.get("named", {}).values()) if judge):
        notes.append("The model judged its own answers (self_judged): --judge-model names another judge.")
    if unjudged := counts["error_kinds"].get("unjudged", 0):
        notes.append(f"{unjudged} answers are stored, but not judged: `{resume}` has them judged.")
    if description["status"] == "partial":
        finished = counts["trials"] + counts["errors"] - unjudged
        origin = description.get("rescored_from")
        rest = f"Resume {origin} and score that again" if origin else f"`{resume}` does the rest"
        notes.append(f"PARTIAL: {finished}/{description['planned']} trials. {rest}.{going_on(description)}")
    elif counts["errors"] > unjudged:
        again = f"{resume[:-1]}, errors=True)" if resume.startswith("ek.") else f"{resume} --errors"
        notes.append(f"`{again}` asks the trials again that ended in an error.")
    return notes


def reviewer_lines(results: pd.DataFrame) -> list[str]:
    """One line per reviewer of final answers: how many passed of how many it judged, mean score, errors."""
    found = reviews(results)
    lines = []
    for name, group in found.groupby("reviewer"):
        scored = group[group["score"].notna()]
        errors = len(group) - len(scored)
        said = f"{int(scored['passed'].sum())}/{len(scored)} passed, average {scored['score'].mean():.2f}"
        more = f", {errors} errors" if errors else ""
        lines.append(printable(f"  {name}: {said if len(scored) else 'nothing scored'}{more}"))
    return lines


def runs_table(runs: Any) -> list[str]:
    """One line per run of `list_runs`, newest first, under a heading; unfinished ones with the command that resumes
    them.
    """
    if not len(runs):
        return ["No runs yet: `evalkit run eval_data/file_tools.json --model lexical` makes one."]
    cells: list[tuple[str, ...]] = [("run", "dataset", "model", "passed", "errors", "trials", "label")]
    for row in runs.to_dict("records"):
        rate = f"{number(row['passed'])}/{number(row['passed'] + row['failed'])}"
        trials = f"PARTIAL {row['trials']}/{row['planned']}" if row["partial"] else str(row["trials"])
        label = row["label"] if isinstance(row["label"], str) else ""
        notes = [label, f"→ {row['resume']}"] if row["partial"] else [label]
        about = (row["run_id"], row["dataset"], row["model"])
        texts = (*about, rate, row["errors"], trials, "  ".join(filter(None, notes)))
        cells.append(tuple(printable(str(text)) for text in texts))
    widths = [max(len(line[i]) for line in cells) for i in range(6)]
    return [
        "  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[6]]).rstrip()
        for line in cells
    ]


def dry_run_lines(plan: Plan) -> list[str]:
    """How many requests a plan would send and what they would roughly cost."""
    dataset, name = plan.dataset, plan.model.name
    requests = plan.trials * len(dataset.cases)
    tools = sum(len(write(tool.chat())) for tool in dataset.tools)
    asked = sum(len(write(case.messages(dataset.system_prompt))) for case in dataset.cases)
    tokens = plan.trials * (asked + tools * len(dataset.cases)) // CHARACTERS_PER_TOKEN
    lines = [f"{dataset.name}: {requests} requests to {name} ({len(dataset.cases)} cases × {plan.trials}), none sent."]
    share = 1.0
    if plan.batch is not None:
        share, bodies = BATCH_SHARE, tokens * CHARACTERS_PER_TOKEN + requests * CHARACTERS_AROUND
        batches = max(-(-requests // plan.batch.most_requests), -(-bodies // plan.batch.most_bytes))
        lines.append(f"They would go in {batches} {'batch' if batches == 1 else 'batches'}, at half the price.")
    judgements = plan.trials * sum(is_judge(spec) for case in dataset.cases for spec in case.reviewers)
    if judgements:
        lines.append(f"Beside them {judgements} requests to judges, which are not part of the estimate.")
    usage = Usage(tokens, requests * TOKENS_PER_REPLY)
    price = cost(usage, name, plan.prices, share=share)
    if price is None:
        return [
            *lines,
            f"About {tokens} input tokens. No price for {name}: [tool.evalkit.prices] in pyproject.toml sets one.",
        ]
    return [
        *lines,
        f"About {tokens} input tokens, and USD {price:.4f} if replies are {TOKENS_PER_REPLY} tokens long. "
        f"Estimated at {CHARACTERS_PER_TOKEN} characters a token.",
    ]


def percent(rate: float) -> str:
    """A rate as a whole percentage that never rounds to certainty: 99.6 % is 99, 0.4 % is 1."""
    if math.isnan(rate):
        return "–"
    rounded = round(100 * rate)
    if rounded == 100 and rate < 1:
        rounded = 99
    if rounded == 0 and rate > 0:
        rounded = 1
    return str(rounded)


def number(count: float) -> str:
    """A count, with two decimals only where trials make it fractional."""
    return str(int(count)) if float(count).is_integer() else f"{count:.2f}"


def _kinds(error_kinds: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(error_kinds.items()))
    return f" ({listed})" if listed else ""


def _last_message(text: str) -> str:
    """What the person said last, where the input is a dialogue."""
    if not text.startswith("["):
        return text
    try:
        said = [message["content"] for message in json.loads(text) if message.get("role") == "user"]
    except (ValueError, TypeError, AttributeError, KeyError):
        return text
    return said[-1] if said and isinstance(said[-1], str) else text
