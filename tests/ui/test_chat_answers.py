"""What answers a key in the status row, and what nobody has read when a session is left."""

from dataclasses import replace

from tests.ui.test_chat_state import after
from tui_app.events import (
    AssistantDelta,
    CompactionProgress,
    CompactionStart,
    Notice,
    ToolCall,
    TurnEnd,
    TurnStart,
)
from tui_app.ui.chat.state import EARLIER, ChatState, answering, bringing, moved_on, noticed, unread_of


def test_what_answers_a_key_gives_the_row_back_also_while_something_runs() -> None:
    state = answering(after(TurnStart(text="go")), "No.")
    assert (state.status.kind, state.status.notes) == ("connecting", ("No.",))
    assert answering(state, "Not now.").status.notes == ("Not now.",)
    assert moved_on(answering(state, "Not now.")) == after(TurnStart(text="go"))
    start = CompactionStart(job="j", trigger="manual", tokens_before=9, messages_before=3, model="m")
    further = CompactionProgress(job="j", part=2, parts=3, tokens_written=5)
    state = after(further, state=answering(after(start), "No."))
    assert (moved_on(state).status.notes, moved_on(state).status.part) == ((), 2), "time goes on"
    mind = after(Notice(text="Mind this."), state=state)
    assert moved_on(mind).status.notes == ("Mind this.",)
    told = after(Notice(text="Mind this."))
    assert moved_on(told) == told, "what must not be missed stays"
    assert moved_on(answering(told, "No.")) == told


def test_what_answers_a_key_outlasts_what_goes_on_meanwhile() -> None:
    state = answering(after(TurnStart(text="go"), AssistantDelta(text="Well, ")), "No.")
    state = after(AssistantDelta(text="yes."), state=state)
    assert (state.status.kind, state.status.notes) == ("answering", ("No.",))
    state = after(ToolCall(tool_call_id="a", name="grep", args="{}"), state=state)
    assert (state.status.kind, state.status.notes) == ("tool", ("No.",))
    assert moved_on(state).status == replace(state.status, notes=(), under=None), "the tool runs on"
    ended = after(TurnEnd(outcome="done"), state=state)
    assert ended.status.notes == ()


def test_what_nobody_has_read_is_brought_into_the_next_session_once() -> None:
    left = after(Notice(text="two"), Notice(text="two"), state=noticed(after(Notice(text="one"))))
    assert unread_of(left) == ("two", "two")
    state = bringing(after(Notice(text="three")), unread_of(left))
    assert (state.notices, state.unread) == ((f"{EARLIER}two", "three"), 2)
    again = bringing(ChatState(), unread_of(state))
    assert again.notices == (f"{EARLIER}two", f"{EARLIER}three")
    assert unread_of(noticed(again)) == ()


def test_what_is_reported_as_a_turn_ends_is_not_written_over_by_its_costs() -> None:
    state = after(TurnStart(text="go"), Notice(text="The model answered nothing."), TurnEnd(outcome="done"))
    assert state.status.text == "The model answered nothing."
    refused = after(TurnEnd(outcome="done"), state=answering(after(TurnStart(text="go")), "No."))
    assert refused.status.text == "", "what answered a key has gone with the turn"
