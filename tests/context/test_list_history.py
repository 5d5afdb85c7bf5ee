"""The history of any agent: a list of messages, followed from request to request."""

from dataclasses import replace

import pytest
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from tests.context.governor_kit import Heard, plain_counter
from tests.context.histories import as_items, long_conversation
from tests.context.word_counter import WordCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import ListHistory, Proposal, reported_tokens
from tui_app.context.view import Change, Item, Rewrite, place_summary, to_messages
from tui_app.context.windows import resolve_window
from tui_app.events import CompactionComplete, ToolTrimmed
from tui_app.usage import Breakdown


def said(text: str = "hello") -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(text)])


def answered(text: str = "well", reported: int = 0) -> ModelResponse:
    return ModelResponse(parts=[TextPart(text)], usage=RequestUsage(input_tokens=reported))


def followed(*messages: ModelMessage) -> ListHistory:
    view = ListHistory(plain_counter(), Heard())
    view.sync(messages)
    view.fix(resolve_window(setting=20_000), Breakdown(), "m")
    return view


def test_known_messages_keep_their_key() -> None:
    one, two, three = said("1"), answered("2"), said("3")
    view = followed(one, two)
    view.sync([two, three, one])
    assert [(item.key, item.message) for item in view.items()] == [(2, two), (3, three), (1, one)]


def test_requests_that_the_agent_has_joined_keep_their_keys() -> None:
    """pydantic-ai does so between two runs, while a summary of them may be on its way."""
    summary, prompt = ModelRequest(parts=[CompactionPart("notes")]), said("go on")
    view = followed(summary, prompt, answered())
    joined = ModelRequest(parts=[*summary.parts, *prompt.parts])
    view.sync([joined, view.items()[2].message, said("more")])
    assert [item.key for item in view.items()] == [1, 2, 3, 4]
    assert view.items()[0].whole is view.items()[1].whole is joined


def test_the_report_of_the_answer_to_the_last_request_counts() -> None:
    first, reply = said(), answered(reported=500)
    view = followed(first)
    view.sync([first, reply])
    assert view.usage().total == 500
    assert view.usage().exact
    view.sync([first, reply, said("more")])
    assert view.usage().total == 500 + plain_counter().message(said("more")).total


def test_reports_of_a_history_from_elsewhere_do_not_count() -> None:
    view = followed(said(), answered(reported=500), said())
    assert view.usage().total < 50
    first = said()
    view = followed(first)
    view.sync([first, said("not ours"), answered(reported=500)])
    assert view.usage().total < 50


def test_a_report_is_forgotten_when_the_list_is_rewritten() -> None:
    first, reply = said(), answered(reported=500)
    view = followed(first)
    view.sync([first, reply])
    view.sync([reply, said()])
    assert view.usage().total < 50


def test_a_distrusted_answer_does_not_count_and_the_next_does() -> None:
    first, reply, second, third = said(), answered(reported=500), said(), answered(reported=700)
    view = followed(first)
    view.distrust()
    view.sync([first, reply, second])
    assert view.usage().total < 50
    view.sync([first, reply, second, third])
    assert view.usage().total == 700


def test_counts_made_before_the_tokenizer_was_there_are_made_again() -> None:
    words = WordCounter()
    view = ListHistory(TokenCounter(words))
    view.sync([said("one two three")])
    before = view.usage().total
    words.ready = True
    assert view.usage().total == before + 27


def test_a_commit_puts_the_summary_behind_the_system_prompts() -> None:
    system = ModelRequest(parts=[SystemPromptPart("be kind"), UserPromptPart("first")])
    view = followed(system, answered(), *long_conversation(2))
    assert [item.key for item in view.items()] == list(range(1, 12))
    note = ModelRequest(parts=[CompactionPart("notes")])
    blank = CompactionComplete(job="j", outcome="success", trigger="manual")
    complete = view.commit(Proposal(complete=blank, message=note, left=frozenset({2, 3, 4, 5})))
    kinds = [message.parts[0].part_kind for message in to_messages(view.items())][:3]
    assert kinds == ["system-prompt", "compaction", "tool-return"]
    assert view.version == 1
    assert (complete.messages_before, complete.messages_after, complete.messages_removed) == (11, 8, 3)
    assert complete.tokens_before - complete.tokens_after == complete.tokens_removed > 0
    assert isinstance(view.listener, Heard)
    assert view.listener.events == [complete]
    view.sync(to_messages(view.items()))
    assert view.items()[1].message is note


def test_a_message_that_was_given_other_parts_is_new() -> None:
    first = said()
    view = followed(first, answered())
    first.parts = [*first.parts, UserPromptPart("and this")]
    view.sync([first, answered()])
    assert view.items()[0].key > 2
    assert view.usage().parts.user == plain_counter().message(first).user


def test_where_a_summary_stands() -> None:
    system, other = as_items([ModelRequest(parts=[SystemPromptPart("s")]), said()])
    note = Item(9, ModelRequest(parts=[CompactionPart("c")]))
    assert [item.key for item in place_summary([system, other], [note])] == [1, 9, 2]
    assert place_summary([], [note]) == [note]


@pytest.mark.parametrize(
    ("behind", "order"), [(0, [9, 1, 2]), (1, [1, 9, 2]), (2, [1, 2, 9]), (7, [9, 1, 2])]
)
def test_a_summary_stands_behind_what_a_policy_keeps_in_front_of_it(behind: int, order: list[int]) -> None:
    stays = as_items([said(), answered()])
    note = Item(9, ModelRequest(parts=[CompactionPart("c")]))
    assert [item.key for item in place_summary(stays, [note], behind)] == order


def test_what_a_response_reports() -> None:
    reply = answered(reported=500)
    assert reported_tokens(reply) == 500
    assert reported_tokens(replace(reply, state="interrupted")) == 0
    assert reported_tokens(said()) == 0


def test_a_rewritten_view_stays_on_the_scale_of_the_report_before() -> None:
    first, long = said(), said("x " * 2_000)
    view = followed(first)
    reply = answered(reported=5_000)
    view.sync([first, reply])
    view.sync([first, reply, long])
    before = view.usage().total
    short = Change(key=view.items()[-1].key, message=said("x"))
    view.rewrite(Rewrite(stage="trim", changes=(short,)))
    assert not view.usage().exact
    assert view.usage().total == 5_000 + view.weigh(view.items()[-1]).total
    assert isinstance(view.listener, Heard)
    [event] = view.listener.of(ToolTrimmed)
    assert event.tokens_before == before
    assert event.tokens_removed == before - view.usage().total > 990
