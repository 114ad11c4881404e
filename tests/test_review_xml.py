"""The reviewer that wants one well-formed XML document."""

import re
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.reviewers import valid_xml


@pytest.mark.parametrize(
    ("answer", "root"),
    [
        ("<a/>", "a"),
        ("<a>&amp;&lt;&#233;&#x1F600;</a>", "a"),
        ('<?xml version="1.0" encoding="UTF-16"?><a/>', "a"),
        ('<?xml version="1.0" encoding="no-such-encoding"?><a>é</a>', "a"),
        ("<?xml version='1.1' standalone='yes'?>\n<a/>", "a"),
        ("<naïve/>", "naïve"),
        (" \n<a/>\n<!-- end -->\n", "a"),
        ("<a><![CDATA[<b>]]></a>", "a"),
        ("<!DOCTYPE html><html/>", "html"),
        ("<!DOCTYPE a []><a/>", "a"),
        ("<!DOCTYPE a [<!ELEMENT a ANY><!ATTLIST a b CDATA '%x;'><!-- %x; --><?p %x;?>]><a>%x;</a>", "a"),
        ('<p:a xmlns:p="urn:x"/>', "a"),
        ('<a xmlns="urn x"/>', "a"),
        ('<?xml-stylesheet href="http://127.0.0.1:9/"?><a/>', "a"),
        ("<a>" * 100_000 + "</a>" * 100_000, "a"),
    ],
    ids=lambda text: text[:30],
)
def test_well_formed_documents(answer, root):
    verdict = valid_xml(answer)
    assert (verdict.passed, verdict.score) == (True, 1.0), verdict.reason
    assert verdict.reason == f"well-formed XML with the root element {root}"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("<a x=1/>", "invalid token (line 1, column 6)"),
        ("<a/><b/>", "junk after document element (line 1, column 5)"),
        ("<a></b>", "mismatched tag (line 1, column 6)"),
        ("hello <a/>", "syntax error (line 1, column 1)"),
        ("<a/> hello", "junk after document element (line 1, column 6)"),
        ("<a>Tom & Jerry</a>", "invalid token (line 1, column 9)"),
        ("<a>\n é&nbsp;</a>", "undefined entity (line 2, column 3)"),
        ("<a>", "no element found (line 1, column 4)"),
        ("<a b='1' b='2'/>", "duplicate attribute (line 1, column 10)"),
        ("<p:a/>", "unbound prefix (line 1, column 1)"),
        ("<a>]]></a>", "invalid token (line 1, column 6)"),
        ("<!-- only a comment -->", "no element found"),
        ("", "the answer is empty (line 1, column 1)"),
        ("  \n", "the answer is empty (line 1, column 1)"),
        (None, "there is no answer"),
        ("```xml\n<a>\n```", "it stands in a Markdown fence (what stands inside is not accepted either)"),
        ("\n<?xml version='1.0'?><a/>", "XML or text declaration not at start of entity (line 2, column 1)"),
        ("\ufeff<a/>", "it begins with a byte-order mark (line 1, column 1)"),
        ("<a>\n\ud83d</a>", "half of a surrogate pair cannot be encoded (line 2, column 1)"),
        ("<a>\x00</a>", "invalid token (line 1, column 4)"),
        ("<a>\x01</a>", "invalid token (line 1, column 4)"),
        ("<a>\ufffe</a>", "invalid token (line 1, column 4)"),
        ("<?xml version='2.0'?><a/>", "its declaration says XML 2.0, which there is not (line 1, column 1)"),
        ("```xml\n<a/>\n```", "it stands in a Markdown fence (strip_fences: true accepts that)"),
        ('{"a": 1}', "invalid token (line 1, column 1)"),
    ],
    ids=lambda text: str(text)[:30],
)
def test_what_is_not_well_formed_fails_with_line_and_column(answer, reason):
    verdict = valid_xml(answer)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("<!DOCTYPE a SYSTEM 'file:///etc/hostname'><a/>", "names an external definition, 'file:///etc/hostname'"),
        ("<!DOCTYPE a SYSTEM ''><a/>", "names an external definition, "),
        ("<!DOCTYPE a PUBLIC '-//x' 'http://127.0.0.1:9/'><a/>", "names an external definition, 'http://127.0.0.1:9/'"),
        ("<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "declares the entity 'x'; entities are never expanded"),
        ("<!DOCTYPE a [<!ENTITY x 'y'>]><a/>", "declares the entity 'x'"),
        ("<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/hostname'>]><a>&x;</a>", "declares the entity 'x'"),
        ("<!DOCTYPE a [<!ENTITY % x 'y'> %x;]><a/>", "declares the parameter entity 'x'"),
        ("<!DOCTYPE a [ %x; ]><a>&y;</a>", "uses the parameter entity '%x;'"),
        ("<?xml version='1.0' standalone='yes'?><!DOCTYPE a [ %x; ]><a/>", "uses the parameter entity '%x;'"),
        (
            f"<!DOCTYPE a [<!ATTLIST a {' '.join(f'b{n} CDATA {n!r}' for n in map(str, range(101)))}>]><a/>",
            "declares more than 100 default attributes",
        ),
    ],
    ids=lambda text: text[:40],
)
def test_what_could_be_expanded_or_fetched_is_refused_with_a_reason(answer, reason):
    verdict = valid_xml(answer)
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert verdict.reason.startswith("refused: it")
    assert reason in verdict.reason
    assert re.search(r"\(line \d+, column \d+\)$", verdict.reason)


def test_strip_fences_reads_what_stands_inside_the_fence():
    assert valid_xml("```xml\n<?xml version='1.0'?>\n<a/>\n```", strip_fences=True).passed
    assert valid_xml("<a/>", strip_fences=True).passed
    assert "mismatched tag (line 1, column 6)" in valid_xml("```\n<a></b>\n```", strip_fences=True).reason


LEGAL = st.text(st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"))


@given(LEGAL, LEGAL)
@settings(deadline=None)
def test_all_text_that_is_escaped_is_well_formed(content, attribute):
    verdict = valid_xml(f"<a b={quoteattr(attribute)}>{escape(content)}</a>")
    assert verdict.passed, verdict.reason


@given(st.text("<>/ab&;!?='\"[]-% \n", max_size=40))
@settings(deadline=None)
def test_no_markup_upsets_it(answer):
    assert valid_xml(answer).score in (0.0, 1.0)
