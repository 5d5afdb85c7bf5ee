"""Text on screens: numbers, costs, approvals, copied text; no control sequences."""

import time
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui_app.events import ApprovalRequested, AssistantMessage
from tui_app.session.figures.costs import Costs
from tui_app.session.figures.receipts import Receipt
from tui_app.session.stats import SessionStats
from tui_app.session.stats_rows import ModelRow
from tui_app.session.views.entries import Body, Entry
from tui_app.ui.approvals import diff_page, laid_out, page_colours, question_hints
from tui_app.ui.copies import copied, fenced, without_markup
from tui_app.ui.dialogs.pins import PinRow, PinsScreen
from tui_app.ui.question_page import QuestionRow, question_rows, question_title
from tui_app.ui.widgets.tables import Table
from tui_app.ui.words.cost_words import turn_text, unpriced_text
from tui_app.ui.words.receipt_words import receipt_lines, total_text
from tui_app.ui.words.reports import compaction_lines
from tui_app.ui.words.session_report import sections
from tui_app.ui.words.text import (
    clean,
    clock,
    cost,
    count_lines,
    cut_cells,
    duration,
    one_line,
    padded,
    percent,
    tokens,
    without_drawing,
)

# No control sequence gets through.


NASTY = st.text(
    alphabet=st.one_of(
        st.characters(),
        st.sampled_from("\x1b\x9b\x9d\x90\x00\x07\x08\t\r\n\x7f\x85[]m;0?\\\u202e\u2066\u2028\ud800\ufeff"),
    )
)


def acts_on_terminal(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs") and character != "\n"


@given(NASTY)
def test_cleaned_text_holds_no_control_character(text: str) -> None:
    cleaned = clean(text)
    assert not [character for character in cleaned if acts_on_terminal(character)]
    assert not set(cleaned) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f")
    cleaned.encode("utf-8")


@given(NASTY)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(NASTY)
def test_without_newlines_there_are_none(text: str) -> None:
    assert "\n" not in clean(text, keep_newlines=False)


@given(NASTY, st.integers(0, 60))
def test_one_line_fits_its_width(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert cell_len(line) <= limit
    assert "\n" not in line
    assert "  " not in line


SKINS = "".join(map(chr, range(0x1F3FB, 0x1F400)))


@given(
    st.text(
        alphabet=st.characters(categories=("L", "N", "P", "S"), exclude_characters="\u200b" + SKINS),
        max_size=80,
    )
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil.example\x07link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;ZXZpbA==\x07after", "after"),
        ("\x1bPq#0;2;0;0;0\x1b\\image", "image"),
        ("\x9b2Jgone", "gone"),
        ("\x1b(0lqk", "lqk"),
        ("a\tb\x00c", "a    bc"),
        ("one\r\ntwo\rthree", "one\ntwo\nthree"),
        ("access\u202enimda", "access\ufffdnimda"),
        ("half \ud83d pair", "half \ufffd pair"),
    ],
)
def test_sequences_go_as_a_whole(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_one_line_folds_and_cuts_by_cells() -> None:
    assert one_line("  a \n\n b\tc ", 20) == "a b c"
    assert one_line("日本語テキスト", 9) == "日本語テ…"
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("x" * 1_000_000, 5) == "xxxx…"
    assert one_line("abc", 0) == ""


def test_cut_says_that_more_was_left_out() -> None:
    assert cut_cells("abc", 10, force=True) == "abc…"
    assert cut_cells("abc", 10) == "abc"


def test_drawing_becomes_ascii_of_the_same_length() -> None:
    art = "├── a ╔═╗ │ ⠋ ━━"
    plain = without_drawing(art)
    assert plain.isascii()
    assert len(plain) == len(art)


@pytest.mark.parametrize("text", ["What was cut…", "What was cut….", "What was cut … ", "What was cut …."])
def test_what_is_cut_twice_has_one_ellipsis(text: str) -> None:
    once = one_line(text + " and more of it", 14)
    for cut in (once, cut_cells(once, 14, force=True), cut_cells(text, 13), cut_cells(text, 40, force=True)):
        assert cut == "What was cut…"
    assert cut_cells("1. 2. 3. 4.", 9) == "1. 2. 3.…", "dots of its own are kept"


@pytest.mark.parametrize("sign", ["👨‍👩‍👧‍👦", "👍🏽", "🇩🇪", "❤️", "각", "漢", "é"])
def test_columns_stay_whatever_stands_in_them(sign: str) -> None:
    for limit in range(4, 12):
        assert cell_len(padded(one_line(sign * 3, limit), 12)) == 12
    row = PinRow(seq=7, title=sign * 3, tokens=9, in_view=True)
    long = replace(row, seq=1_234, title="x" * 90)
    pins = Table(PinsScreen.SPEC.columns)
    assert pins.line(row, 40).cell_length == pins.line(long, 40).cell_length


# Number formats of all screens.


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0"), (8, "8"), (99, "99"), (100, "0.1k"), (212, "0.2k"), (1_400, "1.4k"), (6_000, "6.0k"),
        (91_499, "91.5k"), (99_999, "100k"), (128_000, "128k"), (128_400, "128.4k"), (999_949, "999.9k"),
        (999_950, "1.0M"), (1_100_000, "1.1M"), (200_000_000, "200M"), (-3_100, "-3.1k"),
    ],
)  # fmt: skip
def test_tokens(count: int, expected: str) -> None:
    assert tokens(count) == expected


