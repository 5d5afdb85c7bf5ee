"""What stands in the place of what left."""

from pydantic_ai.messages import CompactionPart, ModelMessagesTypeAdapter, ModelRequest, UserPromptPart

from tests.context.facts_kit import characters
from tests.context.histories import as_items
from tui_app.context.events import Fact
from tui_app.context.items import Item
from tui_app.context.replacement import (
    WAY_BACK,
    Earlier,
    Words,
    choose_prompts,
    earlier_summary,
    key_ranges,
    summary_message,
)


def prompts(*texts: str) -> list[Item]:
    return as_items([ModelRequest(parts=[UserPromptPart(text)]) for text in texts])


def text_of(request: ModelRequest) -> str:
    part = request.parts[0]
    assert isinstance(part, CompactionPart)
    return part.content or ""


def test_every_part_stands_only_when_there_is_one() -> None:
    words = Words(prompts=((3, "Do it."),), omitted=2)
    full = text_of(summary_message("Notes.", words, "- a fact"))
    assert full == (
        "Notes.\n\n## Said by the user, word for word\n- #3: Do it.\n"
        "- (2 more of the user's messages are left out here)\n\n## Also worth keeping\n- a fact\n\n"
        + WAY_BACK
    )
    assert text_of(summary_message("Notes.", Words(), " ", way_back="")) == "Notes."


def test_it_can_be_read_back_after_a_round_trip() -> None:
    rule = Fact(kind="rule", text="never push", source="#3", weight=4.0)
    message = summary_message("Notes.", Words(prompts=((3, "Do it."),), omitted=1), "- f", [rule])
    stored = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([message]))
    earlier = earlier_summary(as_items(stored))
    assert earlier == Earlier(
        summary="Notes.", prompts=((3, "Do it."),), omitted=1, facts="- f", rules=(rule,)
    )
    assert earlier.notes == "Notes.\n\n- f"


def test_the_same_summary_gives_the_same_bytes() -> None:
    one, two = (summary_message("Notes.", Words(), "") for _ in range(2))
    assert ModelMessagesTypeAdapter.dump_json([one]) == ModelMessagesTypeAdapter.dump_json([two])


def test_the_summary_of_another_program_counts_whole() -> None:
    foreign = as_items([ModelRequest(parts=[CompactionPart("Theirs.", metadata={"plimsoll": "no"})])])
    assert earlier_summary(foreign) == Earlier(summary="Theirs.")
    assert earlier_summary(prompts("x")) == Earlier()


def test_the_tag_cannot_be_closed_and_is_not_escaped_twice() -> None:
    bad = "a </conversation_summary> b < / CONVERSATION_SUMMARY> c <conversation_summary>"
    text = text_of(summary_message(bad, Words(), ""))
    assert "conversation_summary" in text
    assert "</conversation_summary" not in text.lower()
    assert "< / conversation_summary" not in text.lower()
    carried = earlier_summary(as_items([summary_message(bad, Words(), "")])).summary
    assert carried == bad
    assert text_of(summary_message(carried, Words(), "")) == text


def test_the_first_and_the_newest_prompts_are_kept() -> None:
    said = prompts("first " * 10, *(f"prompt {number} " * 10 for number in range(8)))
    words = choose_prompts(Earlier(), said, 150, characters)
    assert [key for key, _ in words.prompts] == [1, 6, 7, 8, 9]
    assert words.omitted == 4
    assert words.prompts[0][1] == "first " * 10


def test_prompts_carried_before_come_first_even_when_numbers_repeat() -> None:
    """Another process numbers its messages from one again."""
    earlier = Earlier(prompts=((1, "the very first"), (2, "then this")), omitted=3)
    words = choose_prompts(earlier, prompts("new one", "new two"), 1_000, characters)
    assert [text for _, text in words.prompts] == ["the very first", "then this", "new one", "new two"]
    assert words.omitted == 3
    again = choose_prompts(Earlier(prompts=words.prompts), [], 1_000, characters)
    assert again.prompts == words.prompts


def test_a_long_prompt_is_clipped_and_the_first_is_always_there() -> None:
    words = choose_prompts(Earlier(), prompts("a" * 5_000), 10, characters)
    assert len(words.prompts) == 1
    assert "characters left out" in words.prompts[0][1]
    assert len(words.prompts[0][1]) < 260
    assert choose_prompts(Earlier(), prompts(" ", "\n"), 100, characters) == Words()


def test_ranges_go_by_number_and_not_by_place() -> None:
    order = [60, 45, 52, 53, 61, 62]
    items = [Item(key, ModelRequest(parts=[])) for key in order]
    assert key_ranges(items, frozenset({60, 45, 52, 53})) == ((45, 60),)
    assert key_ranges(items, frozenset({45, 52, 61})) == ((45, 52), (61, 61))
    assert key_ranges(items, frozenset()) == ()
