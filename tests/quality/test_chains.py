"""Chains of compactions with all kinds of writers: first the judge itself, then the targets."""

import asyncio
import re
from functools import cache

import pytest
from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, says, shell, user
from tests.quality import falsehoods as planted
from tests.quality.chain_judge import Chain, judged_chain, standing, true_share
from tests.quality.chain_report import chain_table
from tests.quality.falsehoods import KINDS, falsehoods, spelt, turned
from tests.quality.happenings import Fact, happenings_of
from tests.quality.wordings import ENGLISH, FOREIGN, HEADINGS, worded
from tests.quality.writers import ACCEPTED, COMMANDS, REFUSED, TERSE, WRITERS
from tui_app.context.counting.encodings import TextCounter

TEXT = TextCounter("o200k_base")
"""Four characters per token, so no tokenizer has to be loaded."""
RULES = (
    "Never touch the migrations folder.",
    "Always use tabs in the templates.",
    "Die Fahrpläne dürfen nie gelöscht werden.",
    "Не трогай папку harbour, никогда не меняй её.",
)
OPEN = "ValueError: no berth in timetable.py"
MARK = " (not in the log)"


def page(turn: int) -> list[ModelMessage]:
    menu = {"file_path": f"/w/site/menu{turn % 9}.py", "old_string": "a", "new_string": "tideTable"}
    path, test = f"/w/site/pages/page{turn}.py", f"pytest pages/test_page{turn}.py"
    seen = " ".join(f"row {turn}-{line} legacyCell{turn * 100 + line}();" for line in range(220))
    return [
        *call("Read", {"file_path": f"/w/old/page{turn}.html"}, seen),
        *call("Write", {"file_path": path, "content": f"berthLimit{turn} = {turn + 11}\n"}, "File created"),
        *call("Edit", menu),
        *shell(
            test, f"{turn + 3} passed in 0.4s at pages/test_page{turn}.py:{turn + 40}\n" + "log line\n" * 260
        ),
        *says(f"Page {turn} is done: renderPage{turn} draws it."),
    ]


@cache
def session(pages: int = 30) -> tuple[ModelMessage, ...]:
    messages = [*user(f"Build the harbour's site, page by page. {' '.join(RULES)}"), *says("I begin.")]
    messages += shell("make timetable", f"{OPEN}\nexit code 1", "failed")
    messages += shell("rm /w/site/draft.py")
    for turn in range(pages):
        messages += page(turn)
        if turn % 20 == 5:
            messages += user(f"Put the menu of page {turn} on the left. Must not overlap the map.")
    messages += shell("make lint", "error: unused import\nexit code 1", "failed")
    messages += shell("make lint", "clean")
    return (*messages, *says("The pages are there."), *user("Now the start page."))


@cache
def chain(writer: str) -> Chain:
    return asyncio.run(judged_chain(session(16), writer, TEXT, window=16_000))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- a.py was deleted.", "silent"),
        ("- a.py was deleted. (#12)", "silent"),
        ("- a.py was deleted (#12, #40).", "silent"),
        ("- a.py was deleted. (#12: edited 2× (see above))", "stated"),
        ("- a.py was deleted. (unchecked)", "unchecked"),
        ("- a.py was deleted (not in the log).", "not in the log"),
        ("- `x` ran. (#3) a.py was deleted. (not in the log) Then more. (#4)", "not in the log"),
        ("It rained. (not in the log) a.py was deleted. (#5) More. (unchecked)", "silent"),
        ("a.py was deleted. (not in the log)\na.py was deleted.", "silent"),
        ("Nothing of it.", "absent"),
    ],
)
def test_what_is_said_behind_a_sentence(text: str, found: str) -> None:
    assert standing("a.py was deleted.", text) == found


def test_a_list_is_looked_for_below_its_heading() -> None:
    claim = "### Deleted\n- a.py"
    assert standing(claim, "### Edited\n- a.py · edited") == "absent"
    assert standing(claim, "### Deleted\n\n- a.py") == "silent"
    assert standing(claim, "### Deleted\n- a.py (not in the log)") == "not in the log"
    assert standing("| a.py | gone |", "| a.py | gone (unchecked) |") == "unchecked"


def test_facts_of_a_stretch() -> None:
    log = happenings_of(session(3))
    wanted = (
        Fact("created", "/w/site/pages/page2.py"),
        Fact("edited", "/w/site/menu1.py"),
        Fact("deleted", "/w/site/draft.py"),
        Fact("read", "/w/old/page0.html"),
        Fact("passed", "pytest pages/test_page1.py"),
        Fact("mended", "make lint"),
        Fact("open", "make timetable", OPEN),
        Fact("count", "pytest pages/test_page1.py", "4"),
        Fact("setting", "berthLimit2", "13|/w/site/pages/page2.py"),
        Fact("line", "pages/test_page1.py", "41"),
        *(Fact("rule", rule) for rule in RULES),
    )
    assert [fact for fact in wanted if fact not in log.facts] == []
    assert not [fact for fact in log.facts if fact.kind == "deleted" and "page" in fact.subject]


