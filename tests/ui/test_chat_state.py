"""The chat's state: how events change it, without a screen."""

from dataclasses import replace

import pytest

from tui_app.context.compaction.guards import Veto
from tui_app.conversation.hooks.hook_outcomes import Run, before_compaction
from tui_app.events import (
    ApprovalDecided,
    ApprovalDecision,
    ApprovalRequested,
    AssistantDelta,
    BranchMerged,
    CompactionAwaited,
    CompactionComplete,
    CompactionProgress,
    CompactionProposed,
    CompactionStart,
    Error,
    GaugeChanged,
    GoalChecked,
    GoalEnded,
    HookOutcome,
    HookRan,
    MemoryPressure,
    ModelChange,
    Notice,
    Payload,
    TaskEnded,
    TaskResumed,
    TaskStarted,
    ToolCall,
    ToolOutput,
    ToolResult,
    Trigger,
    TurnEnd,
    TurnRetry,
    TurnStart,
    UserMessage,
)
from tui_app.session.event_heads import prompt_line
from tui_app.ui.chat.compaction_outcome import CANCELLED, outcome_text
from tui_app.ui.chat.presenter import running_compaction
from tui_app.ui.chat.state import (
    EARLIER,
    NOTICES,
    PROPOSED,
    ChatState,
    advance,
    answering,
    bringing,
    moved_on,
    unread_of,
)
from tui_app.ui.panels.status import Status
from tui_app.usage import Breakdown, ContextUsage, ContextWindow

FAILED = CompactionComplete(job="j", outcome="failed", trigger="manual", reason="the model gave no answer")


def test_another_model_that_counts_otherwise_is_said_with_both_sizes() -> None:
    usage = ContextUsage(
        parts=Breakdown(user=13_200), window=ContextWindow(limit=32_000, source="model"), messages=3
    )
    other = replace(usage, parts=Breakdown(user=15_800), scale=1.2)
    switched = after(GaugeChanged(usage=usage), ModelChange(old="a:b", new="c:d"), GaugeChanged(usage=other))
    assert switched.status.text == "Now answering: c:d"
    assert switched.status.notes == ("13.2k here, 15.8k with its tokenizer",)
    same = after(GaugeChanged(usage=usage), ModelChange(old="a:b", new="c:d"), GaugeChanged(usage=usage))
    assert same.status.notes == ()


def test_what_a_merge_has_added_is_said_in_the_tokens_of_the_model() -> None:
    usage = ContextUsage(
        parts=Breakdown(user=4_000), window=ContextWindow(limit=32_000, source="model"), messages=3, scale=0.8
    )
    event = BranchMerged(text="", branch="b", name="try", until=9, tokens={"memory": 300})
    merged = after(GaugeChanged(usage=usage), event)
    assert merged.status.text.startswith("Merged try: 0.2k added, 0 files")


def after(*events: Payload, state: ChatState | None = None) -> ChatState:
    state = state or ChatState()
    for event in events:
        state = advance(state, event, 0.0)
    return state


def test_notices_are_unread_until_somebody_looks() -> None:
    state = after(Notice(text="one"), Notice(text="two"), Notice(text="No.", passing=True))
    assert (state.notices, state.unread, state.status.text) == (("one", "two"), 2, "No.")
    read = replace(state, unread=0)
    assert (read.notices, read.unread) == (("one", "two"), 0)
    assert after(Notice(text="three"), state=read).unread == 1


@pytest.mark.parametrize("reason", ["the result came too late", "The server was away for long: " * 4])
def test_a_notice_of_a_compaction_has_its_reason_once_and_whole(reason: str) -> None:
    ended = CompactionComplete(job="j", outcome="discarded", trigger="manual", reason=reason)
    assert after(ended).notices == (f"Compaction discarded: {reason.strip()}. Nothing changed.",)


def test_the_end_of_a_review_is_said_also_where_the_job_was_in_the_background() -> None:
    start = CompactionStart(job="j", trigger="background", tokens_before=9, messages_before=3, model="m")
    proposed = CompactionProposed(job="j", summary="s")
    ended = CompactionComplete(job="j", outcome="discarded", trigger="background", reason="no")
    assert after(start, proposed).status.text == PROPOSED
    assert after(start, proposed, ended).status.text == "Compaction discarded: no. Nothing changed."
    busy = after(start, Notice(text="Something else.", passing=True))
    assert after(ended, state=busy).status.text == "Something else."


