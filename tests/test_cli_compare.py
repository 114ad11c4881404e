import json
import re
import subprocess
import sys

import pytest

from evalkit.cli import main
from evalkit.store import save_run
from frames import description, row


@pytest.fixture
def evalkit(tmp_path, monkeypatch, capsys):
    """The command in this process, with runs: base, same, worse (by 12 of 40), few (3 cases of them)."""
    monkeypatch.setenv("EVALKIT_RESULTS", str(tmp_path))
    sides = {"base": (40, 0), "same": (40, 0), "worse": (40, 12), "few": (3, 1)}
    for place, (name, (cases, failed)) in enumerate(sides.items()):
        rows = [
            row(f"case-{n}", 1, n >= failed, case_hash=str(n), input=f"Ask | `{n}` <b>\x1b[31m", expected_tool="a|b")
            for n in range(cases)
        ]
        about = description(name, started_at=f"2026-11-0{place + 1}T10:00:00+00:00", system_prompt=f"Prompt {name}.")
        save_run(tmp_path / f"{name}.parquet", about, None, rows)

    def call(*words):
        capsys.readouterr()
        code = main(["compare", *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def test_text_holds_the_sentence_the_tools_the_flips_and_what_differs(evalkit):
    code, output, errors = evalkit("base", "worse")
    lines = output.splitlines()
    assert (code, errors) == (0, "")
    assert lines[:2] == ["baseline   base", "candidate  worse"]
    assert lines[3].startswith("Worse: the mean score fell from 1.000 to 0.700 over 40 shared cases (−0.300, 95 %")
    assert "  system prompt: 12 characters → 13 characters" in lines
    assert "      -Prompt base." in lines
    table = lines.index("Per expected tool (mean score):")
    assert re.split("  +", lines[table + 2].strip())[:4] == ["a|b", "40", "1.000 (0.91–1.00)", "0.700 (0.55–0.82)"]
    assert "regressed (12):" in lines
    assert any(line.startswith("  case-0 ") and "0.00 wrong_tool" in line for line in lines)
    assert "\x1b" not in output


@pytest.mark.parametrize(
    ("sides", "code", "said"),
    [
        (("base", "worse"), 1, "evalkit: the candidate is worse: Worse: the mean score fell"),
        (("worse", "base"), 0, ""),
        (("base", "same"), 0, ""),
        (("base", "few"), 0, "evalkit: not shown to be worse, but this is not a pass: Too few cases to tell: "),
        (("same", "latest"), 0, "evalkit: not shown to be worse, but this is not a pass: Too few cases"),
        (("sam", "latest~1"), 1, "evalkit: the candidate is worse"),
    ],
)
def test_the_gate_fails_for_worse_alone_and_says_where_nothing_can_be_told(evalkit, sides, code, said):
    got, _, errors = evalkit(*sides, "--fail-on", "worse")
    assert got == code
    assert errors.startswith(said)
    assert bool(errors) == bool(said)
    if "not a pass" in said:
        assert re.search(r"to see 0\.1 takes about [\d,]+ cases\.", errors)
    assert evalkit(*sides)[0] == 0


def test_json_is_json_and_holds_everything(evalkit):
    _, output, _ = evalkit("base", "worse", "--format", "json")
    held = json.loads(output, parse_constant=lambda word: pytest.fail(word))
    assert (held["verdict"], held["baseline"], held["candidate"]) == ("worse", "base", "worse")
    assert (held["summary"]["n"], held["summary"]["regressed"], held["tools"][0]["expected_tool"]) == (40, 12, "a|b")
    assert [change["status"] for change in held["changes"]] == ["regressed"] * 12
    assert held["changes"][0]["input"].startswith("Ask | `")
    none = json.loads(evalkit("few", "few", "--format", "json")[1])
    assert none["warnings"] == ["Both sides are the same run, 'few': no difference can show."]


def test_markdown_is_not_led_astray_by_text(evalkit):
    _, output, _ = evalkit("base", "worse", "--format", "markdown")
    lines = output.splitlines()
    assert lines[0].startswith("**worse**: Worse: the mean score fell")
    rows = [line for line in lines if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in rows} == {4, 8, 6}
    case = next(line for line in rows if "case-0" in line)
    assert case.startswith("| regressed (flipped) | `case-0` |")
    assert "``Ask \\| `0` <b>\\x1b[31m``" in case
    assert "| `a\\|b` | 40 |" in output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bass", "same"), "evalkit: no run 'bass' in"),
        (("base", "latest~9"), "evalkit: there is no run 9 before the latest"),
        (("base", "same", "--worth-knowing", "2"), "evalkit: worth_knowing must be above 0 and at most 1, got 2.0"),
    ],
)
def test_a_wrong_request_ends_with_2_and_a_reason(evalkit, words, said):
    code, output, errors = evalkit(*words)
    assert (code, output) == (2, "")
    assert errors.startswith(said)


def test_the_pass_rate_can_be_compared(evalkit):
    assert "the pass rate fell from 1.000 to 0.700" in evalkit("base", "worse", "--on", "passed")[1]


def test_the_gate_holds_where_nobody_reads_what_is_printed(evalkit, tmp_path):
    command = [sys.executable, "-m", "evalkit", "compare", "base", "worse", "--fail-on", "worse"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert "worse" in process.stderr.read()
    assert process.returncode == 1
