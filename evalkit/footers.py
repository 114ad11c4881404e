"""One entry of a Parquet file's footer, found without parsing the rest of it.

A footer describes every column of every group of rows, which takes many times longer to parse than to look for the one
entry that is wanted. Where anything is not as expected None is given, and a real parser is to be asked.
"""

from __future__ import annotations

import os
from pathlib import Path

_MAGIC = b"PAR1"
_TAIL = 8  # bytes at the end: the footer's length and the magic word
_AT_ONCE = 2**15  # bytes: most footers fit
_TEXT = b"\x18"  # Thrift's compact protocol: the next field of a struct, and it is text


def footer_entry(path: Path, key: bytes) -> bytes | None:
    """The value of a footer's entry; None where it is not there or the file is none of Parquet's.

    Looks for the key as Thrift writes it. JSON and base64, which is what entries hold, have no such bytes, and of the
    footer's own texts none comes after the entries but the writer's name. Raises OSError.
    """
    with open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if file.read(len(_MAGIC)) != _MAGIC:
            return None
        file.seek(max(0, size - _AT_ONCE))
        end = file.read(_AT_ONCE)
        footer = int.from_bytes(end[-_TAIL:-4], "little")
        if end[-4:] != _MAGIC or footer + _TAIL > size:
            return None
        if footer + _TAIL > len(end):
            file.seek(size - footer - _TAIL)
            end = file.read(footer + _TAIL)
    return _value(end[-footer - _TAIL : -_TAIL], _TEXT + bytes([len(key)]) + key + _TEXT)


def _value(footer: bytes, before: bytes) -> bytes | None:
    at = footer.rfind(before)
    if at < 0:
        return None
    at += len(before)
    length = shift = 0
    while at < len(footer):  # a length is written seven bits a byte, the lowest first
        byte = footer[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            value = footer[at : at + length]
            return value if len(value) == length else None
    return None
