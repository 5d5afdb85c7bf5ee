"""What the user corrected later says so where their words are quoted."""

import asyncio

import pytest

from tests.context.facts_kit import call, says, user
from tests.quality.governed import Governed
from tests.quality.text import text_of
from tui_app.context.compaction.replacement import UserWords, user_words_section
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.facts.observations import Said
from tui_app.context.facts.rules import superseded


def said(*texts: str) -> list[Said]:
    return [Said(10 * place, place, text) for place, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Start the server on port 8080.", "No, port 9090."),
        ("The port is 8080.", "Actually, the port is 9090."),
        ("timeout: 30", "sorry, timeout 60"),
        ("Use `main` as branch.\nThe name of the branch is `main`.", "I meant branch `dev`."),
        ("Use tabs from now on.", "Use tabs no longer."),
    ],
)
def test_a_value_that_was_corrected_is_superseded(old: str, new: str) -> None:
    assert superseded(said(old, "Go on.", new))[0] == (10, old.splitlines()[-1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Start the server on port 8080.", "Also open port 9090."),
        ("Start the server on port 8080.", "No, port 8080 it is."),
        ("Start the server on port 8080.", "No, not port 9090."),
        ("Start the server on port 8080.", "No, is it port 9090?"),
        ("Start the server on port 8080.", "No, the timeout is 60."),
        ("Open port 8080 and port 8081.", "No, port 9090."),
    ],
)
def test_in_doubt_nothing_is(old: str, new: str) -> None:
    assert superseded(said(old, new)) == ()


def test_only_the_value_that_held_last_is_corrected() -> None:
    typed = said("Use port 1111 for tests.", "Start it on port 8080.", "The port is 8080.", "No, port 9090.")
    assert {key for key, _ in superseded(typed)} == {20, 30}


def test_the_quoted_words_say_so_and_stay_word_for_word() -> None:
    words = UserWords(
        prompts=((1, "Start it on port 8080. Then wait."), (9, "No, port 9090.")),
        replaced=((1, "Start it on port 8080."),),
    )
    section = user_words_section(words, "")
    assert "- #1: Start it on port 8080. (replaced later) Then wait.\n- #9: No, port 9090." in section
    told = user_words_section(words, "- First request (#1): Start it on port 8080. Then wait.")
    assert "8080. (replaced later)" in told, "also where the notes hold it as it was said"


def test_it_says_so_after_every_compaction() -> None:
    governed = Governed(TextCounter("o200k_base"), 4_000)
    work = [call("Read", {"file_path": f"src/page{turn}.py"}, "line of text " * 400) for turn in range(8)]
    messages = [
        *user("Build the shop."),
        *says("Yes."),
        *user("Start the server on port 8080."),
        *says("It runs."),
        *user("No, port 9090."),
        *(message for group in work for message in group),
        *says("Done."),
        *user("Go on."),
    ]
    once = asyncio.run(governed.compacted(messages))
    assert "Start the server on port 8080. (replaced later)" in text_of(once)
    longer = [*once, *says("I go on."), *(message for group in work for message in group), *user("And on.")]
    again = asyncio.run(Governed(TextCounter("o200k_base"), 4_000).compacted(longer))
    assert "Start the server on port 8080. (replaced later)" in text_of(again)
    assert text_of(again).count("(replaced later)") == 1
