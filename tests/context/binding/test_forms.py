"""What is appended to statements: the messages they come from, and marks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.binding.forms import bare_text, form_of, message_numbers, numbers_only


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("It works (#12)", "It works"),
        ("It works (#12).", "It works."),
        ("It works. (#12)", "It works."),
        ("It works. (#12).", "It works."),
        ("It works. (#12: exit 2, 3 failed)", "It works."),
        ("It works (#12) (unchecked)", "It works"),
        ("It works (not in the log)", "It works"),
        ("It works (doubtful)", "It works"),
        ("**It works (#12)**", "**It works**"),
        ("**It works**", "**It works**"),
        ("it_works_", "it_works_"),
        ("It works (as planned)", "It works (as planned)"),
        ("它能用（#12）。", "它能用。"),
        ("(#12)", ""),
    ],
)
def test_a_statement_without_its_form(line: str, bare: str) -> None:
    assert bare_text(line) == bare


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("It works. (#12: exit 2)", "#12: exit 2"),
        ("It works (unchecked)", "unchecked"),
        ("- It works (#12, #40)", "#12, #40"),
        ("It works (as planned)", ""),
        ("It works", ""),
    ],
)
def test_a_line_and_its_form(line: str, form: str) -> None:
    bare, found = form_of(line)
    assert found == form
    assert bare == (line if not form else line.removesuffix(f" ({form})"))


@pytest.mark.parametrize(
    ("form", "numbers"),
    [
        ("#12", [12]), ("#12, #40", [12, 40]), ("#12-#14", [12, 13, 14]), ("#12–14", [12, 13, 14]),
        ("#12: run 3× (#9)", [12]), ("#14-#12", [14]), ("unchecked", []),
    ],
)  # fmt: skip
def test_the_messages_of_a_form(form: str, numbers: list[int]) -> None:
    assert list(message_numbers(form)) == numbers
    assert len(list(message_numbers("#1-#999999999"))) < 100, "a range has an end"


def test_what_a_writer_is_given_to_update_has_numbers_alone() -> None:
    notes = (
        "- a (#12: exit 2)\n- b (unchecked)\n- c (not in the log)\n- d (#3, #4)\n- e (in progress)\n- f (x)"
    )
    assert numbers_only(notes) == "- a (#12)\n- b\n- c\n- d (#3, #4)\n- e\n- f (x)"


@given(st.text("ab. (#12)*_:", max_size=40))
def test_taking_a_form_off_twice_is_taking_it_off_once(text: str) -> None:
    assert bare_text(bare_text(text)) == bare_text(text)
    assert form_of(bare_text(text))[1] == ""