def test_only_the_newest_notices_are_kept() -> None:
    state = after(*(Notice(text=f"notice {number}") for number in range(NOTICES + 5)))
    assert NOTICES == 200
    assert len(state.notices) == NOTICES
    assert (state.notices[0], state.notices[-1]) == ("notice 5", f"notice {NOTICES + 4}")
    for event in (Error(kind="network", message="Gone.", hint="Wait."), FAILED):
        grown = after(event, state=state)
        assert len(grown.notices) == NOTICES
        assert grown.notices[0] == "notice 6"
        assert grown.notices[-1] != state.notices[-1]


STOPPED = CompactionComplete(
    job="j",
    outcome="cancelled",
    trigger="blocking",
    reason="the request is sent anyway, cut to fit if necessary",
)
WHAT_FOLLOWS = "Compaction cancelled; the request is sent anyway, cut to fit if necessary"


def begun(trigger: Trigger) -> CompactionStart:
    return CompactionStart(job="j", trigger=trigger, tokens_before=900, messages_before=9, model="m")


@pytest.mark.parametrize("start", ["blocking", "background"])
def test_a_stopped_compaction_that_a_request_waited_for_says_what_comes_next(start: Trigger) -> None:
    began: list[Payload] = [TurnStart(text="hello"), begun(start)]
    if start == "background":
        began.append(CompactionAwaited(job="j", trigger="blocking"))
    state = after(*began, replace(STOPPED, trigger=start))
    assert not state.compacting
    assert state.notices == (
        f"{WHAT_FOLLOWS}. Compaction will be retried later. ctrl+g compacts the conversation.",
    )
    assert state.turn, "it goes on"
    assert (state.status.kind, state.status.notes) == ("connecting", (WHAT_FOLLOWS,))
    state = after(TurnEnd(outcome="cancelled"), state=state)
    assert state.status.text == "Stopped. Nothing was lost."


def test_the_status_names_whoever_writes_and_the_total_has_what_a_failure_cost() -> None:
    def step(model: str) -> Payload:
        return CompactionProgress(job="j", part=1, parts=2, tokens_written=0, model=model)

    state = after(begun("manual"))
    assert state.status.model == "m"
    state = after(step("cheap:one"), state=state)
    assert state.status.model == "cheap:one"
    state = after(step("own:two"), state=state)
    assert (state.status.model, state.status.part, state.status.parts) == ("own:two", 1, 2)
    failed = CompactionComplete(job="j", outcome="failed", trigger="manual", reason="no", cost_usd=0.25)
    assert after(failed, failed, state=state).costs.usd == 0.5
    awaited = CompactionAwaited(job="j", trigger="blocking", model="cheap:one")
    status = after(begun("background"), awaited).status
    assert (status.model, status.trigger) == ("cheap:one", "background"), "as its entry will say"


def test_a_compaction_stopped_by_hand_says_as_before_that_nothing_changed() -> None:
    done = CompactionComplete(job="j", outcome="cancelled", trigger="manual")
    state = after(begun("manual"), done)
    assert (state.status.text, state.status.notes, state.notices) == (CANCELLED, (), ())


def test_a_veto_in_the_background_is_a_notice_and_leaves_the_row_alone() -> None:
    runs = [Run(HookRan(hook="preCompact", command="guard.sh", outcome="vetoed"), "a release is under way")]
    veto = before_compaction(runs)
    assert isinstance(veto, Veto)
    reason = veto.reason
    done = CompactionComplete(job="j", outcome="vetoed", trigger="background", reason=reason)
    state = after(TurnStart(text="hello"), begun("background"), done)
    assert state.background is None
    assert state.status.kind == "connecting"
    (notice,) = state.notices
    assert notice.startswith("Compaction vetoed: ")
    assert notice.endswith(f"{reason}. Nothing changed.")
    assert notice.count("veto") == 1, "it is said once"


@pytest.mark.parametrize("outcome", ["ok", "vetoed", "cancelled"])
def test_hooks_that_did_as_they_should_are_no_notice(outcome: HookOutcome) -> None:
    ran = HookRan(hook="preTool", command="guard.sh", outcome=outcome, output="words")
    assert after(ran) == ChatState()


