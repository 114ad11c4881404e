import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.footers import footer_entry


def write(path, **entries):
    table = pa.table({"a": ["\x18\x07evalkit\x18\x04none", "b"]})
    pq.write_table(table.replace_schema_metadata(entries), path)
    return path


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_384, 100_000, 3_000_000])
def test_an_entry_of_any_length_is_the_one_that_a_parser_finds(tmp_path, size):
    path = write(tmp_path / "a.parquet", other="x" * 50, evalkit="y" * size, evalkit_dataset="z" * 70)
    for key in (b"evalkit", b"evalkit_dataset", b"other"):
        assert footer_entry(path, key) == pq.read_metadata(path).metadata[key]


def test_what_is_no_parquet_file_or_has_no_such_entry_gives_none(tmp_path):
    path = write(tmp_path / "a.parquet", evalkit="y")
    whole = path.read_bytes()
    assert footer_entry(path, b"missing") is None
    for content in (b"", b"PAR1", b"PAR1PAR1", b"text" * 10, whole[:-3], whole[4:], whole[:-8] + b"\xff" * 4 + b"PAR1"):
        path.write_bytes(content)
        assert footer_entry(path, b"evalkit") is None