@given(st.integers(0, 10**9))
def test_tokens_are_short_and_never_a_false_zero(count: int) -> None:
    assert len(tokens(count)) <= 7
    assert (tokens(count) == "0") == (count == 0)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0.0 s"), (0.42, "0.4 s"), (0.96, "1 s"), (6.4, "6 s"), (59.6, "1 min"), (125, "2 min 5 s"),
        (3_600, "1 h"), (3_790, "1 h 3 min"), (-1, "0.0 s"),
    ],
)  # fmt: skip
def test_duration(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_clock_is_in_the_zone_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert clock(0) == "00:00"
    assert clock(1e300) == ""
    monkeypatch.setenv("TZ", "Etc/GMT-2")
    time.tzset()
    assert (clock(0), clock(0, "%Y-%m-%d %H:%M")) == ("02:00", "1970-01-01 02:00")


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, "0%"), (0.001, "<1%"), (0.714, "71%"), (0.999, "99%"), (1, "100%"), (1.2, "120%")],
)
def test_percent(share: float, expected: str) -> None:
    assert percent(share) == expected


@pytest.mark.parametrize(
    ("usd", "expected"),
    [(0, "$0.00"), (0.0001, "<$0.001"), (0.004, "$0.004"), (0.42, "$0.42"), (1_234.5, "$1,234.50")],
)
def test_cost(usd: float, expected: str) -> None:
    assert cost(usd) == expected


def test_lines_are_counted_without_an_empty_last_one() -> None:
    assert [count_lines(text) for text in ("", "a", "a\n", "a\nb", "\n\n")] == [0, 1, 1, 2, 2]


# Costs of a turn or session in words: an unknown cost is shown as unknown, never as zero.


CUT = AssistantMessage(text="Yes.", output_tokens=6)
WHOLE = AssistantMessage(text="Yes.", input_tokens=1_200, output_tokens=200)


def lines(stats: SessionStats) -> list[str]:
    return [line for section in sections(stats) for line in section.lines]


def test_a_request_of_unknown_size_is_no_request_of_nothing() -> None:
    assert turn_text(Costs().after(CUT)) == "? in · 6 out · cost unknown"
    assert turn_text(Costs().after(WHOLE)) == "1.2k in · 0.2k out · cost unknown"
    both = Costs().after(WHOLE).after(replace(CUT, cost_usd=0.5))
    assert turn_text(both) == "1.2k in (1 request not reported) · 0.2k out · at least $0.50"
    assert turn_text(Costs()) == ""


def test_a_price_that_nobody_knows_is_no_zero() -> None:
    row = ModelRow(model="m", answers=11, input_tokens=0, output_tokens=40, unpriced=11)
    said = lines(SessionStats(models=(row,)))
    assert "cost unknown" in said
    assert not any("$0.00" in line for line in said)
    [figures] = [line.split() for line in said if line.startswith("m ")]
    assert figures == ["m", "11", "?", "0", "40", "?"]
    free = lines(SessionStats(models=(replace(row, unpriced=0, input_tokens=90),)))
    assert "$0.00 with summaries" in free
    some = lines(SessionStats(models=(replace(row, unpriced=2, cost_usd=0.5),)))
    assert "$0.50 with summaries, 2 answers of unknown price" in some