@pytest.mark.parametrize("outcome", ["failed", "timeout", "missing", "overruled"])
def test_hooks_that_failed_are_a_notice_that_says_that_nothing_changed(outcome: HookOutcome) -> None:
    ran = HookRan(hook="preTool", command="a\x1b[2Jb", outcome=outcome, reason="ended with\nexit code 7.")
    said = "The preTool hook ab ended with exit code 7. Nothing changed."
    state = after(ran)
    assert (state.notices, state.status.text) == ((said,), said)


def test_short_memory_is_said_and_noted() -> None:
    state = after(MemoryPressure(rss_mb=1_100, limit_mb=1_000, action="compact"))
    assert state.status.text == "Memory is short (1,100 of 1,000 MB): the history is compacted."
    assert state.notices == (state.status.text,)


def test_nothing_is_said_beside_a_question_while_calls_beside_it_begin_and_end() -> None:
    question = ApprovalRequested(id="1", tool_call_id="1", tool="run_command", kind="command", subject="echo")
    begins = ToolCall(tool_call_id="2", name="grep", args="{}")
    ends = ToolResult(tool_call_id="2", name="grep", text="x")
    state = after(TurnStart(text="Go."), question, begins, ends)
    assert state.question == question
    assert state.status == Status()


def test_how_often_it_was_tried_does_not_stay_under_the_error() -> None:
    retry = TurnRetry(attempt=5, attempts=5, wait_s=1.0, reason="It is overloaded.")
    state = after(TurnStart(text="Go."), retry, TurnEnd(outcome="failed"))
    assert state.status.text == ""


def test_a_background_compaction_in_one_part_has_no_share_done() -> None:
    def heard(part: int, parts: int) -> float | None:
        said = CompactionProgress(job="j", part=part, parts=parts, tokens_written=0, model="m")
        return after(begun("background"), said).background

    assert after(begun("background")).background == -1.0
    assert heard(1, 1) == -1.0
    assert heard(2, 4) == 0.25


def test_the_timeline_names_what_compacts_now() -> None:
    def row(*payloads: Payload) -> str:
        entry = running_compaction(after(*payloads))
        return entry.title if entry else ""

    part = CompactionProgress(job="j", part=3, parts=4, tokens_written=9, model="one:two")
    done = CompactionComplete(job="j", outcome="success", trigger="background")
    assert row() == ""
    assert row(begun("background")) == "background"
    assert row(begun("background"), part) == "background · 50%"
    assert row(begun("model_switch")) == "model switch"
    assert row(begun("manual"), part) == "manual · 50%"
    assert row(begun("background"), part, done) == ""


def test_while_one_of_several_calls_runs_the_row_names_it() -> None:
    state = after(
        TurnStart(text="Go."),
        ToolCall(tool_call_id="a", name="grep", args="{}"),
        ToolCall(tool_call_id="b", name="run_command", args="{}"),
        ToolResult(tool_call_id="b", name="run_command", text="Done."),
    )
    assert (state.status.kind, state.status.text) == ("tool", "grep")
    state = advance(state, ToolResult(tool_call_id="a", name="grep", text="None."), 5.0)
    assert state.status.kind == "connecting"


def test_what_a_running_command_prints_stays_when_another_call_ends() -> None:
    state = after(
        TurnStart(text="Go."),
        ToolCall(tool_call_id="a", name="run_command", args="{}"),
        ToolCall(tool_call_id="b", name="run_command", args="{}"),
        ToolOutput(tool_call_id="a", text="one\n"),
        ToolOutput(tool_call_id="b", text="other\n"),
    )
    assert state.output == "other\n"
    state = advance(state, ToolResult(tool_call_id="b", name="run_command", text="other"), 1.0)
    assert advance(state, ToolOutput(tool_call_id="a", text="two\n"), 2.0).output == "one\ntwo\n"
    assert after(ToolResult(tool_call_id="a", name="run_command", text="one"), state=state).output == ""


def test_calls_that_a_stopped_turn_left_do_not_run_in_the_next() -> None:
    state = after(
        TurnStart(text="Go."),
        ToolCall(tool_call_id="a", name="grep", args="{}"),
        TurnEnd(outcome="cancelled"),
        TurnStart(text="Again."),
        ToolCall(tool_call_id="b", name="ls", args="{}"),
        ToolResult(tool_call_id="b", name="ls", text="x"),
    )
    assert state.status.kind == "connecting"


