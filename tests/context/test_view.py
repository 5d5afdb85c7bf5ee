"""Items of a view, the originals of their short forms, and the messages they are turned back into."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from pydantic_ai.messages import (
    CompactionPart,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.context.facts_kit import call as originals_call
from tests.context.facts_kit import characters, history, says, shell, user
from tests.context.governor_kit import plain_counter
from tests.context.histories import retry_prompt
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.compaction.sections import deeds_section
from tui_app.context.compaction.user_words import state_notes, user_words_section
from tui_app.context.counting.expenses import Ledger as Costs
from tui_app.context.history import ListHistory, Originals, original_view
from tui_app.context.ledger.facts import NO_SUCCESS, session_facts
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.policy import PLIMSOLL, Trim
from tui_app.context.summaries.extractive import ExtractiveSummariser
from tui_app.context.summaries.prompt import SummaryTask, message_text
from tui_app.context.summaries.writer import Progress, Summary
from tui_app.context.tool_results.archive import archived, heuristic_digest
from tui_app.context.tool_results.trim import trim
from tui_app.context.views.cuts import sections
from tui_app.context.views.rewrites import Change, Rewrite
from tui_app.context.views.tool_pairs import pairs
from tui_app.context.views.view import (
    Item,
    answers_of,
    calls_of,
    is_prompt,
    is_request,
    is_summary,
    is_system,
    latest_prompt_index,
    to_messages,
)
from tui_app.context.windows.windows import resolve_window
from tui_app.events import CompactionComplete, Payload
from tui_app.usage import Breakdown, Overhead

# Items, sections of messages, and the messages they are turned back into.


def result(call_id: str) -> ToolReturnPart:
    return ToolReturnPart("read", f"result {call_id}", call_id)


def call(*ids: str) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart("read", {}, one) for one in ids])


def test_what_a_message_is() -> None:
    mixed = ModelRequest(parts=[SystemPromptPart("s"), UserPromptPart("u")])
    assert is_system(ModelRequest(parts=[SystemPromptPart("s")]))
    assert not is_system(mixed)
    assert not is_system(ModelRequest(parts=[]))
    assert is_prompt(mixed)
    assert not is_prompt(ModelResponse(parts=[TextPart("x")]))
    assert is_summary(ModelRequest(parts=[CompactionPart("x")]))
    assert calls_of(call("a", "b")) == ("a", "b")
    assert calls_of(mixed) == ()
    assert answers_of(
        ModelRequest(parts=[result("a"), retry_prompt("no", "read", "b"), retry_prompt("no")])
    ) == (
        "a",
        "b",
    )


def test_the_latest_prompt() -> None:
    items = [
        Item(1, ModelRequest(parts=[UserPromptPart("a")])),
        Item(2, call("a")),
        Item(3, ModelRequest(parts=[result("a")])),
    ]
    assert latest_prompt_index(items) == 0
    assert latest_prompt_index(items[1:]) is None


def test_results_of_one_answer_become_one_request() -> None:
    items = [Item(1, call("a", "b", "c")), *(Item(k, ModelRequest(parts=[result(k_)])) for k, k_ in _three())]
    messages = to_messages([*items, Item(9, ModelRequest(parts=[UserPromptPart("next")]))])
    assert [len(message.parts) for message in messages] == [3, 3, 1]
    assert all(len(item.message.parts) == 1 for item in items[1:])


def _three() -> list[tuple[int, str]]:
    return [(2, "a"), (3, "b"), (4, "c")]


def test_a_request_of_many_kinds_is_taken_apart_and_put_together() -> None:
    whole = ModelRequest(
        parts=[result("a"), result("b"), SystemPromptPart("s"), CompactionPart("c"), UserPromptPart("u")],
        instructions="be kind",
    )
    parts = sections(whole)
    assert [len(part.parts) for part in parts] == [2, 1, 1, 1]
    items = [Item(key, part, whole=whole) for key, part in enumerate(parts)]
    assert to_messages(items) == [whole]
    assert to_messages(items)[0] is whole
    without = to_messages([items[1], items[3]])
    assert [part.part_kind for message in without for part in message.parts] == [
        "system-prompt",
        "user-prompt",
    ]


def test_what_is_of_one_kind_is_left_alone() -> None:
    for message in (call("a", "b"), ModelRequest(parts=[result("a"), result("b")]), ModelRequest(parts=[])):
        assert list(sections(message)) == [message]
        assert sections(message)[0] is message


def pairing(*messages: ModelRequest | ModelResponse) -> list[tuple[int, int]]:
    return [(pair.call, pair.answer) for pair in pairs(messages)]


def test_ids_that_repeat_are_paired_with_the_nearest_call() -> None:
    returned = ModelRequest(parts=[result("a")])
    assert pairing(call("a"), returned, call("a"), returned) == [(0, 1), (2, 3)]
    assert pairing(call("a"), call("a"), returned) == [(1, 2)]
    assert pairing(call("a"), call("a"), returned, returned) == [(1, 2)], "a duplicate is nobody's result"


def test_a_late_result_goes_to_the_oldest_open_call() -> None:
    returned = ModelRequest(parts=[result("a")])
    words = ModelResponse(parts=[TextPart("meanwhile")])
    assert pairing(call("a"), call("a"), returned, words, returned) == [(1, 2), (0, 4)]
    assert pairing(returned, call("a")) == []


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Mend the pier.", True),
        ("<system-reminder>Be brief.</system-reminder>", False),
        ("<system-reminder>Be brief.</system-reminder>\nMend the pier.", True),
        ("<environment_context>linux</environment_context>\n<system-reminder>x</system-reminder>", False),
        ("[Request interrupted by user]", False),
        ("<instructions>Mend the pier.</instructions>", True),
        ("<system-reminder>never closed", True),
        ("", True),
    ],
)
def test_what_a_program_puts_there_is_no_request(text: str, asks: bool) -> None:
    message = ModelRequest(parts=[UserPromptPart(text)])
    assert is_request(message) is asks
    assert is_prompt(message)
    both = [Item(1, ModelRequest(parts=[UserPromptPart("Begin.")])), Item(2, message)]
    assert latest_prompt_index(both) == (1 if asks else 0)
    assert latest_prompt_index(both[1:]) == 0


def test_a_picture_is_a_request_and_a_result_with_a_reminder_is_none() -> None:
    picture = UserPromptPart([ImageUrl("https://example.org/pier.png")])
    reminder = UserPromptPart("<system-reminder>Be brief.</system-reminder>")
    assert is_request(ModelRequest(parts=[picture]))
    assert not is_request(ModelRequest(parts=[result("a"), reminder]))
    assert not is_request(ModelRequest(parts=[result("a")]))


# Summaries and facts are based on the originals of what stages have hidden from the model.


FAILURE = "collected 1 item\n" * 200 + "E   ValueError: tide is too low\nExit code 1"
DECLINED = "The user said: no, always keep logs."
LISTING = "\n".join(f"src/harbour/pier{number}.py: class PierNumber{number}" for number in range(40))


def conversation() -> list[ModelMessage]:
    """A conversation whose content is mostly in tool results."""
    return [
        *user("Hello."),
        *says("Well. " * 800),
        *user("Find out why the pier test fails. Never touch the lighthouse."),
        *originals_call("grep", {"pattern": "Pier"}, LISTING),
        *shell("pytest tests/test_pier.py", FAILURE),
        *originals_call("ask", {"what": "may I delete it"}, "It was not run. " * 20 + DECLINED, "denied"),
        *says("I am looking for the reason."),
        *user("Go on."),
        *says("ok"),
    ]


def hidden(view: ListHistory) -> None:
    """Have the stages hide every result."""
    items = [item for item in view.items() if isinstance(item.message.parts[0], ToolReturnPart)]
    cut = trim(view.items(), Trim(chars=300, keep_messages=0))
    assert cut is not None
    view.rewrite(cut)
    now = [item for item in view.items() if item.key in {one.key for one in items}]
    view.rewrite(archived(now, heuristic_digest(now, view.items())))


def view_of(messages: list[ModelMessage]) -> ListHistory:
    view = ListHistory(plain_counter())
    view.sync(messages)
    view.set_overhead(Overhead(resolve_window(setting=8_000), Breakdown(system=50)), "m")
    return view


def as_text(items: list[Item]) -> str:
    return "\n".join(message_text(item.message) for item in items)


def test_a_list_knows_what_stood_there_before_any_stage() -> None:
    view = view_of(conversation())
    before = list(view.items())
    hidden(view)
    assert "ValueError" not in as_text(list(view.items()))
    originals = list(view.originals(view.items()))
    told = [item for item in originals if item.key in {one.key for one in before}]
    assert [item.message for item in told] == [item.message for item in before], "two stages, one original"
    untouched = [item for item in view.items() if item.key in {1, 2}]
    assert view.originals(untouched)[0] is untouched[0]


def test_what_a_merged_request_stands_for_is_still_known() -> None:
    old, new = ToolReturnPart("read", "long", "a"), ToolReturnPart("read", "short", "a")
    originals = Originals()
    change = Change(key=1, message=ModelRequest(parts=[new]))
    originals.remember([Item(1, ModelRequest(parts=[old]))], Rewrite(stage="trim", changes=(change,)))
    other = ToolReturnPart("read", "other", "b")
    merged = originals.original(Item(9, ModelRequest(parts=[new, other])))
    assert merged.message.parts == [old, other]
    originals.keep([Item(9, ModelRequest(parts=[other]))])
    assert originals.original(Item(1, ModelRequest(parts=[new]))).message.parts == [new], "it has left"


def test_what_the_list_has_lost_is_forgotten() -> None:
    view = view_of(conversation())
    hidden(view)
    kept = to_messages(view.items())
    shown = list(view.items())
    view.sync(kept[:1])
    assert list(view.originals(shown))[4] is shown[4]


async def test_a_compaction_tells_what_the_stages_had_hidden() -> None:
    view = view_of(conversation())
    hidden(view)
    done, text = await compacted(view, ExtractiveSummariser(characters))
    assert "ValueError: tide is too low" in text
    assert "always keep logs" in text
    assert "pier9.py" in text
    assert {fact.state for fact in done.facts if fact.kind == "error"} == {"kept"}


async def test_a_model_is_shown_only_what_the_agent_sees() -> None:
    view = view_of(conversation())
    hidden(view)
    model = _Listening()
    done, text = await compacted(view, model)
    assert model.read
    assert not any("ValueError" in piece for piece in model.read)
    assert "ValueError: tide is too low" in text, "the facts are the code's own"
    assert done.performed_by == "model"


async def test_what_stays_but_is_hidden_is_told_as_well() -> None:
    """Stages may also have hidden results among the newest messages, which stay."""
    view = view_of(conversation())
    hidden(view)
    policy = replace(PLIMSOLL, recent_share=0.2)
    _, text = await compacted(view, ExtractiveSummariser(characters), policy)
    assert any("Result archived" in message_text(item.message) for item in view.items()), "some stayed"
    assert "ValueError: tide is too low" in text


class _Listening:
    """A model that records what it is given."""

    model_name = "listening"

    def __init__(self) -> None:
        self.read: list[str] = []

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Costs) -> Summary:
        self.read = [message_text(item.message) for item in task.items]
        return Summary(text="## Intent\nFind out.", performed_by="model")


async def compacted(
    view: ListHistory, writer: _Listening | ExtractiveSummariser, policy: object = None
) -> tuple[CompactionComplete, str]:
    events: list[Payload] = []
    view.listener = events.append
    chosen = policy if isinstance(policy, type(PLIMSOLL)) else replace(PLIMSOLL, recent_share=0.01)
    compactor = Compactor(view, chosen, PlainHost((writer,)))
    compactor.start("headless")
    done = await compactor.finish()
    assert done is not None
    assert done.outcome == "success", done.reason
    return done, as_text(list(view.items())[:1])


def test_in_sight_is_what_stays_unchanged() -> None:
    shown = history(*[says(str(number)) for number in range(4)])
    was = [shown[0], shown[1], replace(shown[2], message=says("longer")[0]), shown[3]]
    left = history(says("before"))

    class Shown(ListHistory):
        def items(self) -> Sequence[Item]:
            return shown

        def originals(self, items: Sequence[Item]) -> Sequence[Item]:
            assert items is shown
            return was

        def everything(self) -> Sequence[Item]:
            return [*left, *was]

    whole = original_view(Shown(plain_counter()), [1])
    assert whole.in_sight == {2, 4}
    assert whole.items == (*left, *was)


STAYS = {5, 6, 7, 8, 9}


def deeds(items: Sequence[Item]) -> str:
    return deeds_section(Ledger.from_items(items), 400, characters, STAYS).text


def test_what_is_solved_in_sight_is_not_open() -> None:
    items = history(
        user("Build it."),
        shell("make", "main.c:1: error: broken", "failed"),
        says("Hm."),
        shell("make", "done"),
    )
    assert NO_SUCCESS in deeds(items[:4])
    assert NO_SUCCESS not in deeds(items)


def test_a_later_run_whose_end_a_filter_hides_is_told() -> None:
    items = history(
        user("Build it."), shell("make", "main.c:1: error: broken", "failed"), shell("make | tail -3", "bye")
    )
    assert "run again since (#5), its end is hidden" in deeds(items)


def test_the_task_list_is_the_newest_one() -> None:
    def todos(state: str) -> list[ModelMessage]:
        return originals_call("TodoWrite", {"todos": [{"content": "Paint the pier", "status": state}]})

    items = history(user("Paint."), says("ok"), todos("pending"), todos("completed"))
    assert "Paint the pier · open" in deeds(items[:4])
    assert "Paint the pier · open" not in deeds(items)


def test_nothing_is_quoted_from_what_stays() -> None:
    items = history(
        user("Begin with alpha."), says("Right."), says("ok"), says("ok"), user("Never use beta.")
    )
    ledger = Ledger.from_items(items)
    told = user_words_section(ledger.prompts(), 400, characters, STAYS).text + state_notes(
        ledger, 9_000, characters, STAYS
    )
    assert "alpha" in told
    assert "beta" not in told
    assert not any("beta" in fact.text for fact in session_facts(items, STAYS))


def test_a_form_is_noted_when_a_rewrite_is_applied() -> None:
    view = view_of(conversation())
    item = view.items()[4]
    part = item.message.parts[0]
    assert isinstance(part, ToolReturnPart)
    short = ModelRequest(parts=[replace(part, content="…")])
    view.rewrite(Rewrite(stage="trim", changes=(Change(key=item.key, message=short),)))
    assert list(view.originals(view.items()))[4].message.parts == [part]