def test_every_kind_is_planted_in_many_words() -> None:
    log = happenings_of(session())
    turns = [falsehoods(log, turn) for turn in range(13)]
    for each in turns:
        assert [falsehood.kind for falsehood in each] == list(KINDS)
    for kind in KINDS:
        said = {falsehood.text for each in turns for falsehood in each if falsehood.kind == kind}
        assert len(said) >= 12, kind
        assert not any(text in log.text for text in said)
    names = ("EDITED", "DELETED", "FAILS", "WORKS", "TESTS", "PATHS", "SETTINGS", "LINES", "SOLVED", "RULES")
    for name in (*names, "LIFTED", "WISHES"):
        wordings = getattr(planted, name)
        assert len(set(wordings)) >= 8, name


def test_no_falsehood_is_true() -> None:
    log = happenings_of(session())
    for falsehood in (each for turn in range(39) for each in falsehoods(log, turn)):
        if falsehood.kind == "edited":
            assert not any(path in falsehood.text for path in log.changed)
        elif falsehood.kind == "deleted":
            assert "/w/site/draft.py" not in falsehood.text
        elif falsehood.kind == "tests":
            numbers = re.findall(r"\d+", falsehood.text)
            assert not {int(number) for number in numbers} & log.told_counts
        elif falsehood.kind == "solved":
            assert "make lint" not in falsehood.text
        elif falsehood.kind == "rule":
            assert falsehood.text not in RULES


def test_rules_are_turned_and_numbers_spelt() -> None:
    assert turned("Never touch it.") == "Always touch it."
    assert turned("Die Pläne nie löschen.") == "Die Pläne immer löschen."
    assert turned("Make it blue.") == ""
    assert [spelt(number) for number in (0, 14, 30, 42, 412)] == [
        "zero",
        "fourteen",
        "thirty",
        "forty-two",
        "four hundred twelve",
    ]


def test_every_language_can_say_every_fact() -> None:
    kinds = {kind for kinds in HEADINGS.values() for kind in kinds}
    for language in (ENGLISH, *FOREIGN):
        assert language.keys() == kinds
        for kind in kinds:
            assert "a.py" in worded(Fact(kind, "a.py", "7|b.py"), language)
    assert (len(set(COMMANDS)) >= 8, len(set(TERSE)) >= 6) == (True, True)


def test_the_true_share_is_a_mean_of_four() -> None:
    log = happenings_of(session(2))
    assert true_share(log, "") == 0.0
    assert true_share(log, log.text) == pytest.approx(1.0, abs=0.1)
    assert true_share(log, "\n".join(RULES)) == pytest.approx(0.25)


def test_the_table_has_a_row_for_every_writer() -> None:
    rows = chain_table([Chain(name) for name in WRITERS])
    assert all(f"| {name} |" in rows for name in WRITERS)


def test_five_compactions_are_made_with_every_writer() -> None:
    assert {name: chain(name).compactions for name in WRITERS} == dict.fromkeys(WRITERS, 5)


def test_what_is_planted_is_of_every_kind() -> None:
    assert chain("lying").planted.keys() == set(KINDS)


def test_few_falsehoods_stand_silent() -> None:
    """Falsehoods that structure cannot decide, such as a rule called lifted; 5% in real sessions."""
    chains = [chain("lying"), chain("lying, with sources")]
    planted, silent = (
        sum(sum(getattr(one, of).values()) for one in chains) for of in ("planted", "unmarked")
    )
    assert silent <= 0.06 * planted, [complaint for one in chains for complaint in one.complaints]


def test_no_order_stands_silent() -> None:
    assert not chain("commanding").unmarked, chain("commanding").complaints


@pytest.mark.parametrize("writer", ACCEPTED)
def test_true_sentences_are_not_accused(writer: str) -> None:
    assert chain(writer).alarms == 0, chain(writer).complaints


@pytest.mark.parametrize("writer", REFUSED)
def test_what_is_no_summary_is_refused(writer: str) -> None:
    assert chain(writer).refused == chain(writer).compactions, chain(writer).complaints


@pytest.mark.parametrize("writer", ACCEPTED)
def test_a_true_summary_is_never_refused(writer: str) -> None:
    assert chain(writer).refused == 0, chain(writer).complaints


@pytest.mark.parametrize("writer", ACCEPTED)
def test_what_a_true_summary_says_is_still_there(writer: str) -> None:
    assert chain(writer).unchecked <= 0.25 * chain(writer).said
    assert chain(writer).said >= 0.9 * chain(writer).wanted, chain(writer).complaints


@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_the_first_stretch_are_named_with_their_verbs(writer: str) -> None:
    files = chain(writer).files
    assert files is not None
    assert files == 1.0


@pytest.mark.parametrize("writer", WRITERS)
def test_rules_stand_word_for_word(writer: str) -> None:
    assert chain(writer).rules == 1.0


@pytest.mark.parametrize("writer", WRITERS)
def test_no_more_is_told_as_kept_than_is(writer: str) -> None:
    too_high = chain(writer).too_high
    assert too_high is not None
    assert abs(too_high) <= 0.02


@pytest.mark.parametrize("writer", WRITERS)
def test_the_view_is_a_part_of_the_log(writer: str) -> None:
    assert chain(writer).size <= 0.4
