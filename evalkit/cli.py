"""The command line: parses, calls, prints. `evalkit --help` loads nothing heavy.

Exit codes: 0 done (failing cases are results), 1 a gate failed, 2 the request was wrong, 3 stopped before the end.
"""

from __future__ import annotations

import argparse
import signal
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

OK, FAILED, WRONG, STOPPED = 0, 1, 2, 3
EXPORT_FORMATS = ("csv", "json", "jsonl")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _calm_streams()
    arguments = _parser().parse_args(argv)
    warnings.showwarning = _show_warning  # type: ignore[assignment]
    sys.excepthook = _show_crash
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        code: int = arguments.command(arguments)
    except BrokenPipeError:
        code = OK
    except (Exception, KeyboardInterrupt) as error:
        return _exit_code(error)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
    return code


def _exit_code(error: BaseException) -> int:
    """The exit code for what went wrong, which is said; raised where it is a fault of ours."""
    from .errors import RunStopped

    if not isinstance(error, RunStopped | KeyboardInterrupt | ValueError | OSError):
        raise error
    _complain(str(error) or "stopped")
    return STOPPED if isinstance(error, RunStopped | KeyboardInterrupt) else WRONG


class _Version(argparse.Action):
    """Says the version, which is looked up only where somebody asks."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from .plans import evalkit_version

        _print(f"evalkit {evalkit_version()}")
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    from . import command_options as options
    from .report_command import add_review_options

    parser = options.Parser(
        prog="evalkit", description="Run evaluation cases against a model, keep every result, compare runs honestly.",
        epilog="`evalkit COMMAND --help` explains one command. "
        "Exit codes: 0 done, 1 a gate failed, 2 wrong request, 3 stopped early.",
    )  # fmt: skip
    parser.add_argument("--version", action=_Version, nargs=0, help="show evalkit's version and stop")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, function: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        added.set_defaults(command=function)
        return added

    run = command("run", _run, "run datasets against a model and store the results")
    options.run(run)

    resume = command("resume", _resume, "finish a run that was stopped or interrupted")
    resume.add_argument("run", metavar="RUN_ID")
    resume.add_argument("--errors", action="store_true", help="ask trials again that ended in an error")
    options.judge(resume)
    options.limits(resume)
    options.results(resume)

    rescore = command("rescore", _rescore, "score a run's stored turns again, as a new run; asks no model")
    rescore.add_argument("run", metavar="RUN_ID")
    rescore.add_argument(
        "--dataset", metavar="FILE", help="the cases to score by (default: the run's own file as it is now)"
    )
    options.judge(rescore)
    rescore.add_argument(
        "--no-judges", action="store_true", help="ask no judge: keep the stored verdicts that still hold"
    )
    rescore.add_argument("--concurrency", type=int, default=16, metavar="N", help="requests at once (default: 16)")
    options.results(rescore)

    runs = command("runs", _runs, "list the runs, newest first, unfinished ones too")
    options.results(runs)

    compare = command("compare", _compare, "compare two runs: the verdict, each tool, the cases that changed")
    compare.add_argument("baseline", metavar="BASELINE", help="a run id, the beginning of one, latest, or latest~1")
    compare.add_argument("candidate", metavar="CANDIDATE")
    compare.add_argument("--format", choices=("text", "markdown", "json"), default="text", help="default: text")
    compare.add_argument("--fail-on", choices=("worse",), help="exit with 1 where that is the verdict")
    compare.add_argument("--on", choices=("score", "passed"), default="score", help="what to compare (default: score)")
    compare.add_argument(
        "--worth-knowing", type=float, default=0.10, metavar="X", help="the smallest difference that matters (0.10)"
    )
    options.results(compare)

    review = command("review", _review, "write the weekly review: a page, charts and tables; asks no model")
    add_review_options(review)
    options.results(review)

    check = command(
        "check", _check, "look for problems in datasets and give advice; with --model, look at the endpoint"
    )
    check.add_argument(
        "paths", nargs="*", metavar="PATH", help="dataset files or folders of them (default: eval_data/)"
    )
    check.add_argument("--model", help="also ask this model a few small requests, to see what its endpoint does")
    check.add_argument("--base-url")

    export = command("export", _export, "write a run's results as CSV or JSON")
    export.add_argument("run", metavar="RUN_ID")
    export.add_argument(
        "--format",
        choices=EXPORT_FORMATS,
        help="default: by the ending of FILE, else csv, safe to open in a spreadsheet",
    )
    export.add_argument("--output", metavar="FILE", type=Path, help="default: standard output")
    export.add_argument(
        "--bom",
        action="store_true",
        help="begin CSV with the mark by which Excel knows UTF-8; else it reads Köln as KÃ¶ln",
    )
    options.results(export)
    return parser


def _run(arguments: argparse.Namespace) -> int:
    from .command_options import object_of
    from .lines import dry_run_lines
    from .plans import make_plan
    from .recording import start_recording

    extra = None if arguments.extra is None else object_of(arguments.extra)
    prompt = arguments.system_prompt
    plans = [
        make_plan(
            dataset, model=arguments.model, trials=arguments.trials, concurrency=arguments.concurrency,
            label=arguments.label, system_prompt=_text_of(prompt) if prompt else None,
            temperature=arguments.temperature, max_tokens=arguments.max_tokens, seed=arguments.seed,
            tool_choice=arguments.tool_choice, parallel_tool_calls=arguments.parallel_tool_calls,
            reasoning_effort=arguments.reasoning_effort, base_url=arguments.base_url, api=arguments.api, extra=extra,
            tools=arguments.tools, cases=arguments.case, tags=arguments.tag, limit=arguments.limit,
            max_errors=arguments.max_errors, judge_model=arguments.judge_model,
            judge_base_url=arguments.judge_base_url, batch=arguments.batch, dry=arguments.dry_run,
        )
        for dataset in arguments.datasets
    ]  # fmt: skip
    if arguments.dry_run:
        for plan in plans:
            _print(*dry_run_lines(plan))
        return OK
    for group in [plans] if arguments.batch else [[plan] for plan in plans]:  # batches are waited for together
        recordings = []
        for plan in group:
            cases = f"{len(plan.dataset.cases)} eval cases" + (f" × {plan.trials} trials" if plan.trials > 1 else "")
            _print(f"Running {cases}… ({plan.dataset.name}, model {plan.model.name})")
            recordings.append(start_recording(plan, results_dir=arguments.results_dir))
        if code := _carry_out(*recordings):
            return code
    return OK


def _resume(arguments: argparse.Namespace) -> int:
    from .resuming import reopen

    recording = reopen(
        arguments.run, errors=arguments.errors, judge_model=arguments.judge_model, concurrency=arguments.concurrency,
        max_errors=arguments.max_errors, results_dir=arguments.results_dir,
    )  # fmt: skip
    tally = recording.tally
    finished = f"{tally.finished} of {tally.planned} trials are finished, {len(recording.todo)} to do"
    _print(f"Resuming {recording.description['run_id']}: {finished}…")
    return _carry_out(recording)


def _carry_out(*recordings: Any) -> int:
    """Carry out runs at the same time; the highest of their exit codes."""
    from .lines import trial_line
    from .recording import drive_together

    trials = recordings[0].plan.trials
    outcomes = drive_together(recordings, lambda row: _say(trial_line(row, trials=trials)))
    return max(_exit_code(one) if isinstance(one, BaseException) else _ended(one) for one in outcomes)


def _ended(done: Any) -> int:
    _summarize(done)
    nothing_scored = done.description["counts"]["trials"] == 0
    return STOPPED if done.interrupted or nothing_scored else OK


def _rescore(arguments: argparse.Namespace) -> int:
    from .rescoring import start_rescoring

    rescoring = start_rescoring(
        arguments.run, dataset=arguments.dataset, judges=not arguments.no_judges, judge_model=arguments.judge_model,
        concurrency=arguments.concurrency, results_dir=arguments.results_dir,
    )  # fmt: skip
    _print(*(f"left out: {case_id}: {why}" for case_id, why in rescoring.left_out.items()))
    return _carry_out(rescoring.recording)


def _summarize(done: Any) -> None:
    from .lines import reviewer_lines, summary_lines

    about = done.description
    reviewed = (
        reviewer_lines(done.frame()) if None in {tool["expected_tool"] for tool in about["counts"]["by_tool"]} else []
    )
    origin = about.get("rescored_from")
    _print(*summary_lines(about), *reviewed, f"Stored as {about['run_id']} in {done.path.parent}")
    if origin:
        _print(f"Scored again from {origin}: `evalkit compare {origin} {about['run_id']}` shows what it changed.")


def _runs(arguments: argparse.Namespace) -> int:
    from .history import list_runs
    from .lines import runs_table

    _print(*runs_table(list_runs(results_dir=arguments.results_dir)))
    return OK


def _compare(arguments: argparse.Namespace) -> int:
    from .compare_lines import comparison_lines, gate_lines
    from .comparison import compare

    comparison = compare(
        arguments.baseline, arguments.candidate, on=arguments.on, worth_knowing=arguments.worth_knowing,
        results_dir=arguments.results_dir,
    )  # fmt: skip
    try:
        _print(*comparison_lines(comparison, arguments.format))
    except BrokenPipeError:  # as below: who has read enough still gets the gate's word
        if not arguments.fail_on:
            raise
    if not arguments.fail_on:
        return OK
    if comparison.summary["n"].iloc[0] == 0:
        _complain("the gate compared nothing: the runs have no scored case in common")
        return WRONG
    failed, lines = gate_lines(comparison)
    for line in lines:
        _complain(line)
    return FAILED if failed else OK


def _review(arguments: argparse.Namespace) -> int:
    from .report_command import write

    _print(*write(arguments))
    return OK


def _check(arguments: argparse.Namespace) -> int:
    from .checking import check_endpoint, check_paths

    sound = True
    if arguments.paths or not arguments.model:
        lines, sound = check_paths(arguments.paths)
        _print(*lines)
    if arguments.model:
        lines, answers = check_endpoint(arguments.model, base_url=arguments.base_url)
        _print(*lines)
        sound = sound and answers
    return OK if sound else WRONG


def _export(arguments: argparse.Namespace) -> int:
    from .errors import SettingsError
    from .exports import results_text
    from .history import load_run

    ending = arguments.output.suffix.removeprefix(".") if arguments.output else ""
    form = arguments.format or (ending if ending in EXPORT_FORMATS else EXPORT_FORMATS[0])
    if arguments.bom and form != "csv":
        raise SettingsError(f"--bom is for CSV, which is not what is written here ({form}): leave it out")
    text = "\ufeff" * arguments.bom + results_text(load_run(arguments.run, results_dir=arguments.results_dir), form)
    if arguments.output:
        with open(arguments.output, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        _print(f"Wrote {arguments.output}")
    elif sys.stdout.isatty():
        _print(*text.removeprefix("\ufeff").splitlines())
    else:
        sys.stdout.write(text)
    return OK


def _text_of(path: Path) -> str:
    from .errors import SettingsError
    from .textfiles import read_text

    try:
        return read_text(path)
    except OSError as error:
        raise SettingsError(f"the system prompt {path} cannot be read: {error.strerror or error}") from None


def _print(*lines: str) -> None:
    """Print lines that may hold names and texts of anybody's making: nothing in them is obeyed by the terminal."""
    from .masking import printable

    for line in lines:
        print(printable(line, lines=True))


def _say(line: str) -> None:
    from .progress import say

    say(line)


def _complain(text: str) -> None:
    from .masking import printable

    for line in text.splitlines() or [""]:
        print(printable(f"evalkit: {line}"), file=sys.stderr)


def _show_warning(message: Warning | str, *_: Any) -> None:
    _complain(f"warning: {message}")


def _show_crash(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    """A fault of ours, told as Python tells it, but for keys and for what a terminal obeys."""
    import traceback

    from .masking import Mask, printable, secrets_in_environment

    mask = Mask.of(*secrets_in_environment())
    text = mask("".join(traceback.format_exception(kind, error, trace)))
    print(printable(text.rstrip(), lines=True), file=sys.stderr)


def _interrupt(*_: Any) -> None:
    """SIGTERM ends a run as Ctrl-C does: what is finished is stored."""
    raise KeyboardInterrupt


def _calm_streams() -> None:
    """Print what the terminal's encoding lacks as a substitute instead of failing in the middle of a run."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
