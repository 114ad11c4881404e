import csv
import io

import pandas as pd
import pytest

import evalkit as ek
from evalkit.table_files import export_table

FRAME = pd.DataFrame({"tool": ["=1+1", "a|b\nc", None], "n": [1, -2, 3], "accuracy": [0.5, -1 / 3, float("nan")]})


def _texts(paths):
    return {path.suffix: path.read_bytes().decode("utf-8") for path in paths}


def test_csv_is_safe_in_a_spreadsheet_and_numbers_are_untouched(tmp_path):
    text = _texts(export_table(FRAME, "t", folder=tmp_path))[".csv"]
    assert list(csv.reader(io.StringIO(text))) == [
        ["tool", "n", "accuracy"], ["'=1+1", "1", "0.5"], ["a|b\nc", "-2", "-0.3333333333333333"], ["", "3", ""],
    ]  # fmt: skip


def test_names_of_columns_are_made_harmless_too(tmp_path):
    frame = pd.DataFrame({"=cmd()": [1], ("a", "b"): [2]})
    assert _texts(export_table(frame, "t", folder=tmp_path))[".csv"].splitlines()[0] == "'=cmd(),a b"


def test_categories_and_columns_of_one_name_are_safe_too(tmp_path):
    frame = pd.DataFrame([["=a", "=b"]], columns=["x", "x"]).astype("category")
    assert _texts(export_table(frame, "t", folder=tmp_path))[".csv"] == "x,x\n'=a,'=b\n"


def test_a_byte_order_mark_is_written_on_request_and_only_in_csv(tmp_path):
    files = {path.suffix: path.read_bytes() for path in export_table(FRAME, "t", folder=tmp_path, bom=True)}
    assert [ending for ending, data in files.items() if data.startswith(b"\xef\xbb\xbf")] == [".csv"]


def test_markdown_keeps_to_its_rows_and_aligns_numbers(tmp_path):
    lines = _texts(export_table(FRAME, "t", folder=tmp_path))[".md"].splitlines()
    assert lines == [
        "| tool | n | accuracy |",
        "| --- | ---: | ---: |",
        r"| =1\+1 | 1 | 0.5 |",
        r"| a\|b c | -2 | -0.333333 |",
        "|  | 3 |  |",
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<img src=x onerror=alert(1)>", r"&lt;img src=x onerror=alert\(1\)&gt;"),
        ("[x](javascript:alert(1))", r"\[x\]\(javascript:alert\(1\)\)"),
        ("**bold** `code` a_b", r"\*\*bold\*\* \`code\` a\_b"),
        ("&lt;", "&amp;lt;"),
        ("a\\|b", r"a\\\|b"),
        ("a\r\nb\u2028c", "a  b c"),
    ],
)
def test_markup_in_markdown_is_text(tmp_path, text, shown):
    frame = pd.DataFrame({"text": [text]})
    assert (
        _texts(export_table(frame, "t", formats="markdown", folder=tmp_path))[".md"].splitlines()[2] == f"| {shown} |"
    )


def test_markup_in_html_is_text(tmp_path):
    frame = pd.DataFrame({"<script>": ["<img src=x>", "</table>"]})
    text = _texts(export_table(frame, "t", folder=tmp_path))[".html"]
    assert "<img" not in text
    assert "<script" not in text
    assert text.count("</table>") == 1
    assert 'class="dataframe tex2jax_ignore mathjax_ignore"' in text


def test_an_index_with_a_name_is_a_column_and_one_without_is_not(tmp_path):
    frame = FRAME.set_index("tool")
    assert _texts(export_table(frame, "t", folder=tmp_path))[".csv"].startswith("tool,n,")
    assert _texts(export_table(frame, "t", folder=tmp_path, index=False))[".csv"].startswith("n,accuracy")
    assert _texts(export_table(FRAME, "t", folder=tmp_path))[".csv"].startswith("tool,")


def test_no_rows_make_a_table_of_names(tmp_path):
    assert _texts(export_table(FRAME[:0], "t", folder=tmp_path))[".md"].splitlines()[0] == "| tool | n | accuracy |"


def test_the_same_frame_gives_the_same_bytes_and_stays_as_it_was(tmp_path):
    before = FRAME.copy()
    first = [path.read_bytes() for path in export_table(FRAME, "one", folder=tmp_path)]
    assert [path.read_bytes() for path in export_table(FRAME, "two", folder=tmp_path)] == first
    pd.testing.assert_frame_equal(FRAME, before)


def test_files_are_written_to_the_folder_of_results_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("EVALKIT_RESULTS", str(tmp_path))
    paths = ek.export_table(FRAME, "t")
    assert [path.relative_to(tmp_path).as_posix() for path in paths] == ["tables/t.csv", "tables/t.md", "tables/t.html"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"formats": ["cvs"]}, "unknown format 'cvs': csv, markdown, html. Did you mean 'csv'?"),
        ({"name": "a/b"}, "a table's name must be a plain file name, got 'a/b': '/' is not allowed in it"),
    ],
)
def test_what_cannot_be_written_is_refused_before_anything_is(tmp_path, settings, message):
    with pytest.raises(ValueError) as raised:
        export_table(FRAME, **({"name": "t", "folder": tmp_path} | settings))
    assert message in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_a_name_may_have_the_ending_already(tmp_path):
    frame = pd.DataFrame({"a": [1]})
    (path,) = export_table(frame, "rates.csv", formats="csv", folder=tmp_path)
    assert path.name == "rates.csv"
