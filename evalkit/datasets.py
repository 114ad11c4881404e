"""Datasets: cases with their tools and system prompt, checked as a whole before anything is asked of a model.

Every fault of a dataset is found at once and said with its file, case and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import jsontext
from .cases import EvalCase, SecondaryTool
from .dataset_building import Parts, build, items_of
from .dataset_files import RawDataset, find_dataset, read_dataset_file
from .errors import DatasetError
from .given import words
from .messages import messages_of
from .nearmiss import did_you_mean
from .tables import frame_items

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "EvalCase", "SecondaryTool", "load_dataset", "messages_of"]


@dataclass(frozen=True)
class Dataset:
    """Cases with the tools that are offered and the system prompt that goes before them.

    `cases` are EvalCases or mappings, `tools` anything that `as_tools` takes. `path` is the file it came from.

    Raises DatasetError with everything that is wrong: no cases, ids that stand twice, tools that are not defined.
    """

    name: str
    cases: Sequence[Any]
    tools: Any = ()
    system_prompt: str | None = None
    description: str | None = None
    path: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        name = "" if self.name is None else self.name
        said = {"name": name, "system_prompt": self.system_prompt, "description": self.description}
        parts = build(RawDataset("", said, items=items_of(self.cases)), () if self.tools is None else self.tools)
        _fill(self, parts, self.path)

    @classmethod
    def from_dict(cls, mapping: Mapping[str, Any]) -> Dataset:
        """A dataset from its full form. Raises DatasetError with everything that is wrong with it."""
        if not isinstance(mapping, Mapping):
            raise DatasetError(f"a dataset's full form is an object with `cases`, got {mapping!r:.60}")
        has_cases = isinstance(mapping.get("cases"), list | tuple)
        items = items_of(mapping["cases"]) if has_cases else []
        return _made(RawDataset("", mapping, items=items, has_cases=has_cases))

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        name: str = "frame",
        tools: Any = (),
        system_prompt: str | None = None,
        description: str | None = None,
    ) -> Dataset:
        """A dataset with one case per row; columns are the fields of a case.

        NaN, None, NA and NaT are absent, and so is a key of an object that has one as its value, at any depth: after
        Parquet every object has the keys of all rows. An object of nothing else is `{}`, "no arguments". Where a null
        is meant, hold the object as JSON text. A number without a fraction is an integer, since missing values make
        floats of those; of one beyond 2**53, `pd.read_parquet` loses digits unless `dtype_backend="pyarrow"`.

        Raises DatasetError with everything that is wrong.
        """
        said = {"name": name, "system_prompt": system_prompt, "description": description}
        return _made(RawDataset("", said, items=list(frame_items(frame))), () if tools is None else tools)

    def __len__(self) -> int:
        return len(self.cases)

    def __iter__(self) -> Iterator[EvalCase]:
        return iter(self.cases)

    def __repr__(self) -> str:
        kinds = [case.kind for case in self.cases]
        counts = [(kinds.count("tool_choice"), "tool choice"), (kinds.count("final_answer"), "final answer")]
        said = ", ".join(f"{count} {kind}" for count, kind in counts if count)
        return f"Dataset({self.name!r}: {len(kinds)} cases ({said}), {len(self.tools)} tools)"

    def __hash__(self) -> int:
        return hash((self.name, self.dataset_hash, self.tools_hash, self.prompt_hash))

    @cached_property
    def dataset_hash(self) -> str:
        """Fingerprint of the cases in their order, with their ids, tags and clusters."""
        return jsontext.fingerprint([[c.id, c.case_hash, list(c.tags), c.cluster] for c in self.cases])

    @cached_property
    def tools_hash(self) -> str:
        """Fingerprint of the tool definitions in their order."""
        return jsontext.fingerprint([tool.chat() for tool in self.tools])

    @cached_property
    def prompt_hash(self) -> str:
        """Fingerprint of the system prompt; a dataset without one has its own."""
        return jsontext.fingerprint(self.system_prompt)

    def as_dict(self) -> dict[str, Any]:
        """The full form, as a file would hold it; `from_dict` gives the same dataset back."""
        said = {"name": self.name, "description": self.description, "system_prompt": self.system_prompt}
        tools = [tool.chat() for tool in self.tools]
        cases = [case.as_dict() for case in self.cases]
        return {**{key: value for key, value in said.items() if value is not None}, "tools": tools, "cases": cases}

    def select(
        self,
        cases: str | Iterable[str] | None = None,
        tags: str | Iterable[str] | None = None,
        limit: int | None = None,
    ) -> Dataset:
        """The dataset with the cases that have one of these ids and one of these tags, at most `limit`, in order.

        Raises DatasetError for an id or tag that no case has, and where no case is left.
        """
        known_tags = list(dict.fromkeys(tag for case in self.cases for tag in case.tags))
        ids = _known(cases, [case.id for case in self.cases], "case")
        wanted = _known(tags, known_tags, "tag")
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise DatasetError(f"limit must be at least 1, got {limit!r}")
        chosen = [case for case in self.cases if ids is None or case.id in ids]
        chosen = [case for case in chosen if wanted is None or wanted.intersection(case.tags)][:limit]
        if not chosen:
            raise DatasetError(f"no case of {self.name!r} has both one of these ids and one of these tags")
        if len(chosen) == len(self.cases):
            return self
        selected = object.__new__(Dataset)
        for name in Dataset.__dataclass_fields__:
            object.__setattr__(selected, name, tuple(chosen) if name == "cases" else getattr(self, name))
        return selected


def load_dataset(source: str | Path | Dataset, tools: Any = None) -> Dataset:
    """A dataset by its name in `eval_data/` or the path of its file (JSON, JSONL or CSV).

    `tools` (see `as_tools`) go before those of the file, and those before the ones in `<stem>.tools.json` beside it.

    Raises DatasetError with everything that is wrong, each with file, case and line; where there is no such
    dataset, the error is a FileNotFoundError too.
    """
    if isinstance(source, Dataset):
        return source if tools is None else replace(source, tools=tools)
    if not isinstance(source, str | Path):
        raise DatasetError(_no_dataset(source))
    return _made(read_dataset_file(find_dataset(source)), tools)


def _no_dataset(given: Any) -> str:
    """What was given in place of a dataset, and how to make one of it."""
    said = f"a dataset is a name in eval_data/, a path or a Dataset, got {type(given).__name__}"
    if hasattr(given, "columns"):
        return f"{said}. Make one of a frame: ek.Dataset.from_frame(df, tools=…)"
    if isinstance(given, Mapping):
        return f"{said}. Make one of its full form: ek.Dataset.from_dict(…)"
    if isinstance(given, list | tuple):
        return f"{said}. Make one of cases: ek.Dataset(name=…, cases=…, tools=…)"
    return said


def _known(wanted: str | Iterable[str] | None, known: list[str], what: str) -> set[str] | None:
    """The ids or tags that are asked for, each of which must be there."""
    if wanted is None:
        return None
    names = words(f"{what}s", wanted)
    if not names:
        raise DatasetError(f"no {what} is named, so nothing would be selected")
    there = set(known)
    missing = [str(name) for name in names if name not in there]
    listed = f" There are: {', '.join(known[:20])}{', …' if len(known) > 20 else ''}" if known else " There are none"
    if missing:
        raise DatasetError([f"no {what} {name!r}.{did_you_mean(name, known) or listed}" for name in missing])
    return set(names)


def _made(raw: RawDataset, tools: Any = None) -> Dataset:
    made = object.__new__(Dataset)
    _fill(made, build(raw, tools), raw.path)
    return made


def _fill(made: Dataset, parts: Parts, path: Path | None) -> None:
    """Set the fields of a dataset that is being made; nothing else may."""
    options = parts.options
    name = options.name or (path.stem if path else "dataset")
    said = {"name": name, "system_prompt": options.system_prompt, "description": options.description}
    for field_name, value in {**said, "cases": parts.cases, "tools": parts.tools, "path": path}.items():
        object.__setattr__(made, field_name, value)