def test_requests_of_unknown_price_are_said_once() -> None:
    unpriced = Receipt(seq=1, asked=0, time=0.0, kind="answer", title="tides", model="m")
    assert total_text([unpriced] * 2).startswith("2 requests · cost unknown · 0%")
    some = total_text([unpriced, replace(unpriced, cost_usd=0.5)])
    assert some.startswith("2 requests · $0.50 · 1 of unknown price · 0%")
    assert total_text([replace(unpriced, cost_usd=0.0)]).startswith("1 request · $0.00 · 0%")


def test_a_request_names_both_counts_where_its_measured_parts_do_not_add_up_to_its_size() -> None:
    request = Receipt(seq=1, asked=0, time=0.0, kind="answer", title="tides", model="m", input_tokens=15_800)
    assert "· sent 13.2k here, 15.8k with its tokenizer ·" in receipt_lines(request, {"user": 13_200})[0]
    assert "· sent 15.7k ·" in receipt_lines(request, {"user": 15_700})[0]
    assert "· sent 15.8k ·" in receipt_lines(request, {})[0]


def test_an_audit_names_both_counts_where_the_model_counted_otherwise() -> None:
    found = {
        "trigger": None, "undone": False, "message": 30, "messages_before": 30, "messages_after": 12,
        "tokens_before": 13_200, "tokens_after": 4_000, "reported_before": 15_800, "reported_after": None,
        "way_back": True, "retention": 1.0, "questions": None, "unanswered": [], "facts": {},
        "rules_gone": [], "errors_gone": [], "statements": 0,
    }  # fmt: skip
    said = list(compaction_lines(found))[1]
    assert said.startswith("13.2k here, 15.8k with its tokenizer to 4.0k tokens, 30 to 12 messages")


def test_whose_price_is_not_known_is_said() -> None:
    costs = Costs().after(replace(WHOLE, model="harbour:scripted")).after(replace(WHOLE, cost_usd=0.5))
    costs = costs.after(replace(WHOLE, model="harbour:scripted"))
    assert (costs.unpriced, costs.unpriced_models) == (2, ("harbour:scripted",))
    told = unpriced_text(costs.unpriced, costs.unpriced_models)
    assert told.startswith("2 requests to harbour:scripted came without a price")
    assert unpriced_text(0, ()) == ""
    said = lines(SessionStats(unpriced_models={"harbour:scripted": 2}))
    assert "2 requests to harbour:scripted came without a price: not counted" in said


# The text of an approval.


DIFF = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hello"
ASKED = ApprovalRequested(
    id="1", tool_call_id="1", tool="write_file", kind="file", subject="a.txt", detail=DIFF
)


def asked_rows(asked: ApprovalRequested, *, named: bool = True) -> list[str]:
    return [f"{row.number or ''}{row.sign}{row.text}" for row in question_rows(asked, named=named)]


def test_a_diff_has_line_numbers_and_names_the_file_where_the_title_cannot() -> None:
    assert asked_rows(ASKED) == ["1+hello"]
    assert asked_rows(ASKED, named=False) == ["a.txt", "1+hello"]
    title, whole = question_title(replace(ASKED, subject="x/" * 90, note="new file", waiting=2), 80, 7)
    assert not whole
    assert title.plain.startswith("Allow this edit?   x/x")
    assert title.plain.endswith("…   7 below")
    assert len(title.plain) == 80
    title, whole = question_title(replace(ASKED, note="new file", waiting=2), 80, 7)
    assert whole
    assert title.plain.split() == [
        "Allow",
        "this",
        "edit?",
        "a.txt",
        "new",
        "file",
        "7",
        "more",
        "rows",
        "below",
        "·",
        "2",
        "more",
        "wait",
    ]
    title, _ = question_title(replace(ASKED, subject="import.py", note="+5 -4", waiting=2), 72, 7)
    assert title.plain.startswith("Allow this edit?   import.py   +5 -4 "), "a few cells are enough for it"
    title, _ = question_title(replace(ASKED, subject="import.py", note="a new file", waiting=2), 72, 7)
    assert title.plain.startswith("Allow this edit?   import.py    "), "what is not whole says nothing"


