from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from evalkit import SettingsError
from evalkit.weeks import Span, read_span, read_week, week_of


@pytest.mark.parametrize(
    ("day", "name"),
    [
        ("2025-12-29", "2026-W01"),
        ("2026-01-04", "2026-W01"),
        ("2026-12-28", "2026-W53"),
        ("2027-01-03", "2026-W53"),
        ("2027-01-04", "2027-W01"),
    ],
)
def test_weeks_around_new_year_belong_to_the_year_of_their_thursday(day, name):
    assert week_of(date.fromisoformat(day)).name == name


def test_an_instant_lies_in_the_week_that_it_lies_in_by_utc():
    late = datetime(2026, 11, 30, 0, 30, tzinfo=timezone(timedelta(hours=1)))  # Sunday, 23:30 in UTC
    assert week_of(late).name == "2026-W48"


@pytest.mark.parametrize("text", ["2026-W48", "2026W48", "2026-w48", " 2026-W48 "])
def test_a_week_is_read_in_its_spellings(text):
    assert read_week(text) == Span(date(2026, 11, 23), date(2026, 11, 29))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("48", r"a week is named like '2026-W48' \(ISO weeks, Monday to Sunday\), got '48'"),
        ("2026-W54", "2026 has the weeks W01 to W53, got '2026-W54'"),
        ("2027-W53", "2027 has the weeks W01 to W52, got '2027-W53'"),
        ("2026-W00", "2026 has the weeks W01 to W53"),
        ("0000-W01", "there is no year 0"),
    ],
)
def test_what_is_no_week_is_refused(text, message):
    with pytest.raises(SettingsError, match=message):
        read_week(text)


def test_a_week_holds_its_first_instant_and_not_the_next_ones():
    week = read_week("2026-W48")
    assert week.holds(datetime(2026, 11, 23, tzinfo=UTC))
    assert week.holds(datetime(2026, 11, 29, 23, 59, 59, tzinfo=UTC))
    assert not week.holds(datetime(2026, 11, 30, tzinfo=UTC))
    assert not week.holds(None)
    assert week.before().name == "2026-W47"
    assert week.words == "ISO week 2026-W48, Monday 23 November 2026 to Sunday 29 November 2026"


def test_other_days_are_named_by_their_ends():
    span = read_span("2026-11-01", "2026-11-20")
    assert (span.name, span.noun) == ("2026-11-01_to_2026-11-20", "period")
    assert read_span("2026-11-23", "2026-11-29").name == "2026-W48"


@pytest.mark.parametrize(
    ("since", "until", "message"),
    [
        ("2026-11-31", "2026-12-01", "since must be the first day of a review, such as '2026-11-30', got '2026-11-31'"),
        ("2026-11-01", "soon", "until must be the last day of a review"),
        ("2026-11-02", "2026-11-01", "since must not be later than until"),
    ],
)
def test_days_that_are_none_are_refused(since, until, message):
    with pytest.raises(SettingsError, match=message):
        read_span(since, until)
