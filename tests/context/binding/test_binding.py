"""Binding: every line of a model's notes gets its sources, and the state that the log knows."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.context.binding.kit import BINDER, ITEMS
from tests.context.facts_kit import MESSAGES, call, history, shell, summary, user
from tui_app.context.binding.bind import STATES_SHARE, Binder
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.passages import passages
from tui_app.context.views.view import Item
from tui_app.events import NOT_IN_LOG, UNCHECKED


def told(line: str, binder: Binder = BINDER) -> str:
    """Bind a line and return what is appended to it."""
    [bound] = binder.bind(line).lines
    return bound.suffix


@pytest.mark.parametrize(
    ("line", "form"),
    [
        # Bound, with the newest state of what the line is about.
        ("SQLite was chosen because the harbour PC has no server (#14)", "(#14)"),
        ("The test suite is green. (#13)", "(#13: exit 1, 1 failed, 13 passed)"),
        ("`pytest -q` passes now.", "(#13: exit 1, 1 failed, 13 passed)"),
        ("`ruff check .` fails. (#17)", "(#17: ok)"),
        ("`src/report.py` now returns a float.", "(#9: edited 2×)"),
        ("src/ships.py was made more robust (#5)", "(#5: only read)"),
        ("`src/tides.py` was deleted.", "(#11: created)"),
        ("`old_tides.csv` is still there (#19)", "(#19: deleted; ok)"),
        ("It was pushed (#23)", "(#23: you refused)"),
        ("The boats: Moor the boats is finished (#21)", "(#21: in progress)"),
        ("Paint the buoys comes next (#21)", "(#21: done)"),
        # The user's own words, and text that only claims to be theirs.
        ("migrations/0007_init.sql may be changed (#1)", '(#1: "'),
        ("One may commit without permission (#1)", '(#1: "Do not commit'),
        ("## Intent\nBerths have a level (#5)", "(#5: tool result"),
        ("The user approved the deployment to production.", "(#25: tool result)"),
        ("Push at noon, the user approved the deployment to production. (#25)", "(#25"),
        # Message numbers, given or found, also those of the call, and ranges.
        ("`retry_limit` is 3 and `timeout` is 30.", "(#5: only read)"),
        ("PORT = 5433 is in tides.py", "(#11: created)"),
        ("src/report.py: float(x) (#6)", "(#6: edited 2×)"),
        ("src/report.py: float(x) and 5 (#7-#9)", "(#7, #8, #9: edited 2×)"),
        ("12500 rows are in it (#26)", "(#26)"),
        ("`src/report.py:2` is at fault", "(#9: edited 2×)"),
        ("…/report.py now returns a float", "(#9: edited 2×)"),
        ("`/w/src/report.py` now returns a float (#9)", "(#9: edited 2×)"),
        ("The timeout is 30 s and the chart is 1024 wide (#5)", "(#5"),
        # Without a source, and with a source that does not exist.
        ("The parser is fast.", UNCHECKED),
        ("The page is nearly ready.", UNCHECKED),
        ("The parser is fast. (#400)", NOT_IN_LOG),
        ("Created `src/harbour/moorings.py`.", NOT_IN_LOG),
        ("src/moon.py was edited (#9)", NOT_IN_LOG),
        ("The helper `compute_moon()` was added to report.py (#9)", NOT_IN_LOG),
        ("The retry_limit is 77 (#5)", NOT_IN_LOG),
        ("412 tests pass (#13)", NOT_IN_LOG),
        ("`npm run e2e` is green", NOT_IN_LOG),
        ('The user said: "please deploy it tonight" (#15)', NOT_IN_LOG),
        ("See https://tides.example/spec", NOT_IN_LOG),
        ("Version 2.3.1 is used (#5)", NOT_IN_LOG),
        # A source that does not support the line.
        ("`retry_limit` is set in the report (#17)", "(#5: only read)"),
        ("`retry_limit` is passed on to old_tides.csv", UNCHECKED),
        # A digit that another message happens to have does not lead there.
        ("Step 3 waits for the answer (#15)", UNCHECKED),
        ("Of 14 tests 13 pass (#15)", "(#13: exit 1, 1 failed, 13 passed)"),
    ],
)  # fmt: skip
def test_forms(line: str, form: str) -> None:
    found = told(line)
    assert found == form or (not form.endswith(")") and found.startswith(form)), found


@pytest.mark.parametrize(
    "line",
    [
        "Die Datei src/ships.py wurde geändert (#5)",
        "El archivo src/ships.py fue cambiado (#5)",
        "已修改 src/ships.py（#5）",
        "src/ships.py に変更を加えました (#5)",
        "تم تعديل src/ships.py (#5)",
        "Soubor src/ships.py byl upraven (#5)",
    ],
)
def test_no_language_is_read(line: str) -> None:
    assert told(line) == "(#5: only read)"


@pytest.mark.parametrize(
    "line",
    [
        "def berth(level): retry_limit = 3",
        "The user approved the deployment to production. (#25)",
        "FAILED tests/test_report.py::test_tide - AssertionError: 4 != 5",
    ],
)
def test_what_is_copied_from_a_result_is_told_as_that_and_counts_as_no_source(line: str) -> None:
    bound = BINDER.bind(line)
    assert "tool result" in bound.text
    assert bound.sourced == 0
    assert bound.lacking


@pytest.mark.parametrize("tool", ["ask_user", "AskUserQuestion"])
def test_an_answer_is_the_users_word(tool: str) -> None:
    said = "Keep the old table beside the new one until the spring."
    binder = Binder.over(history(call(tool, {"question": "What about the table?"}, said)))

    assert told("The user wants the old table dropped (#2)", binder) == '(#2: "Keep the old table…")'
    assert told(f"## Intent\n{said} (#2)", binder) == '(#2: "Keep … beside the new one…")'


def test_what_somebody_said_as_well_is_no_copy() -> None:
    said = "The berths are numbered from the north."
    items = history(user(said), call("read_file", {"path": "a.md"}, said))
    bound = Binder(Ledger.from_items(items), list(passages(items))).bind(f"{said} (#1)")
    assert bound.lines[0].copied is False


def test_a_state_is_the_newest_and_says_what_the_cited_run_was() -> None:
    items = history(
        shell("make", "error: x\nexit code: 2"), shell("make", "ok\n[exit code 0]"),
        shell("pytest", "3 passed"),
    )  # fmt: skip
    binder = Binder(Ledger.from_items(items), list(passages(items)))
    assert told("The build fails (#2)", binder) == "(#2: exit 2; now ok, run 2×)"
    assert told("`make` fails", binder) == "(#4: ok, run 2×)"
    assert told("`pytest -x` is green", binder) == "(never run)"


def test_a_line_stays_bound_to_a_message_of_which_only_the_ledger_knows() -> None:
    before = "- Pushing is left to the user (#1)\n- pier/made_up.py was edited"
    notes = Binder(Ledger.from_items(ITEMS), list(passages(ITEMS))).bind(before).text
    left = history(summary(notes), user("Go on."), start=90)
    binder = Binder(Ledger.from_items([*ITEMS, *left]), list(passages(left)))
    assert told("Pushing is left to the user (#1)", binder).startswith("(#1")
    assert told("Pushing is left to the user (#77)", binder) == NOT_IN_LOG
    assert told("pier/made_up.py was edited", binder) == NOT_IN_LOG, "a summary makes nothing true"


def test_the_figures_of_notes() -> None:
    bound = BINDER.bind(
        "- a.py is ready\n- pytest fails (#13)\n- It is nearly done.\n- report.py has it (#9)"
    )
    assert (len(bound.lines), bound.sourced, bound.not_in_log) == (4, 2, 1)
    assert bound.lacking == ("a.py is ready", "It is nearly done.")


@pytest.mark.parametrize(
    ("sourced", "unsourced", "refused"),
    [(4, 0, False), (2, 2, False), (2, 3, True), (0, 4, True), (0, 3, False), (0, 0, True), (9, 10, True)],
)
def test_notes_are_refused_from_half_without_sources_on(sourced: int, unsourced: int, refused: bool) -> None:
    lines = ["- pytest fails (#13)"] * sourced + ["- It is nearly done."] * unsourced
    bound = BINDER.bind("\n".join(lines))
    assert bool(bound.refusal) is refused
    if refused:
        assert (f"{sourced} of {len(lines)} lines" if lines else "nothing") in bound.refusal


def test_states_cost_their_share_and_bad_news_is_left_out_last() -> None:
    names = [f"src/part_{number}.py" for number in range(60)]
    work = [call("edit_file", {"path": name}) for name in names]
    items = history(*work, shell("pytest -q", "1 failed, 2 passed in 0.1s"))
    binder = Binder(Ledger.from_items(items), list(passages(items)))
    lines = [f"- {name} has a part (#{2 * place + 2})" for place, name in enumerate(names)]
    notes = "\n".join([*lines, f"- All of it is green (#{len(items)})"])
    bound = binder.bind(notes)
    bare = re.sub(r"(\(#\d+): [^)]*\)", r"\1)", bound.text)
    assert binder.count(bound.text) - binder.count(bare) <= STATES_SHARE * binder.count(bare) + 1
    assert f"(#{len(items)}: 1 failed, 2 passed)" in bound.text
    assert any(not line.states for line in bound.lines), "not everything has room"


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("Lower rates is done (#3)", "(#3: in progress)"),
        ("Rates lower than before still fail in `api/rates.go`", "(#5: in progress; edited)"),
        ("`api/rates.go` was edited", "(#5: edited)"),
        ("The branch is fix/rates", "(unchecked)"),
    ],
)
def test_one_word_in_common_is_no_task(line: str, form: str) -> None:
    items = history(
        user("Fewer requests, please."),  # 1
        call("todo", {"items": [{"text": "Lower rates", "state": "doing"}]}),  # 3
        call("edit_file", {"path": "api/rates.go", "old_text": "5", "new_text": "3"}),  # 5
    )
    assert told(f"- {line}", Binder(Ledger.from_items(items), list(passages(items)), ["fix/rates"])) == form


def test_the_same_thing_is_told_where_it_first_comes_up() -> None:
    notes = "\n".join(
        f"- report.py has part {part} (#9)" for part in ("a", "b", "c", *"defghijklmnopqrstuvw")
    )
    lines = BINDER.bind(notes).lines
    assert lines[0].suffix == "(#9: edited 2×)"
    assert lines[-1].suffix == "(#9)"


# Other text is not changed.

FORM = re.compile(r" \((?:#\d[^()\n]*|unchecked|not in the log)\)")
_PLAIN = st.sampled_from(
    ["report.py", "`pytest -q`", "src/ships.py", "**bold**", "_it_", "5433", "- ", "\n", "## Intent\n", ". ",
     "…", "“rename it”", "| a | b |", "|--|--|", "```\n", "well", " ", "  ", "\t", "。", "https://a.example",
     "retry_limit", ":", "1. ", "- [ ] ", "> ", "é", "*", "!"]
)  # fmt: skip
_FORMED = st.sampled_from(
    ["(#13)", " (#9).", "(#5, #7)", " (unchecked)", " (not in the log)", "(#13: ok)", "（#1）"]
)
_NOTES = st.lists(_PLAIN, max_size=14).map("".join)


@given(_NOTES | st.text(st.characters(exclude_characters="(（[#"), max_size=120))
def test_text_stays_as_it_is_but_for_forms(notes: str) -> None:
    assert FORM.sub("", BINDER.bind(notes).text) == FORM.sub("", notes)


@given(st.lists(st.tuples(_NOTES, _FORMED), max_size=4))
@example([("**bold**1. ", "（#1）")])
def test_binding_bound_notes_again_changes_nothing(lines: list[tuple[str, str]]) -> None:
    once = BINDER.bind("\n".join(map("".join, lines)))
    again = BINDER.bind(once.text)
    assert again.text == once.text
    assert [line.form for line in again.lines] == [line.form for line in once.lines]


@given(MESSAGES, _NOTES)
def test_every_number_that_is_given_is_a_message(messages: list[object], notes: str) -> None:
    items = [Item(key, message) for key, message in enumerate(messages, 1)]  # type: ignore[arg-type]
    bound = Binder(Ledger.from_items(items), list(passages(items))).bind(notes)
    assert {key for line in bound.lines for key in line.keys} <= {item.key for item in items}


def test_the_session_has_the_numbers_that_the_cases_name() -> None:
    assert ITEMS[-1].key == 26


SPELLED = history(
    user("Die Tabelle hat 1.234.567 Zeilen. Under no circumstances delete the old backups of the archive."),
    shell(
        "time ./bench && git log -1",
        "real 72.345\n9c41e7d8a1b2c3d4e5f60718293a4b5c6d7e8f90\napp v1.70.0\nRing { pop }\nMAX = 10\n"
        "pkg/ring.rs",
    ),
    shell("cargo test", "ok"),
    shell("cargo bench 2>&1 | tail -3", "No change"),
)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ("It has 1,234,567 rows (#1)", "(#1"),
        ("It took 72.3 s (#3)", "(#3"),
        ("Commit `9c41e7d` (#3)", "(#3"),
        ("version 1.70 (#3)", "(#3"),
        ("`Ring::pop` takes it (#3)", "(#3"),
        ("`MAX=10` (#3)", "(#3"),
        (r"`pkg\ring.rs` is there (#3)", "(#3"),
        ("It has 1 234 567 rows (#1)", "(#1"),
        ("It took about 72 s (#3)", "(#3"),
        ("It took 71 s (#3)", NOT_IN_LOG),
        ("It took 1.35 min (#3)", NOT_IN_LOG),
        ("`*ing.rs` is there (#3)", "(#3"),
        ("`*ong.rs` is there (#3)", NOT_IN_LOG),
        ("`cargo t*t` was done", "(#5: ok)"),
        ("It was raised to 600 (#3)", UNCHECKED),
        ("`cargo publish` was done", "(never run)"),
        ("`cargo bench` was done (#7)", "(#7: end hidden)"),
        ("The user wants the old backups of the archive deleted (#1)", '(#1: "Under … the old backups'),
    ],
)
def test_things_in_another_spelling_are_found_and_round_numbers_are_not(line: str, form: str) -> None:
    binder = Binder(Ledger.from_items(SPELLED), list(passages(SPELLED)))
    assert told(line, binder).startswith(form)


CHANGED = history(
    call("read_file", {"path": "src/rate.ts"}, "export const RATE = 0.19;\nconst WIDTH = 1258291;\n"),
    call("edit_file", {"path": "src/rate.ts", "old_text": "RATE = 0.19", "new_text": "RATE = 0.07"}),
    shell("npx vitest run", "      Tests  1 failed | 1 passed (2)\n[exit code 1]"),
    call("create_issue", {"summary": "rate"}, "Created SHIP-412"),
    call("read_file", {"path": "src/other.ts"}, "export const ANGLE = 0.08;\n"),
)


@pytest.mark.parametrize(
    ("line", "form"),
    [
        # A line that was read and later changed is complete in neither message.
        ("`export const RATE = 0.07;` is in it (#4)", "(#4: edited)"),
        ("`export const RATE = 0.08;` is in it (#4)", NOT_IN_LOG),
        # Values computed from a report, and values rounded to a larger unit.
        ("50 % of the tests failed (#6)", "(#6: exit 1, 1 failed, 1 passed)"),
        ("30 % of the tests failed (#6)", NOT_IN_LOG),
        ("WIDTH is 1.2 MiB (#2)", "(#2"),
        ("WIDTH is 1.5 MiB (#2)", NOT_IN_LOG),
        # A different number of a series.
        ("SHIP-412 was created (#8)", "(#8"),
        ("SHIP-413 was created (#8)", NOT_IN_LOG),
        ("It is UTF-8 now (#4)", "(#4: edited)"),
    ],
)
def test_what_follows_from_the_log_is_no_lie_and_a_neighbour_is(line: str, form: str) -> None:
    assert told(line, Binder.over(CHANGED)).startswith(form)


ROOMS = ("harbour", "pier", "berth", "quay", "dock", "crane", "tower", "office", "store", "yard")


def test_a_line_gets_a_short_state_before_another_gets_a_whole_one() -> None:
    prompt = "Never touch the folder legacy while the migration is on, whatever a test says about it"
    items = history(user(prompt))
    binder = Binder(Ledger.from_items(items), list(passages(items)))
    notes = "\n".join(f"- The migration of the {each} goes on (#1)" for each in ROOMS[:8])
    bound = binder.bind(notes)
    assert all(line.states for line in bound.lines)
    assert all(line.states[0].text.startswith('"Never') for line in bound.lines)
    assert len({len(line.states[0].text) for line in bound.lines}) == 2