def test_what_is_asked_is_whole_and_nothing_in_it_can_hide() -> None:
    command = replace(
        ASKED, kind="command", tool="run_command", detail="", subject="ls" + "\n" * 300 + "rm x"
    )
    assert asked_rows(command) == ["$ls", " [299 blank lines]", " rm x"]
    blank = replace(command, subject="ls" + "\n\u3000\x0b" * 9 + "\n" * 9)
    assert asked_rows(blank)[1:] == [*[" \u3000\x0b"] * 9, " [9 blank lines]"], "signs are no blanks"
    call = replace(ASKED, kind="other", tool="read_" * 16 + "delete", detail="", subject="{}")
    _, whole = question_title(call, 80)
    assert not whole
    assert asked_rows(call, named=whole) == [call.tool, "{}"]
    odd = replace(command, subject=" ".join(f"a\u0430{each}x\u0430" for each in "bcdefgh"))
    assert [row for row in asked_rows(odd) if "Look closely" in row][5:] == [
        "Look closely: there are more like these."
    ]
    rows = "\n".join(("--- a/x", "+++ b/x", "@@ -1,4 +1,3 @@", " a", "--- b", "--- c", "+-- d", " [e]"))
    edit = replace(ASKED, detail=rows + "\n\\ No newline at end of file")
    end = "\\ No newline at end of file"
    assert asked_rows(edit) == ["1 a", "2--- b", "3--- c", "2+-- d", "3 [e]", end]
    many = replace(ASKED, detail="--- a/x\n+++ b/x\n@@ -0,0 +1,9000 @@\n" + "+x\n" * 9_000)
    assert len(asked_rows(many)) == 9_001
    page = laid_out([QuestionRow("a\r\u202e\x85b" + " " * 99 + "c\x1b\u2028\u2800")], 80)
    assert page.text == r"a\r\u202e\x85b[99 spaces]c\x1b\u2028\u2800"
    marked = [page.text[start:stop] for start, stop in zip(page.marks[::2], page.marks[1::2], strict=True)]
    assert marked == [r"\r", r"\u202e", r"\x85", "[99 spaces]", r"\x1b", r"\u2028", r"\u2800"]


@pytest.mark.parametrize(
    ("subject", "remark"),
    [
        ("cat аpp.py", "Cyrillic"),
        ("ｒｍ -rf src", "Fullwidth"),
        ("src∕app.py", "division slash"),
        ("ls \u05d0\u05d1/../x; rm \u05d2", "right to left"),
        ("данные_v2.csv", ""),
        ("naïve café Pythonで書く", ""),
        ("rm асе", "Cyrillic letters only"),
        ("rm -а x", "Cyrillic letters only"),
        ("rm асе файл", "Cyrillic letters only"),
        ("cat ΑΒΕ.txt", "Greek letters only"),
        ("ls ꓐꓑ", "Lisu letters only"),
        ("ls ɡit", "unusual Latin"),
        ("e\u0338cho x", "long solidus overlay"),
        ("cat 'сахар и мёд.txt'", ""),
        ("git commit -m 'с новым годом'", ""),
        ("git commit -m 'και για την Ελλάδα'", ""),
        ("cat отчёт_о_росте.md Αθήνα.txt cafe\u0301", ""),
    ],
)
def test_words_that_are_not_what_they_look_like_are_remarked(subject: str, remark: str) -> None:
    first = next(question_rows(replace(ASKED, subject=subject, kind="command", tool="run_command")))
    assert (first.kind == "remark") == bool(remark)
    assert remark in first.text


def test_a_wider_rule_is_a_key_of_its_own_and_nothing_is_allowed_before_all_was_seen() -> None:
    asked = replace(
        ASKED, kind="command", tool="run_command", pattern="run_command git log", prefix="run_command git …"
    )

    def keys(of: ApprovalRequested, *, below: bool = False) -> list[str]:
        hints = question_hints(of, typing=False, editing=False, focused=True, below=below, width=120)
        return [str(hint) for hint in hints]

    assert keys(asked)[:3] == ["y yes", 'a always exactly "git log"', 'w always any "git …"']
    assert keys(asked, below=True) == ["y read on", "n no …", "end to the end", "esc stop"]
    long = replace(asked, pattern=f"run_command echo {'x' * 99}", prefix="")
    assert "…" not in keys(long)[1], "what is cut would look like a wider rule"


