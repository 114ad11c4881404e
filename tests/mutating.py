"""A cheap source of hostile inputs: documents that are cut, doubled and mixed, and JSON values made at random.

Hypothesis takes a millisecond and more for an input; this takes some ten microseconds. Everything comes from one seeded
generator, so that the same seed gives the same inputs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

LONGEST = 4_000  # characters of a mutated document
CHARACTERS = (
    "\x00\x07\t\n\r \"'&<>\\/{}[]:,;=$%#@!`*_-+.0e9aZé\u00a0\u00ad\u0301\u200b\u2028\u202e\ufeff\uffff\ud83d😀ß中ا"
)
WORDS = (
    *('""', "''", "{}", "[]", "null", "true", "false", "NaN", "-Infinity", "1e400", "-0.0", "1e-400", "0x1F", "1.0"),
    *("9" * 40, "9" * 310, "[" * 250, '{"a":' * 250, '{"a": 1, "a": 2}', "\\ud83d", "\\u0000", "\\", '"\\', "\\x41"),
    *("<script>alert(1)</script>", "</style>", "<!--", "-->", "<![CDATA[", "]]>", '" onload="x', "<img onerror=x>"),
    *('<!DOCTYPE a [<!ENTITY b "c">]>', "&b;", "&#0;", "&#x110000;", "&amp;lt;", "%b;", "<?xml version='1.0'?>"),
    *("```json\n", "```", "\ufeff", "\r\n", "\u2028", "javascript:x", "=cmd|' /C c'!A0", "../../etc", "\x1b[2J"),
    *("$\\(x\\)$", "Choice: A", "A) yes", "{{x}}", "%s%n", "a" * 1600, "(" * 60 + "a" + ")+" * 60, "x\n" * 50),
)  # fmt: skip


class Mutator:
    """Inputs made at random of a corpus of documents and of words."""

    def __init__(self, chance: Random, corpus: Sequence[str], words: Sequence[str] = ()):
        self.chance = chance
        self._corpus = list(corpus)
        self._words = (*WORDS, *words, *words)

    def keep(self, document: str) -> None:
        """Take one more document into the corpus, in place of another one where there are many."""
        if len(self._corpus) < 2_000:
            self._corpus.append(document[:LONGEST])
        else:
            self._corpus[self.chance.randrange(len(self._corpus))] = document[:LONGEST]

    def word(self) -> str:
        """A word or a character."""
        chance = self.chance
        return chance.choice(self._words) if chance.random() < 0.6 else chance.choice(CHARACTERS)

    def text(self) -> str:
        """A document, changed in up to five places."""
        chance = self.chance
        text = chance.choice(self._corpus) if self._corpus else ""
        for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, 5))):
            start = chance.randrange(len(text) + 1)
            end = min(len(text), start + chance.choice((0, 1, 1, 3, 10, 80)))
            what = chance.randrange(6)
            if what == 0:
                text = text[:start] + text[end:]
            elif what == 1:
                text = text[:end] + text[start:]
            elif what == 2:
                text = text[:start] + self.word() + text[end:]
            elif what == 3:
                text = text[:start]
            elif what == 4:
                other = chance.choice(self._corpus)
                text = text[:start] + other[chance.randrange(len(other) + 1) :]
            else:
                text = text[:start] + self.word() + text[start:]
        return text[:LONGEST]

    def raw(self) -> bytes:
        """A document as bytes, now and then not UTF-8."""
        data = self.text().encode("utf-8", "surrogatepass")
        if self.chance.random() < 0.05:
            place = self.chance.randrange(len(data) + 1)
            data = data[:place] + self.chance.randbytes(self.chance.randint(1, 4)) + data[place:]
        return data

    def scalar(self) -> Any:
        """A JSON value that holds no other."""
        chance = self.chance
        what = chance.randrange(8)
        if what < 3:
            return self.word()
        if what == 3:
            return chance.choice((None, True, False, "", [], {}))
        if what == 4:
            return chance.choice((0, 1, -1, 2**53 + 1, 10**30, 10**400))
        if what == 5:
            return chance.choice((0.0, -0.0, 0.1, 1e308, 5e-324, 1.0, 1e16))
        return chance.choice(
            ("2024-04-01", "04/05/2024", "1", "1.0", "true", '{"a": 1}', "[1]", "é", "e\u0301", "A", " a ")
        )

    def value(self, depth: int, keys: Sequence[str]) -> Any:
        """A JSON value whose objects have mostly these keys."""
        chance = self.chance
        if depth <= 0 or chance.random() < 0.3:
            return self.scalar()
        if chance.random() < 0.4:
            return [self.value(depth - 1, keys) for _ in range(chance.randrange(4))]
        names = (chance.choice(keys) if chance.random() < 0.9 else self.word() for _ in range(chance.randint(1, 4)))
        return {name: self.value(depth - 1, keys) for name in names}

    def document(self, depth: int, keys: Sequence[str]) -> str:
        """A JSON value as text."""
        return json.dumps(self.value(depth, keys), ensure_ascii=self.chance.random() < 0.5)
