"""HTML as text: everything readable, however broken, in linear time."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.agent.tools.web import text_of_html


def spent(page: str) -> float:
    """Processor seconds for a page: the least of three runs, since the machine is shared."""
    found = []
    for _ in range(3):
        started = process_time()
        text_of_html(page)
        found.append(process_time() - started)
    return min(found)


@pytest.mark.parametrize(
    "piece",
    [
        "<a ", "<a", "<!--", "<!", "<![", "<![if ", "<?x ", "</", "</a ", "<", "&#", "&", "<a href='",
        '<a b="', "<a b=", "<script>", "<title>a<b>", "<svg>", "<br>", "\n<p>", "a<a =\"'",
    ],
)  # fmt: skip
def test_four_times_the_page_takes_about_four_times_the_work(piece: str) -> None:
    small = spent(piece * 3_000)
    assert spent(piece * 12_000) < 9 * small + 0.01


def test_silent_parts_that_are_closed_by_others_take_no_longer_than_other_tags() -> None:
    small = spent("<svg>" * 3_000 + "</object>" * 3_000)
    assert spent("<svg>" * 12_000 + "</object>" * 12_000) < 9 * small + 0.01


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>see <![ here</p>", "see <![ here"),
        ("a<![ x]", "a<![ x]"),
        ("a <!x[ y", "a <!x[ y"),
        ("<![if gte mso 9]>a<![endif]>", "a"),
        ("<!DOCTYPE html>a<?php b ?>", "a"),
        ("1 < 2 <3 </> b", "1 < 2 <3 </> b"),
        ("a <b", "a <b"),
        ("a<!-->b<!--c--!>d<!-- never closed", "abd"),
        ("&#" + "9" * 5_000 + "; &amp;", "&#" + "9" * 5_000 + "; &amp;"),
        ("&eacute;&lt;p&gt;", "é<p>"),
    ],
)
def test_what_is_no_markup_is_shown_as_it_is(page: str, text: str) -> None:
    assert text_of_html(page) == text


def test_a_tag_ends_behind_its_values_in_quotes() -> None:
    assert text_of_html("<a title='1 > 2' b = \"<p>\">sea</a><a b='>air") == "seaair"


def test_scripts_styles_and_silent_parts_are_left_out() -> None:
    page = "<script>if (a<b) '</p>'</SCRIPT >a<style>b</style><svg><object>c</svg>d<script/>e<iframe src=/x/>"
    assert text_of_html(page) == "ade"


def test_a_head_that_is_not_closed_ends_where_the_body_begins() -> None:
    assert text_of_html("<html><head><title>Sea</title><style>x</style><body><p>high") == "Sea\n\nhigh"
    assert text_of_html("<svg><body>no</svg><p>high") == "high"


def test_headings_lists_and_what_is_set_already_keep_their_shape() -> None:
    page = "<title> The\nSea </title><H2 class=x>Tides</H2><ul><li>low<li>high</ul><pre>a\n  b</pre>c<br/>d"
    assert text_of_html(page) == "The Sea\n\n## Tides\n\n- low\n- high\n\na\nb\n\nc\nd"


@given(st.text("<>!-/?[]&#;='\" abp", max_size=60))
def test_any_text_can_be_read(page: str) -> None:
    text = text_of_html(page)
    if "<" not in page and "&" not in page:
        assert text.split() == page.split(), "without markup nothing is lost"
