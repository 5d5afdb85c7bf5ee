"""What a stage has hidden from the model is still read by code when something is summarised."""

from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart

from tests.context.facts_kit import call, characters, history, says, shell, texts, user
from tests.context.governor_kit import plain_counter
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.counting.prices import Ledger
from tui_app.context.facts import extract_facts
from tui_app.context.history import ListHistory, Originals, original_view
from tui_app.context.policy import PLIMSOLL, Archive, Trim
from tui_app.context.summaries.prompt import message_text
from tui_app.context.summaries.writer import (
    ExtractiveSummariser,
    Progress,
    Summary,
    SummaryTask,
    extractive_summary,
)
from tui_app.context.tool_results.archive import archived, heuristic_digest
from tui_app.context.tool_results.normalise import trim
from tui_app.context.view import Change, Item, Rewrite, to_messages
from tui_app.context.windows import resolve_window
from tui_app.events import CompactionComplete, Payload
from tui_app.usage import Breakdown

FAILURE = "collected 1 item\n" * 200 + "E   ValueError: tide is too low\nExit code 1"
DECLINED = "The user said: no, always keep logs."
LISTING = "\n".join(f"src/harbour/pier{number}.py: class PierNumber{number}" for number in range(40))


def conversation() -> list[ModelMessage]:
    """Work of which almost everything stands in tool results."""
    return [
        *user("Hello."),
        *says("Well. " * 800),
        *user("Find out why the pier test fails. Never touch the lighthouse."),
        *call("grep", {"pattern": "Pier"}, LISTING),
        *shell("pytest tests/test_pier.py", FAILURE),
        *call("ask", {"what": "may I delete it"}, "It was not run. " * 20 + DECLINED, "denied"),
        *says("I am looking for the reason."),
        *user("Go on."),
        *says("ok"),
    ]


def hidden(view: ListHistory) -> None:
    """Have stages hide every result."""
    items = [item for item in view.items() if isinstance(item.message.parts[0], ToolReturnPart)]
    cut = trim(view.items(), Trim(chars=300, keep_messages=0))
    assert cut is not None
    view.rewrite(cut)
    now = [item for item in view.items() if item.key in {one.key for one in items}]
    view.rewrite(archived(now, heuristic_digest(now, Archive(), view.items())))


def view_of(messages: list[ModelMessage]) -> ListHistory:
    view = ListHistory(plain_counter())
    view.sync(messages)
    view.fix(resolve_window(setting=8_000), Breakdown(system=50), "m")
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
    """The newest messages stay, and a stage may have hidden results among them, too."""
    view = view_of(conversation())
    hidden(view)
    policy = replace(PLIMSOLL, recent_share=0.2)
    _, text = await compacted(view, ExtractiveSummariser(characters), policy)
    assert any("Result archived" in message_text(item.message) for item in view.items()), "some stayed"
    assert "ValueError: tide is too low" in text


class _Listening:
    """A model that notes what it is given."""

    model_name = "listening"

    def __init__(self) -> None:
        self.read: list[str] = []

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
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
    whole = original_view(was, shown, [1])
    assert whole.in_sight == {2, 4}
    assert whole.items == tuple(was)


STAYS = {5, 6, 7, 8, 9}


def test_what_is_solved_in_sight_is_not_open() -> None:
    items = history(
        user("Build it."),
        shell("make", "main.c:1: error: broken", "failed"),
        says("Hm."),
        shell("make", "done"),
    )
    assert texts(extract_facts(items[:4]), "error") == ["`make` · failed: main.c:1: error: broken"]
    assert texts(extract_facts(items, STAYS), "error") == []
    assert "## Errors" not in extractive_summary(items, budget_tokens=400, count=characters, in_sight=STAYS)


def test_an_earlier_summarys_error_that_is_solved_in_sight_goes() -> None:
    previous = "## Errors\n- `make` · failed: main.c:1: error: broken (#2)"
    items = history(user("Go on."), says("Hm."), says("ok"), says("ok"), shell("make", "done"))
    kept = extractive_summary(items[:4], budget_tokens=400, count=characters, previous=previous)
    assert "failed: main.c" in kept
    gone = extractive_summary(items, budget_tokens=400, count=characters, previous=previous, in_sight=STAYS)
    assert "failed: main.c" not in gone


def test_what_is_answered_in_sight_awaits_nothing() -> None:
    items = history(user("Build it."), says("ok"), says("ok"), says("Shall I push it?"), user("Yes."))
    assert texts(extract_facts(items[:4]), "question") == ["Shall I push it? · awaits an answer"]
    assert texts(extract_facts(items, STAYS), "question") == []


def test_plans_that_were_followed_in_sight_are_no_next_steps() -> None:
    items = history(user("Build."), says("a"), says("b"), says("Next I will run the tests."), says("Done."))
    alone = extractive_summary(items[:4], budget_tokens=400, count=characters)
    assert "## Next steps\n- Next I will run the tests." in alone
    assert "## Next steps" not in extractive_summary(
        items, budget_tokens=400, count=characters, in_sight=STAYS
    )


def test_the_task_list_is_the_newest_one() -> None:
    def todos(state: str) -> list[ModelMessage]:
        return call("TodoWrite", {"todos": [{"content": "Paint the pier", "status": state}]})

    items = history(user("Paint."), says("ok"), todos("pending"), todos("completed"))
    assert texts(extract_facts(items[:4]), "todo") == ["Paint the pier · open"]
    assert texts(extract_facts(items, STAYS), "todo") == []


def test_nothing_is_quoted_from_what_stays() -> None:
    items = history(
        user("Begin with alpha."), says("Right."), says("ok"), says("ok"), user("Never use beta.")
    )
    assert "beta" not in str(extract_facts(items, STAYS))
    assert "beta" not in extractive_summary(items, budget_tokens=400, count=characters, in_sight=STAYS)


def test_a_form_is_noted_when_a_rewrite_is_applied() -> None:
    view = view_of(conversation())
    item = view.items()[4]
    part = item.message.parts[0]
    assert isinstance(part, ToolReturnPart)
    short = ModelRequest(parts=[replace(part, content="…")])
    view.rewrite(Rewrite(stage="trim", changes=(Change(key=item.key, message=short),)))
    assert list(view.originals(view.items()))[4].message.parts == [part]
