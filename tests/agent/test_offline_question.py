"""Sorting prompts into kinds, and ranking lines."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.agent.offline.turn import MAX_TERMS, Found, Passage, passages, ranked, term_pattern, understand


@pytest.mark.parametrize(
    ("prompt", "kind"),
    [
        ("what does this project do?", "overview"),
        ("Explain this codebase", "overview"),
        ("summarize the repository", "overview"),
        ("what is this folder about", "overview"),
        ("list all files", "list"),
        ("which files are there?", "list"),
        ("open Makefile", "read"),
        ("show errors", "general"),
        ("show me the parser", "general"),
        ("find all **/*.md", "find"),
        ("search for overdraft fee", "search"),
        ("what did you tell me about taxes?", "conversation"),
        ("do you remember the port?", "conversation"),
        ("how is the window measured?", "general"),
        ("what does ledger/budget.py do in this project?", "general"),
        ("", "general"),
    ],
)
def test_kinds(prompt: str, kind: str) -> None:
    assert understand(prompt).kind == kind


def test_terms_are_the_telling_words_code_names_first() -> None:
    question = understand(
        "How does the importer handle `sunday rule` when parse_row() sees dates in import.py?"
    )
    assert question.terms[:3] == ("sunday rule", "parse_row", "import.py")
    assert {"importer", "handle"} & set(question.terms)
    assert question.files == ("import.py",)


@pytest.mark.parametrize(
    ("term", "line"),
    [
        ("compaction", "def compact(view):"),
        ("bookings", "a booking"),
        ("cat", "the cat sat"),
        ("a.b", "x = a.b"),
    ],
)
def test_a_pattern_meets_other_forms_of_the_word(term: str, line: str) -> None:
    assert re.search(term_pattern(term), line)


def test_a_short_term_does_not_match_inside_words() -> None:
    assert not re.search(term_pattern("cat"), "concatenate")


@given(st.text(max_size=400))
def test_any_prompt_is_understood_and_gives_valid_patterns(prompt: str) -> None:
    question = understand(prompt)
    assert len(question.terms) <= MAX_TERMS
    for term in question.terms:
        re.compile(term_pattern(term))


def test_lines_are_collected_once_and_the_whole_line_wins() -> None:
    found = [
        Found("grep", {}, "a.py:2: start …[line cut]\nb.py:1: other\n[more hits exist]", True),
        Found("read_file", {"path": "./a.py"}, "1\tfirst\n2\tstart and end", True),
        Found("read_file", {"path": "gone.py"}, "1\tnot a file", False),
    ]
    assert passages(found) == [
        Passage("a.py", 1, "first"),
        Passage("a.py", 2, "start and end"),
        Passage("b.py", 1, "other"),
    ]


def test_rare_words_and_definitions_rank_first() -> None:
    lines = [
        Passage("a.py", 1, "budget budget budget"),
        Passage("a.py", 2, "the budget of the year"),
        Passage("b.py", 1, "x = overdraft(1)"),
        Passage("b.py", 2, "def overdraft(fee)"),
        Passage("c.py", 1, "nothing of it"),
        *(Passage("d.py", number, f"budget {number}") for number in range(1, 6)),
    ]
    order = ranked(lines, ["overdraft", "budget"])
    assert order[0] == lines[3]
    assert lines[4] not in order
    assert ranked([], ["x"]) == []
    assert ranked(lines, []) == []


@pytest.mark.parametrize(
    ("prompt", "kind", "path", "pattern"),
    [
        ("run: pytest -q", "run", ".", "pytest -q"),
        ("Run:ls | wc -l", "run", ".", "ls | wc -l"),
        ("write notes.md: one\ntwo", "write", "notes.md", "one\ntwo\n"),
        ("write a/b.txt:\nx", "write", "a/b.txt", "x\n"),
    ],
)
def test_orders_have_just_one_form(prompt: str, kind: str, path: str, pattern: str) -> None:
    question = understand(prompt)
    assert (question.kind, question.path, question.pattern) == (kind, path, pattern)


@pytest.mark.parametrize(
    "prompt",
    [
        "please run: ls",
        "run the tests",
        "run:",
        "run: ls\nrun: rm x",
        "write a test: for x",
        "write notes.md",
        "the run: ls",
    ],
)
def test_nothing_is_read_into_prose(prompt: str) -> None:
    assert understand(prompt).kind not in ("run", "write")