def test_a_reason_that_was_cut_has_no_full_stop_behind_it() -> None:
    done = replace(FAILED, reason="the summary is longer than " * 9)
    text, _ = outcome_text(done)
    assert "…." not in text
    assert text.endswith("… Nothing changed.")
    text, _ = outcome_text(replace(done, reason="It is busy."))
    assert text == "Compaction failed: It is busy. Nothing changed."


@pytest.mark.parametrize(
    ("by", "model", "words"),
    [("heuristic", "", "without a model"), ("marker", "", "as a marker"), ("model", "gpt-5", "by gpt-5")],
)
def test_a_summary_of_somebody_who_stood_in_is_noted(by: str, model: str, words: str) -> None:
    done = replace(FAILED, outcome="success", performed_by=by, model=model, reason="The server is down")
    assert after(done).notices == (f"Summary written {words}: The server is down.",)
    assert after(replace(done, reason="")).notices == ()


@pytest.mark.parametrize("prompt", ["port the ferry times " * 12, "first line\nsecond line", "\n  short  \n"])
def test_a_session_is_called_the_same_now_and_when_it_is_opened_again(prompt: str) -> None:
    assert after(UserMessage(text=prompt)).title == prompt_line(prompt)
    assert after(UserMessage(text=prompt), state=ChatState(title="harbour")).title == "harbour"


# Feedback in the status row, and unread messages when a session is closed.


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
    left = after(Notice(text="two"), Notice(text="two"), state=replace(after(Notice(text="one")), unread=0))
    assert unread_of(left) == ("two", "two")
    state = bringing(after(Notice(text="three")), unread_of(left))
    assert (state.notices, state.unread) == ((f"{EARLIER}two", "three"), 2)
    again = bringing(ChatState(), unread_of(state))
    assert again.notices == (f"{EARLIER}two", f"{EARLIER}three")
    assert unread_of(replace(again, unread=0)) == ()


def test_what_is_reported_as_a_turn_ends_is_not_written_over_by_its_costs() -> None:
    state = after(TurnStart(text="go"), Notice(text="The model gave no answer."), TurnEnd(outcome="done"))
    assert state.status.text == "The model gave no answer."
    refused = after(TurnEnd(outcome="done"), state=answering(after(TurnStart(text="go")), "No."))
    assert refused.status.text == "", "what answered a key has gone with the turn"


def test_what_is_written_of_a_summary_is_kept_also_in_the_background() -> None:
    start = CompactionStart(job="1-1", trigger="background", model="m", tokens_before=9, messages_before=2)

    def wrote(text: str, part: int = 1) -> CompactionProgress:
        return CompactionProgress(job="1-1", part=part, parts=2, tokens_written=3, text=text)

    first = after(start, wrote("One "), wrote("two"))
    assert first.writing == (1, "One two")
    assert first.writes_summary
    assert after(wrote("Three", 2), state=first).writing == (2, "Three"), "each part begins anew"
    over = CompactionComplete(job="1-1", outcome="success", trigger="background")
    assert not after(over, state=first).writes_summary
    assert not after(start, state=first).writes_summary


def test_commands_in_the_background_are_counted_also_those_of_an_earlier_visit() -> None:
    kept = after(TaskResumed(id="t1", command="make watch"))
    assert kept.tasks == {"t1"}
    two = after(TaskStarted(id="t2", command="make serve"), state=kept)
    assert len(two.tasks) == 2
    assert after(TaskEnded(id="t1", command="make watch"), state=two).tasks == {"t2"}


CHECK = ApprovalRequested(id="q", tool_call_id="", tool="run_command", kind="command", subject="make")


@pytest.mark.parametrize("decision", ["allowed", "denied", "cancelled"])
@pytest.mark.parametrize(
    "end", [GoalEnded(goal=1, outcome="off"), GoalChecked(goal=1, turn=1, held=True, exit_code=0)]
)
def test_nothing_counts_on_once_a_check_that_was_asked_about_is_over(
    decision: ApprovalDecision, end: Payload
) -> None:
    decided = ApprovalDecided(
        id="q", tool_call_id="", tool="run_command", subject="make", decision=decision, by="person"
    )
    state = after(TurnStart(text="x"), TurnEnd(outcome="done"), CHECK, decided)
    assert state.status.busy is (decision == "allowed")
    ended = after(end, state=state)
    assert (ended.status.busy, ended.status.text) == (False, end.headline())
