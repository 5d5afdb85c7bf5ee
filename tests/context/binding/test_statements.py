"""Splitting notes into statements by form, in any language, and what of each can be looked up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.binding.statements import anchors_in, statements


@pytest.mark.parametrize(
    ("notes", "cut"),
    [
        ("One thing. Another one! A third?", ["One thing.", "Another one!", "A third?"]),
        ("## Intent\n- a first\n* a second\n3. a third", ["a first", "a second", "a third"]),
        ("**Where it stands**\nIt works.", ["It works."]),
        ("- **Files**:\n  - a.py is new", ["a.py is new"]),
        ("- [x] done\n- [ ] not done", ["done", "not done"]),
        ("| file | deed |\n|------|------|\n| a.py | edited |", ["a.py | edited"]),
        ("Before.\n```\nnot a statement.\n```\nBehind.", ["Before.", "Behind."]),
        ("> quoted line\n\n---\n***", ["quoted line"]),
        ("See e.g. src/a.py vs. b.py, step 2. of it.", ["See e.g. src/a.py vs. b.py, step 2. of it."]),
        ("Run `a. b` now. Then stop.", ["Run `a. b` now.", "Then stop."]),
        ("先写测试。然后提交。", ["先写测试。", "然后提交。"]),
        ("Готово. Тесты прошли.", ["Готово.", "Тесты прошли."]),
        ("हो गया। अब आगे।", ["हो गया।", "अब आगे।"]),
        ("Done. (#3) Next is b.py (#4).", ["Done.", "Next is b.py."]),
        ("Done. (#3: exit 2) (unchecked) And more. …", ["Done.", "And more."]),
        ("", []),
        ("123\n---", []),
    ],
)
def test_notes_are_cut_by_form(notes: str, cut: list[str]) -> None:
    assert [statement.text for statement in statements(notes)] == cut


def test_a_statement_knows_its_heading_and_its_line() -> None:
    found = list(statements("## Intent\n- one\n\n### Next\n\nTwo. Three."))
    assert [(one.heading, one.line) for one in found] == [("Intent", 1), ("Next", 5), ("Next", 5)]


@pytest.mark.parametrize(
    ("line", "sources"),
    [
        ("It works (#12).", (12,)),
        ("It works. (#12, #40)", (12, 40)),
        ("It works (#12; #40–#42)", (12, 40, 41, 42)),
        ("It works [#12]", (12,)),
        ("它能用（#12、#40）", (12, 40)),
        ("It works (messages #12 and more)", ()),
        ("It works (see #12)", (12,)),
        ("It works (#12: exit 2, 3 failed)", (12,)),
        ("Issue #12 is about it", ()),
        ("It works", ()),
    ],
)
def test_the_messages_that_a_statement_gives(line: str, sources: tuple[int, ...]) -> None:
    [statement] = statements(line)
    assert statement.sources == sources


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("`src/a.py` holds `retry_limit`", ["path src/a.py", "code retry_limit"]),
        ("src/a.py, ./b/c.ts and /etc/hosts", ["path src/a.py", "path ./b/c.ts", "path /etc/hosts"]),
        ("…/a.py and …/web/b.py", ["path a.py", "path …/web/b.py"]),
        ("run `pytest -q` again", ["code pytest -q"]),
        ("see https://a.example/x.", ["address https://a.example/x"]),
        ('he said "never touch it" then', ["quote never touch it"]),
        ("er sagte „nie anfassen bitte“", ["quote nie anfassen bitte"]),
        ("工单写道「永远不要碰它的代码」", ["quote 永远不要碰它的代码"]),
        (
            "parse_level() and MAX_ROWS in CartStore",
            ["name parse_level()", "name MAX_ROWS", "name CartStore"],
        ),
        ("version 2.3.1, 12,500 rows and 94%", ["name 2.3.1", "number 12,500", "number 94"]),
        ("commit 9f8e7d6", ["name 9f8e7d6"]),
        ("node.js and/or e.g. this", []),
        ("the 2nd one, 3. Juli", ["number 3"]),
        ("nothing at all", []),
    ],
)
def test_names_numbers_paths_commands_and_quotes(text: str, anchors: list[str]) -> None:
    assert sorted(f"{anchor.kind} {anchor.text}" for anchor in anchors_in(text)) == sorted(anchors)


@pytest.mark.parametrize(
    ("text", "strict"),
    [
        ("`retry_limit`", True), ("`limit`", False), ("src/a.py", True), ("read/write", False),
        ('"as it is written there"', True), ('"soon"', False), ("MAX_ROWS", True), ("GitHub", False),
        ("2.3.1", True), ("42", True),
    ],
)  # fmt: skip
def test_what_says_of_itself_that_it_is_literal(text: str, strict: bool) -> None:
    assert [anchor.strict for anchor in anchors_in(text)] == [strict]


_NOTES = st.text("ab. #*-|`(123)\n:_>“”\t。…/", max_size=80) | st.text(max_size=80)


@given(_NOTES)
def test_statements_follow_each_other_in_the_text(notes: str) -> None:
    end = 0
    for statement in statements(notes):
        assert end <= statement.start < statement.end <= len(notes)
        assert notes[statement.start : statement.end].startswith(statement.text[:1])
        end = statement.end
