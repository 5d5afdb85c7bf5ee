"""Retention: what a replacement kept of the facts, and the block that brings back the rest."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from tests.context.facts_kit import characters
from tests.context.governor_kit import Writer, plain_counter
from tests.context.histories import long_conversation
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.compaction.retention import facts_block, judge, lacking_facts
from tui_app.context.facts.files import root_in
from tui_app.context.history import ListHistory
from tui_app.context.policy import PRESETS, Policy
from tui_app.context.summaries.prompt import message_text
from tui_app.context.view import to_messages
from tui_app.events import Fact
from tui_app.usage import Breakdown, ContextWindow


def fact(kind: str, text: str, weight: float = 1.0, source: str = "#3") -> Fact:
    return Fact(kind=kind, text=text, source=source, weight=weight)  # type: ignore[arg-type]


FACTS = (
    fact("rule", "Never use `tabs` in *this* repo.", 4.0),
    fact("error", "`pytest -x` · failed: E ValueError: bad date ¦ 1 failed", 3.0),
    fact("file", "/w/src/app/parse.py · created, edited 2×", 2.0),
    fact("command", "`make docs` · ok"),
    fact("detail", "`retry_limit` · in net/client.py", 0.5),
)


def test_facts_are_found_whatever_white_space_quotes_and_marks() -> None:
    text = (
        "- never use tabs\n  in this repo.\nTests: E ValueError:   bad date. Edited `app/parse.py`; "
        "ran 'make docs'; retry_limit matters"
    )
    judged, score = judge(FACTS, replacement_text=text)
    assert [fact.state for fact in judged] == ["kept"] * 5
    assert score == 1.0


def test_what_is_missing_can_be_got_back_by_its_handle_or_is_lost() -> None:
    judged, score = judge(FACTS, replacement_text="Ran make docs.")
    assert [fact.state for fact in judged] == ["recoverable"] * 3 + ["kept", "recoverable"]
    assert score == round(1 / 10, 4), "a name weighs nothing beside the others"
    lost, _ = judge(FACTS, replacement_text="", recoverable=False)
    assert {fact.state for fact in lost} == {"lost"}


def test_a_bare_name_counts_only_when_no_other_file_has_it() -> None:
    twins = (
        fact("file", "a/state.go · edited"),
        fact("file", "b/state.go · read"),
        fact("file", "c/main.go · read"),
    )
    judged, _ = judge(twins, replacement_text="Changed state.go and main.go, not domain.go")
    assert [fact.state for fact in judged] == ["recoverable", "recoverable", "kept"]
    judged, _ = judge(twins[2:], replacement_text="see domain.go")
    assert judged[0].state == "recoverable"


def test_a_masked_secret_does_not_hide_a_kept_rule() -> None:
    rule = fact("rule", "Always send [secret removed] along.")
    assert judge((rule,), replacement_text="Always send sk-123 along.")[1] == 1.0


def test_nothing_to_keep_is_all_kept() -> None:
    assert judge((), replacement_text="") == ((), 1.0)


def missing_facts(facts: Sequence[Fact], text: str, budget: int, count: Callable[[str], int]) -> str:
    """What comes back of the facts that a text lacks."""
    return facts_block(lacking_facts(facts, text), budget, count, root_in(text))


def test_missing_facts_come_back_grouped_with_handles() -> None:
    block = missing_facts(FACTS, "Ran make docs.", 200, characters)
    assert block == (
        "**Rules**\n- Never use `tabs` in *this* repo. (#3)\n"
        "**Open errors**\n- `pytest -x` · failed: E ValueError: bad date ¦ 1 failed (#3)\n"
        "**Files**\n- /w/src/app/parse.py · created, edited 2× (#3)\n"
        "**Details**\n- retry_limit (#3)"
    )
    assert judge(FACTS, replacement_text=f"Ran make docs.\n{block}")[1] == 1.0


def test_the_weightiest_come_first_when_room_is_short() -> None:
    assert missing_facts(FACTS, "", 16, characters) == "**Rules**\n- Never use `tabs` in *this* repo. (#3)"
    assert missing_facts(FACTS, "", 3, characters) == ""


_FACTS = st.lists(
    st.builds(
        fact,
        st.sampled_from(
            ["rule", "request", "file", "command", "error", "decision", "todo", "question", "detail"]
        ),
        st.text(max_size=80),
        st.floats(0, 10),
        st.sampled_from(["", "#1", "#22"]),
    ),
    max_size=12,
)


@given(_FACTS, st.text(max_size=200), st.integers(0, 120), st.sampled_from([len, characters, lambda text: 7]))
def test_the_block_keeps_its_budget(facts: list[Fact], text: str, budget: int, count: object) -> None:
    block = missing_facts(facts, text, budget, count)  # type: ignore[arg-type]
    assert not block or count(block) <= budget  # type: ignore[operator]
    judged, score = judge(facts, replacement_text=text)
    assert len(judged) == len(facts)
    assert 0.0 <= score <= 1.0


@pytest.mark.parametrize(
    ("text", "of_file", "of_command"),
    [
        ("You may look at page2.py. `make docs` went well.", False, False),
        ("page2.py was deleted; `make docs` failed.", True, True),
        ("- /w/page2.py · created, deleted (#3)\n- `make docs` · failed (#4)", True, True),
        ("## Deleted files\n- a.py\n- `w/page2.py`\n\n**Failing**\n- `make docs`", True, True),
        ("Deleted:\na.py\npage2.py\nNot looked into: `make docs`.", True, False),
        ("## Files\n- Deleted:\n  - a.py\n- page2.py\n- `make docs`: exit code 2", False, True),
        ("- page2.py\n- Latest request: delete nothing that was removed; `make docs` fails", False, True),
        ("page2.py was not deleted. `make docs` reported no errors.", False, False),
        ("page2.py is to be deleted. `make docs` did not work.", False, True),
        ("Removed the hack from page2.py. Ran make docs.", False, False),
        ("Renamed page2.py to page3.py. make docs timed out.", True, True),
        ("- removed_pages/page2.py\n- `make docs`: ok", False, False),
        ('Tool call delete_file: {"path": "/w/page2.py"}', True, False),
        ('Tool call run_command: {"command": "rm /w/page2.py && make docs"}', True, False),
        (
            'Tool call write_file: {"path": "a.md", "content": "page2.py was deleted, make docs failed"}',
            *[False] * 2,
        ),
        ("page2.py wurde gelöscht, `make docs` ist fehlgeschlagen.", True, True),
        ("page2.py a été supprimé, `make docs` a échoué.", True, True),
        ("删除了 page2.py，make docs 失败", True, True),
    ],
)
def test_what_was_done_and_how_it_ended_must_be_said(text: str, of_file: bool, of_command: bool) -> None:
    facts = (fact("file", "/w/page2.py · created, deleted"), fact("command", "`make docs` · failed"))
    judged, _ = judge(facts, replacement_text=text)
    assert [fact.state == "kept" for fact in judged] == [of_file, of_command]
    block = missing_facts(facts, text, 200, characters)
    assert ("page2.py · created, deleted" in block) is not of_file
    assert ("`make docs` · failed" in block) is not of_command
    assert judge(facts, replacement_text=f"{text}\n{block}")[1] == 1.0


@pytest.mark.parametrize(
    ("deeds", "text", "kept"),
    [
        ("created", "Added `page2.py`.", True),
        ("created", "page2.py (new) draws the page", True),
        ("created", "### New files\n1. page2.py", True),
        ("created", "Look at page2.py for new ideas.", False),
        ("created", "Added tests to page2.py.", False),
        ("created", "page2.py was deleted.", False),
        ("edited 3×", "Added tests to page2.py.", True),
        ("edited 3×", "page2.py holds the page. The parser was changed.", False),
        ("edited 3×", 'Tool call str_replace: {"path": "/w/page2.py", "old": "a"}', True),
        ("edited 3×", 'Tool call edit_file: {"path": "/w/b.py", "new": "see page2.py"}', False),
        ("edited 3×", 'Tool call read_file: {"path": "/w/page2.py"}', False),
        ("written", "Wrote page2.py", True),
        ("read", "You may look at page2.py.", True),
    ],
)
def test_each_deed_has_its_words(deeds: str, text: str, kept: bool) -> None:
    judged, _ = judge((fact("file", f"/w/page2.py · {deeds}"),), replacement_text=text)
    assert (judged[0].state == "kept") is kept


def test_a_command_that_worked_is_not_kept_where_it_is_said_to_have_failed() -> None:
    worked = (fact("command", "`pytest tests/a.py` · ok"),)
    assert judge(worked, replacement_text="All of these failed: `pytest tests/a.py`")[1] == 0.0
    assert judge(worked, replacement_text="You may run `pytest tests/a.py` again")[1] == 0.0
    assert judge(worked, replacement_text="**Passing now**\n- `pytest tests/a.py`")[1] == 1.0


def test_a_failure_without_output_must_be_said_to_have_failed() -> None:
    quiet = (fact("error", "`make docs` · failed: no output"),)
    assert judge(quiet, replacement_text="`make docs` went well.")[1] == 0.0
    assert judge(quiet, replacement_text="make docs fails without a word")[1] == 1.0


def test_what_was_done_to_files_comes_before_names_and_their_folder_is_said_once() -> None:
    facts = (
        fact("detail", "`retry_limit` · in net/client.py", 9.0),
        *(fact("file", f"src/app/{name}.py · edited", 1.0) for name in ("first", "second", "third")),
    )
    block = missing_facts(facts, "", 200, characters)
    names = "".join(f"\n  {name}.py · edited (#3)" for name in ("first", "second", "third"))
    files = f"**Files**\n- src/app/{names}"
    assert block.startswith(files)
    assert "retry_limit" not in missing_facts(facts, "", characters(files), characters)
    judged, _ = judge(facts[1:], replacement_text=block)
    assert {one.state for one in judged} == {"kept"}


# What awaits the person outlives every compaction, whatever its policy and its writer leave out.


QUESTION = "Shall I deploy the site now, or wait for the review?"
ASKED: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart("Make the site ready.")]),
    ModelResponse(parts=[TextPart(f"It is ready. {QUESTION}")]),
]


async def left_of(policy: Policy, *more: ModelMessage) -> str:
    """Everything the model is given after a compaction by hand."""
    view = ListHistory(plain_counter())
    view.sync([*long_conversation(40, size=400), *ASKED, *more])
    view.fix(ContextWindow(limit=32_000, source="setting"), Breakdown(), "m")
    compactor = Compactor(view, policy, PlainHost((Writer(),)))
    compactor.start("manual")
    complete = await compactor.finish()
    assert complete is not None
    assert complete.outcome == "success", complete.reason
    return "\n".join(message_text(message) for message in to_messages(view.items()))


@pytest.mark.parametrize("name", PRESETS)
async def test_a_question_to_the_person_stays(name: str) -> None:
    assert QUESTION in await left_of(PRESETS[name])


async def test_one_that_was_answered_is_not_asked_again() -> None:
    answered: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Wait for it.")]),
        ModelResponse(parts=[TextPart("I wait.")]),
    ]
    assert QUESTION not in await left_of(PRESETS["background"], *answered)
