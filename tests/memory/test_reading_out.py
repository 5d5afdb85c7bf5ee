"""The message that gives a session the board keeps its budget, whatever stands on the board."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

from tests.memory.boards import MAIN
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.facts.observations import read_items
from tui_app.context.message_marks import inbox_message, is_inbox
from tui_app.context.summaries.prompt import prompts_of
from tui_app.context.view import Item, is_prompt, is_request, is_system, sections
from tui_app.memory.entries import KINDS, PERSON, Entry
from tui_app.memory.inbox import read_out

ENTRY = Entry(
    id=1, repository=MAIN.repository, branch="main", text="The tests need Redis", kind="note",
    made_by="extraction", session="s1", seq=7, time=1_000.0, weight=1.0,
)  # fmt: skip
ENTRIES = st.lists(
    st.builds(
        lambda number, text, kind, weight, mine: replace(
            ENTRY, id=number, text=text, kind=kind, weight=weight, made_by=PERSON if mine else "extraction"
        ),
        st.integers(1, 999),
        st.text(min_size=1, max_size=120),
        st.sampled_from(KINDS),
        st.floats(0, 5),
        st.booleans(),
    ),
    max_size=12,
)


def words(text: str) -> int:
    return len(text.split()) + text.count("\n")


@given(ENTRIES, st.integers(0, 300))
def test_the_budget_is_kept_and_the_weightiest_come_first(entries: list[Entry], budget: int) -> None:
    told = read_out(entries, MAIN, budget, words)
    if told is None:
        return
    assert words(told.text) <= budget
    assert len(told.entries) + told.left_out == len(entries)
    assert all(entry.text in told.text for entry in told.entries)


def test_without_entries_or_room_there_is_no_message() -> None:
    assert read_out([], MAIN, 1_000, words) is None
    assert read_out([ENTRY], MAIN, 10, words) is None


def test_a_persons_own_stand_before_what_weighs_more() -> None:
    mine = replace(ENTRY, id=2, text="Ada reviews", made_by=PERSON, weight=0.1)
    heavy = replace(ENTRY, id=3, text="one two three four five six", weight=5.0)
    room = words(read_out([mine], MAIN, 1_000, words).text)  # type: ignore[union-attr]
    told = read_out([heavy, mine], MAIN, room, words)
    assert told is not None
    assert [entry.id for entry in told.entries] == [2]


def test_the_message_is_nobodys_words_and_is_counted_as_memory() -> None:
    told = read_out([replace(ENTRY, kind="rule", text="Never touch the importer")], MAIN, 1_000, words)
    assert told is not None
    message = inbox_message(told.text)
    item = Item(2, message)
    assert is_inbox(message)
    assert is_system(message), "it stays at the front like a system prompt"
    assert not is_prompt(message)
    assert not is_request(message)
    assert prompts_of([item]) == []
    assert read_items([item]).typed == []
    counted = TokenCounter(TextCounter("o200k_base")).message(message)
    assert counted.memory == counted.total > 0


def test_it_is_known_after_json_and_after_it_was_merged_with_the_prompt() -> None:
    told = read_out([ENTRY], MAIN, 1_000, words)
    assert told is not None
    message = inbox_message(told.text)
    (again,) = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([message]))
    assert is_inbox(again)
    merged = ModelRequest(parts=[*message.parts, UserPromptPart("and now?")])
    assert not is_inbox(merged)
    assert is_prompt(merged)
    assert [is_inbox(section) for section in sections(merged)] == [True, False]
