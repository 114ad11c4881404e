"""The datasets that come with the project: what they hold, and that a good call passes and a poor one does not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evalkit.dataset_advice import FEW_CASES, check_dataset
from evalkit.dataset_files import dataset_paths
from evalkit.datasets import Dataset, load_dataset
from evalkit.evaluators import evaluate_tool_call
from evalkit.matcher_checks import NAMES
from evalkit.records import ToolCall, Turn

FOLDER = Path(__file__).parent.parent / "eval_data"
FILES = dataset_paths(FOLDER)


def load(name: str) -> Dataset:
    return load_dataset(FOLDER / f"{name}.json")


def test_the_three_datasets_are_there() -> None:
    assert {"file_tools", "office_assistant", "support_desk"} <= {path.stem for path in FILES}


def test_the_file_cases_are_the_six_of_the_book() -> None:
    dataset = load("file_tools")
    asked = [(case.input, case.expected_tool, [tool.tool for tool in case.secondary_tools]) for case in dataset.cases]
    assert asked == [
        ("What files are in the current directory?", "list_files", []),
        ("Show me the contents of src/main.rs", "read_file", []),
        ("Read the Cargo.toml file", "read_file", ["list_files"]),
        ("What is Rust?", "none", []),
        ("Tell me a joke", "none", []),
        ("List everything in the src directory", "list_files", []),
    ]
    assert all(case.expected_arguments is None for case in dataset.cases)
    assert {tool.name: tool.parameters["required"] for tool in dataset.tools} == {
        "list_files": ["directory"],
        "read_file": ["path"],
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_dataset_has_no_problem_and_only_advice_about_few_cases(path: Path) -> None:
    frame = check_dataset(path)
    assert [message for message in frame["message"] if "From 10 on a rate begins" not in message] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_dataset_survives_its_own_form(path: Path) -> None:
    dataset = load_dataset(path)
    assert Dataset.from_dict(json.loads(json.dumps(dataset.as_dict()))) == dataset


def test_the_office_set_is_large_and_varied() -> None:
    dataset = load("office_assistant")
    expected = Counter(case.expected_tool for case in dataset.cases)
    assert len(dataset) >= 60
    assert len(dataset.tools) >= 8
    assert min(expected[tool.name] for tool in dataset.tools) >= 6
    assert expected["none"] >= max(12, FEW_CASES)
    assert expected["any"] >= 1
    assert sum(not isinstance(case.input, str) for case in dataset.cases) >= 6
    assert any(tool.arguments is not None for case in dataset.cases for tool in case.secondary_tools)
    assert any(tool.tool == "none" for case in dataset.cases for tool in case.secondary_tools)
    assert max(Counter(case.cluster for case in dataset.cases if case.cluster).values()) >= 3
    assert all(case.tags for case in dataset.cases)
    said = json.dumps([case.as_dict() for case in dataset.cases])
    assert {name for name in NAMES if f'"{name}"' in said} == set(NAMES) - {"$literal"}


def test_the_support_set_has_tools_that_are_easily_confused() -> None:
    dataset = load("support_desk")
    assert 20 <= len(dataset) <= 30
    assert {"cancel_order", "refund_order", "return_item", "exchange_item"} <= {tool.name for tool in dataset.tools}
    assert sum("look-alike" in case.tags for case in dataset.cases) >= 4


GOOD: list[tuple[str, str, str, dict[str, Any]]] = [
    ("office_assistant", "email-invoice-acme", "search_email", {"query": "Acme invoice"}),
    ("office_assistant", "email-invoice-acme-typo", "search_email", {"query": "ACME", "has_attachment": True}),
    (
        "office_assistant",
        "email-from-priya-since",
        "search_email",
        {"query": "Offsite", "sender": "Priya", "after": "2026-02-20"},
    ),
    ("office_assistant", "email-german", "search_email", {"query": "Reisekostenabrechnung", "sender": "Herr Brandt"}),
    (
        "office_assistant",
        "send-kim-invoice",
        "send_email",
        {"to": ["kim@firm.example"], "subject": "Invoice 7", "body": "Dear Kim,\ninvoice 7 has been paid.\nRobin"},
    ),
    (
        "office_assistant",
        "send-two-people",
        "send_email",
        {
            "to": ["tom@firm.example", "ana@firm.example"],
            "subject": "Kick-off moved",
            "body": "Hi both,\nthe kick-off moves to Thursday 10:00.",
        },
    ),
    (
        "office_assistant",
        "send-french",
        "send_email",
        {"to": ["marc@firm.example"], "subject": "Réunion", "body": "Bonjour Marc,\nla réunion est annulée."},
    ),
    ("office_assistant", "events-tomorrow", "list_events", {"start_date": "2026-03-03", "end_date": "2026-03-03"}),
    ("office_assistant", "events-this-week", "list_events", {"start_date": "2026-03-02", "end_date": "2026-03-08"}),
    (
        "office_assistant",
        "create-review-tom",
        "create_event",
        {
            "title": "Budget review",
            "date": "2026-03-05",
            "start_time": "14:00",
            "duration_minutes": 30,
            "attendees": ["Tom"],
        },
    ),
    (
        "office_assistant",
        "create-standup-three",
        "create_event",
        {"title": "Standup", "date": "2026-03-03", "start_time": "09:30", "attendees": ["Tom", "Ana", "Priya"]},
    ),
    (
        "office_assistant",
        "room-workshop",
        "book_room",
        {"date": "2026-03-16", "start_time": "13:00", "duration_minutes": 180, "people": 12},
    ),
    (
        "office_assistant",
        "remind-call-mum",
        "set_reminder",
        {"text": "Call mum", "date": "2026-03-02", "time": "18:00"},
    ),
    ("office_assistant", "remind-plants", "set_reminder", {"text": "Water the plants", "date": "2026-03-03"}),
    ("office_assistant", "weather-koeln", "get_weather", {"city": "Köln"}),
    ("office_assistant", "weather-koeln", "get_weather", {"city": "Cologne, Germany", "date": "2026-03-02"}),
    (
        "office_assistant",
        "currency-cents",
        "convert_currency",
        {"amount": 1234.56, "from_currency": "GBP", "to_currency": "CHF"},
    ),
    ("office_assistant", "files-brand-slides", "search_files", {"query": "new branding", "file_type": "slides"}),
    (
        "office_assistant",
        "translate-polite-it",
        "translate_text",
        {"text": "We look forward to your visit", "target_language": "it"},
    ),
    ("support_desk", "cancel-money-word", "cancel_order", {"order_id": "00731"}),
    (
        "support_desk",
        "refund-overcharged",
        "refund_order",
        {"order_id": "A-3777", "amount": 10.0, "reason": "overcharged"},
    ),
    (
        "support_desk",
        "return-money-word",
        "return_item",
        {"order_id": "A-4250", "item": "Scarf", "reason": "colour does not suit"},
    ),
    ("support_desk", "exchange-return-word", "exchange_item", {"order_id": "A-5233", "item": "dress", "new_size": "L"}),
    (
        "support_desk",
        "address-moved",
        "change_address",
        {"order_id": "A-7001", "address": "14 Mill Lane, Oxford, OX2 6HL"},
    ),
]
POOR: list[tuple[str, str, str, dict[str, Any]]] = [
    ("office_assistant", "email-sent-contract", "search_email", {"query": "signed contract Lars"}),
    ("office_assistant", "events-tomorrow", "list_events", {"start_date": "2026-03-02", "end_date": "2026-03-03"}),
    ("office_assistant", "weather-fahrenheit", "get_weather", {"city": "Austin", "date": "2026-03-05"}),
    ("office_assistant", "files-after-empty-mail", "search_files", {"query": "Hansen offer", "owner": "Hansen"}),
    ("support_desk", "cancel-money-word", "cancel_order", {"order_id": "731"}),
    ("support_desk", "refund-broken", "refund_order", {"order_id": "A-3402"}),
    (
        "support_desk",
        "exchange-size",
        "exchange_item",
        {"order_id": "A-5012", "item": "trainers", "new_size": "43", "new_colour": "white"},
    ),
]


CALLS = [(*row, True) for row in GOOD] + [(*row, False) for row in POOR]


@pytest.mark.parametrize(("name", "case_id", "tool", "arguments", "passed"), CALLS)
def test_a_good_call_passes_and_a_poor_one_does_not(
    name: str, case_id: str, tool: str, arguments: dict[str, Any], passed: bool
) -> None:
    dataset = load(name)
    (case,) = dataset.select(cases=case_id).cases
    verdict = evaluate_tool_call(case, Turn(tool_calls=[ToolCall(tool, arguments)]), dataset.tools)
    assert (verdict.passed, verdict.schema_valid) == (passed, True), verdict.reason