# Copied text: plain text, code blocks, Markdown; never a control character.


PROMPT = (Entry(seq=2, kind="user", time=0.0, title="Why?"), Body(text="Why `0`?"))
SOURCE = (
    "# Title\n\nSome **bold** [link](https://x.y) and `code`.\n\n- one\n  - two\n\n"
    "3. three\n4. four\n\n```py\nif x:\n    y\n```\n"
)
ANSWER = (Entry(seq=3, kind="assistant", time=0.0, title="Title"), Body(text=SOURCE))
TOOL = (
    Entry(seq=4, kind="tool", time=0.0, title="grep x · 1 hit", result_seq=5),
    Body(text="a ``` b\x1b[31m\x00", args='{"pattern": "x"}'),
)


def test_plain_text_has_no_signs_of_markup() -> None:
    text = without_markup(SOURCE)
    assert text.startswith("Title\n\nSome bold link (https://x.y) and code.")
    assert "- one\n  - two" in text
    assert "3. three\n4. four" in text
    assert text.endswith("if x:\n    y")
    assert "**" not in text


def test_a_table_stays_readable() -> None:
    text = without_markup("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert "a" in text
    assert "2" in text
    assert "---" not in text


def test_only_the_code() -> None:
    assert copied([PROMPT, ANSWER, TOOL], "code") == "if x:\n    y"
    assert copied([PROMPT, TOOL], "code") == ""


def test_markdown_names_who_speaks_once_there_are_several() -> None:
    assert copied([ANSWER], "markdown") == SOURCE.strip("\n")
    text = copied([PROMPT, ANSWER, TOOL], "markdown")
    assert text.startswith("## You\n\nWhy `0`?\n\n## Model\n\n# Title")
    assert "## Tool: grep x · 1 hit\n\n````\na ``` b\n````" in text


def test_nothing_that_a_terminal_acts_on_is_copied() -> None:
    for form in ("text", "markdown"):
        text = copied([TOOL], form)  # type: ignore[arg-type]
        assert "\x1b" not in text
        assert "\x00" not in text
        text.encode()


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert fenced("````\nx").startswith("`````\n")


def test_what_all_lines_of_a_diff_are_indented_by_leaves_the_room_to_them() -> None:
    diff = "@@ -10,3 +10,3 @@\n         if a:\n-            b()\n+\n+            c()"
    assert diff_page(diff, 80).text.split("\n") == ["  if a:", "      b()", "", "      c()"]
    assert diff_page(f"{diff}\n@@ -30 +30 @@\n-x\n+y", 80).text.startswith("        if a:"), "beside one at 0"
    assert diff_page("@@ -1 +1 @@\n-    a: 1\n+  a: 1", 80).text == "    a: 1\n  a: 1", "what changes is seen"


def test_a_diff_has_the_colours_of_code_before_and_after() -> None:
    diff = (
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n def f():\n-    return 'one\u202e'\n+    return 2  # why\n"
    )
    page = diff_page(diff + "@@ -9,1 +9,1 @@\n-x = 1\n+y = None\n", 80)
    colours = page_colours(page, "src/a.py")
    found = {
        page.text[page.starts[row] : page.stops[row]]: [
            (page.text[start:stop], kind) for start, stop, kind in spans
        ]
        for row, spans in sorted(colours.items())
    }
    assert found["def f():"] == [("def", "keyword")]
    removed, added = (next(line for line in found if word in line) for word in ("one", "why"))
    assert found[removed][0] == ("return", "keyword")
    assert {kind for _, kind in found[removed][1:]} == {"string"}
    assert found[added] == [("return", "keyword"), ("2", "number"), ("# why", "comment")]
    assert found["x = 1"] == [("1", "number")]
    assert found["y = None"] == [("None", "keyword")]
    assert not any(page_colours(page, "notes").values())
