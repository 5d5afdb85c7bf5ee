"""Both views as folds of the log: replay equals the live view, and undo restores the earlier one."""

import ast
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.session.plain_view import PlainView
from tui_app import session as room
from tui_app.events import (
    PAYLOADS,
    AssistantMessage,
    BackgroundStep,
    CheckpointCreated,
    CompactionAcknowledged,
    CompactionComplete,
    CompactionEdited,
    CompactionRedone,
    CompactionUndone,
    Error,
    FolderInstructions,
    FullnessTold,
    GoalChecked,
    GoalEnded,
    GoalSet,
    HookRan,
    MemoryInbox,
    MessageExcluded,
    MessagePinned,
    ModelChange,
    Payload,
    RewriteUndone,
    Rewritten,
    SessionBackground,
    SessionClear,
    SessionRestored,
    SessionRewind,
    SystemMessage,
    ToolArchived,
    ToolCall,
    ToolResult,
    ToolTrimmed,
    Truncation,
    UserMessage,
    payload_from_json,
    payload_to_json,
)
from tui_app.events.base import Payload as FormFoldsPayload
from tui_app.session.event_heads import Head, head_of
from tui_app.session.views.agent_view import AgentView, fold_agent_view, in_ranges
from tui_app.session.views.user_view import UserView, fold_user_view
from tui_app.usage import ContextWindow, Overhead

TOKENS = {"user": 3}
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "user",
                "answer",
                "tool",
                "system",
                "compact",
                "undo",
                "redo",
                "clear",
                "rewind",
                "failed",
                "pin",
                "edit",
                "unedit",
                "back",
                "exclude",
                "include",
            ]
        ),
        st.integers(0, 1_000),
    ),
    max_size=40,
)


@dataclass
class Session:
    """A log being written, with both views live."""

    heads: list[Head] = field(default_factory=list)
    agent: AgentView = field(default_factory=AgentView)
    user: UserView = field(default_factory=UserView)

    def add(self, payload: Payload) -> int:
        # Through the text form, as stored in the log.
        seq = len(self.heads) + 1
        head = Head.from_text(seq, payload.TYPE, 1.5, head_of(seq, 1.5, payload).to_text())
        self.heads.append(head)
        self.agent.apply(head)
        self.user.apply(head)
        return seq

    @property
    def visible(self) -> list[int]:
        return [head.seq for head in self.agent.visible()]

    def compact(self, choice: int) -> int | None:
        """Compact some of the oldest messages, except system prompts; a first run may stay before them.

        Of any three choices, one keeps such a run, and one is acknowledged.
        """
        types = {head.seq: head.type for head in self.agent.visible()}
        old = [seq for seq in self.visible if types[seq] != SystemMessage.TYPE]
        first = choice % (len(old) + 1) // 2 if choice % 3 == 0 else 0
        leaving = set(old[first : choice % (len(old) + 1)])
        if not leaving:
            return None
        behind = old[first - 1] if first else 0
        compaction = self.add(
            CompactionComplete(
                job="j", outcome="success", trigger="manual", summary="s", behind=behind,
                removed=ranges_of(self.visible, leaving), tokens={"summary": 2},
            )
        )  # fmt: skip
        if choice % 3 == 1:
            self.add(CompactionAcknowledged(job="j", text="I see.", tokens=TOKENS))
        return compaction

    def play(self, step: str, choice: int) -> None:
        match step:
            case "user":
                self.add(UserMessage(text=f"prompt {choice}", tokens=TOKENS))
            case "system":
                self.add(SystemMessage(text="be brief", tokens=TOKENS))
            case "answer":
                self.add(AssistantMessage(text="done", model="m", input_tokens=choice, tokens=TOKENS))
            case "tool":
                call = f"c{choice % 3}"
                self.add(AssistantMessage(text="", call_ids=(call,), model="m"))
                self.add(ToolCall(tool_call_id=call, name="grep", args="{}"))
                self.add(ToolResult(tool_call_id=call, name="grep", text="hit", tokens=TOKENS))
            case "compact":
                self.compact(choice)
            case "undo" if self.agent.compactions:
                self.add(CompactionUndone(compaction=self.agent.compactions[-1]))
            case "redo" if self.agent.undone:
                self.redo(self.agent.undone[-1])
            case "clear" | "pin":
                pin = MessagePinned(seq=1 + choice % 8, pinned=bool(choice % 3))
                self.add(pin if step == "pin" else SessionClear())
            case "rewind" | "failed" | "back":
                self.rewind(choice, step)
            case _:
                self.edit(choice, step)
                self.exclude(choice, step)

    def exclude(self, choice: int, step: str) -> None:
        """Exclude some visible messages, or include those of an earlier exclusion."""
        exclusions, visible = [*self.agent.exclusions], self.visible
        if step == "exclude" and visible:
            self.add(MessageExcluded(seqs=tuple(visible[choice % len(visible) :][: choice % 4])))
        elif step == "include" and exclusions:
            self.add(RewriteUndone(rewrite=exclusions[choice % len(exclusions)]))

    def redo(self, undone: int) -> None:
        """Redo a compaction or an exclusion."""
        if self.agent.is_exclusion(undone):
            seqs = tuple(seq for seq, _ in self.heads[undone - 1].removed if seq in self.visible)
            self.add(MessageExcluded(seqs=seqs, again=undone))
        else:
            self.add(CompactionRedone(compaction=undone))

    def edit(self, choice: int, step: str) -> None:
        """Edit a summary, active or undone, or undo such an edit."""
        compactions = [head.seq for head in self.heads if head.type == CompactionComplete.TYPE]
        edits = [head.seq for head in self.heads if head.type == CompactionEdited.TYPE]
        if step == "unedit" and edits:
            self.add(RewriteUndone(rewrite=edits[choice % len(edits)]))
        elif step == "edit" and compactions:
            compaction = compactions[choice % len(compactions)]
            self.add(CompactionEdited(compaction=compaction, summary="other", tokens={"summary": 9}))

    def rewind(self, choice: int, step: str) -> None:
        if step == "back":
            for cut in self.agent.reversible:
                self.add(SessionRestored(cut=cut))
            return
        failed = step == "failed"
        prompts = [head.seq for head in self.heads if head.type == UserMessage.TYPE]
        if prompts:
            to = prompts[-1] if failed else prompts[choice % len(prompts)]
            self.add(SessionRewind(to=to, failed=failed))

    @property
    def states(self) -> list[str]:
        return [row.state for row in self.user.entries]


def ranges_of(visible: list[int], leaving: set[int]) -> tuple[tuple[int, int], ...]:
    return tuple((seq, seq) for seq in visible if seq in leaving)


def played(steps: list[tuple[str, int]]) -> Session:
    session = Session()
    for step, choice in steps:
        session.play(step, choice)
    return session


@given(STEPS)
def test_replay_is_what_was_live(steps: list[tuple[str, int]]) -> None:
    session = played(steps)
    assert fold_agent_view(session.heads) == session.agent
    assert fold_user_view(session.heads) == session.user


@given(STEPS, st.integers(1, 1_000))
def test_a_summary_stands_where_it_was_put_and_what_acknowledges_it_behind_it(
    before: list[tuple[str, int]], choice: int
) -> None:
    session = played(before)
    compaction = session.compact(choice)
    if compaction is None:
        return
    for _ in range(2):
        view, head = session.visible, {head.seq: head for head in session.agent.visible()}[compaction]
        place = view.index(compaction)
        system = [head.type == SystemMessage.TYPE for head in session.agent.visible()[:place]]
        assert view[place - 1] == head.ref if head.ref else all(system)
        acknowledged = compaction + 1 if choice % 3 == 1 else 0
        assert (acknowledged in view) == bool(acknowledged)
        assert not acknowledged or view[place + 1] == acknowledged
        session.add(CompactionUndone(compaction=compaction))
        assert not {compaction, acknowledged} & set(session.visible)
        session.add(CompactionRedone(compaction=compaction))
        assert session.visible == view


def test_a_log_without_a_place_puts_the_summary_in_front() -> None:
    session = Session()
    for _ in range(3):
        session.play("user", 1)
    done = CompactionComplete(job="j", outcome="success", trigger="manual", removed=((2, 2),))
    stored = payload_to_json(done)
    del stored["behind"]
    session.add(payload_from_json(done.TYPE, stored))
    assert session.visible == [4, 1, 3]


@given(STEPS)
def test_view_is_sound(steps: list[tuple[str, int]]) -> None:
    session = played(steps)
    assert len(set(session.visible)) == len(session.visible)
    assert not set(session.agent.compactions) & set(session.agent.undone)
    assert session.agent.compactions == sorted(session.agent.compactions)
    shown = {head.seq for head in session.agent.visible() if head.type == CompactionComplete.TYPE}
    assert shown <= set(session.agent.compactions)
    sizes = session.agent.message_weights()
    assert [weighed.key for weighed in sizes] == session.visible


@given(STEPS, STEPS, st.integers(1, 1_000))
def test_undo_gives_back_the_very_view(
    before: list[tuple[str, int]], after: list[tuple[str, int]], choice: int
) -> None:
    session = played(before)
    view = session.visible
    compaction = session.compact(choice)
    if compaction is None:
        return
    standing = list(session.agent.compactions)
    # Messages sent in the meantime stay after it.
    said = [session.add(UserMessage(text="more")) for step, _ in after if step == "user"]
    compacted = session.visible
    session.add(CompactionUndone(compaction=compaction))
    assert session.visible == [*view, *said]
    session.add(CompactionRedone(compaction=compaction))
    assert session.visible == compacted
    assert session.agent.compactions == standing


@given(STEPS, st.lists(st.integers(1, 1_000), min_size=1, max_size=4))
def test_undoing_all_compactions_brings_everything_back(
    before: list[tuple[str, int]], choices: list[int]
) -> None:
    session = played([step for step in before if step[0] in {"user", "answer", "tool", "system"}])
    views = [session.visible]
    for choice in choices:
        if session.compact(choice) is not None:
            views.append(session.visible)
    while session.agent.compactions:
        assert session.visible == views.pop()
        session.play("undo", 0)
    assert session.visible == views.pop()
    for _ in choices:
        session.play("redo", 0)
    assert session.agent.undone == []


@given(STEPS, st.integers(0, 1_000), st.lists(st.integers(1, 1_000), max_size=3))
def test_rewinding_past_compactions_brings_the_full_history_back(
    before: list[tuple[str, int]], choice: int, compactions: list[int]
) -> None:
    session = played([step for step in before if step[0] in {"user", "answer", "tool", "system"}])
    prompts = [head.seq for head in session.heads if head.type == UserMessage.TYPE]
    if not prompts:
        return
    to = prompts[choice % len(prompts)]
    expected = [seq for seq in session.visible if seq < to]
    for each in compactions:
        session.compact(each)
    session.add(SessionRewind(to=to))
    assert session.visible == expected
    assert session.agent.compactions == []


def test_rewinding_behind_two_compactions_leaves_both_undoable() -> None:
    session = Session()
    for _ in range(3):
        session.play("user", 1)
        session.play("answer", 1)
    full = session.visible
    first = session.compact(2)
    once = session.visible
    second = session.compact(3)
    later = session.add(UserMessage(text="later"))
    session.add(SessionRewind(to=later))
    assert session.agent.compactions == [first, second]
    session.play("undo", 0)
    assert session.visible == once
    session.play("undo", 0)
    assert session.visible == full


def test_what_was_measured_counts_again_once_a_rewrite_is_undone() -> None:
    session, overhead = Session(), Overhead(ContextWindow(limit=10_000, source="model"))

    def total() -> int:
        return session.agent.tally().usage(overhead, model="m").total

    first = session.add(UserMessage(text="look", tokens=TOKENS))
    session.add(AssistantMessage(text="so", model="m", input_tokens=90, output_tokens=9, tokens=TOKENS))
    assert total() == 99
    excluded = session.add(MessageExcluded(seqs=(first,)))
    assert total() < 99
    session.add(RewriteUndone(rewrite=excluded))
    assert total() == 99
    trimmed = session.add(ToolTrimmed(changes=(Rewritten(seq=first, tokens={"user": 1}),)))
    session.add(SessionClear())
    session.add(SessionRestored(cut=trimmed + 1))
    session.add(RewriteUndone(rewrite=trimmed))
    assert total() == 99


def test_a_rewind_marks_what_it_leaves_behind_and_is_a_row_of_its_own() -> None:
    session = Session()
    for _ in range(2):
        session.play("user", 1)
        session.play("tool", 1)
    session.compact(3)
    later = session.add(UserMessage(text="later"))
    session.add(Error(kind="auth", message="No key.", hint="Set one."))
    session.add(SessionRewind(to=later))
    assert session.states == ["ok"] * 5 + ["undone", "failed", "ok"]
    assert session.user.entries[-1].title == 'Rewound to before "later"'
    assert [row.left for row in session.user.entries] == [False] * 5 + [True, True, False]
    assert not session.agent.can_rewind(later)
    assert session.agent.can_rewind(1), "it is in the summary"
    session.add(SessionRewind(to=1))
    assert session.states == ["undone"] * 6 + ["failed", "ok", "ok"]
    assert (session.visible, session.agent.can_rewind(1)) == ([], False)


def test_clear_leaves_nothing_to_undo() -> None:
    session = Session()
    for _ in range(3):
        session.play("user", 1)
    session.compact(2)
    session.compact(2)
    session.play("clear", 0)
    assert (session.visible, session.agent.compactions, session.agent.undone) == ([], [], [])
    session.play("user", 1)
    assert len(session.visible) == 1


def test_failed_prompt_leaves_the_view_and_is_marked() -> None:
    session = Session()
    session.play("user", 1)
    session.play("answer", 1)
    prompt = session.add(UserMessage(text="unanswered"))
    session.add(Error(kind="auth", message="No key.", hint="Set one."))
    session.add(SessionRewind(to=prompt, failed=True))
    assert session.visible == [1, 2]
    assert [(row.kind, row.state) for row in session.user.entries][-2:] == [
        ("user", "failed"),
        ("error", "failed"),
    ]


def test_failed_or_cancelled_compactions_change_nothing() -> None:
    session = Session()
    session.play("user", 1)
    for outcome in ("failed", "cancelled", "discarded", "vetoed"):
        session.add(CompactionComplete(job="j", outcome=outcome, trigger="manual", removed=((1, 1),)))
    assert session.visible == [1]
    assert [row.state for row in session.user.entries] == ["ok", "failed", "cancelled", "discarded", "vetoed"]


def test_hooks_have_a_row_where_they_say_something() -> None:
    session = Session()
    session.add(HookRan(hook="preTool", command="a"))
    session.add(HookRan(hook="preTool", command="b", outcome="vetoed", reason="declined ls: no", output="no"))
    assert session.user.entries == []
    session.add(HookRan(hook="preTool", command="c", output="one\ntwo"))
    session.add(HookRan(hook="preTool", command="d", outcome="overruled", reason="vetoed it, in vain"))
    session.add(HookRan(hook="preTool", command="e", outcome="timeout", reason="took longer"))
    session.add(HookRan(hook="preTool", command="f", outcome="cancelled", reason="was stopped"))
    assert [(row.kind, row.title, row.state) for row in session.user.entries] == [
        ("hook", "preTool hook c · one two", "ok"),
        ("hook", "preTool hook d vetoed it, in vain", "ok"),
        ("hook", "preTool hook e took longer", "failed"),
        ("hook", "preTool hook f was stopped", "cancelled"),
    ]


def test_what_has_been_said_of_a_goal_and_of_the_background_has_one_row() -> None:
    session = Session()
    session.add(GoalSet(text="dry feet", count=1))
    session.add(GoalChecked(goal=1, turn=1, held=True))
    session.add(GoalEnded(goal=1, outcome="met"))
    session.add(GoalEnded(goal=1, outcome="off"))
    steps: tuple[BackgroundStep, ...] = ("left", "left", "attached", "left")
    for step in steps:
        session.add(SessionBackground(step=step))
    assert [entry.title for entry in session.user.entries] == [
        "goal: dry feet · reached after 1 turn",
        "goal reached after 1 turn",
        "goal off",
        "background: left",
        "background: attached",
        "background: left",
    ]


def test_rows_follow_calls_and_undone_compactions() -> None:
    session = Session()
    session.play("tool", 1)
    (row,) = session.user.entries
    assert (row.kind, row.state, row.result_seq) == ("tool", "ok", 3)
    session.play("user", 1)
    session.play("compact", 1)
    session.play("undo", 1)
    assert session.states[-1] == "undone"
    session.play("redo", 1)
    assert session.states[-1] == "ok"
    session.add(ModelChange(old="a:b", new="c:d", limit=9))
    session.add(CheckpointCreated(number=7, title="Sea", path="/x/007-sea.md"))
    assert [row.title for row in session.user.entries][-2:] == ["a:b → c:d", "checkpoint 007  Sea"]


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), max_size=5), st.integers(1, 40))
def test_ranges(pairs: list[tuple[int, int]], seq: int) -> None:
    ranges = [(low, low + width) for low, width in pairs]
    assert in_ranges(ranges)(seq) == any(seq in range(low, high + 1) for low, high in ranges)


def test_heads_of_every_event_survive_the_log() -> None:
    examples = {
        UserMessage.TYPE: UserMessage(text="\n  first line \nsecond", tokens={"user": 9}),
        AssistantMessage.TYPE: AssistantMessage(
            text="", thinking="hm", call_ids=("a", "b"), input_tokens=5, output_tokens=2, interrupted=True
        ),
        CompactionComplete.TYPE: CompactionComplete(
            job="1", outcome="success", trigger="overflow", removed=((1, 4), (6, 6)), retention=0.5
        ),
    }
    for payload in examples.values():
        head = head_of(3, 2.5, payload)
        assert Head.from_text(3, payload.TYPE, 2.5, head.to_text()) == head
    assert head_of(1, 0.0, examples[UserMessage.TYPE]).title == "first line"
    stored = {cls.TYPE for cls in PAYLOADS if cls.STORED}
    assert set(examples) <= stored


def cut(messages: int, tokens: int) -> Truncation:
    return Truncation(
        tokens_before=100_000, tokens_after=100_000 - tokens, messages_before=90,
        messages_after=90 - messages, tokens_removed=tokens, messages_removed=messages,
    )  # fmt: skip


def test_cut_request_is_told_as_one() -> None:
    """The row must not look like a compaction, because the view is unchanged."""
    session = Session()
    for messages in (3, 1, 0):
        session.add(cut(messages, 12_345))
    session.add(cut(2, 48))
    assert [row.title for row in session.user.entries] == [
        "Request truncated: 3 messages, ~12.3k tokens left out of this request only",
        "Request truncated: 1 message, ~12.3k tokens left out of this request only",
        "Request truncated: long results cut, ~12.3k tokens left out of this request only",
        "Request truncated: 2 messages, ~48 tokens left out of this request only",
    ]


def test_types_of_events_are_written_nowhere_else() -> None:
    """A literal event type would be missed when the type is renamed."""
    dotted = {payload.TYPE for payload in PAYLOADS if "." in payload.TYPE}
    found = {
        f"{path.name}:{node.lineno}"
        for path in Path(room.__path__[0]).rglob("*.py")
        if "formats" not in path.parts  # of other programs, whose records may have the same names
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in dotted
    }
    assert found == set()


def words_of(session: Session, compaction: int) -> tuple[int, int]:
    """Return the number of the event with a visible summary's text, and its tokens."""
    head = next(head for head in session.agent.visible() if head.seq == compaction)
    return head.form[0], head.tokens["summary"]


def test_edits_follow_undo_redo_and_rewind() -> None:
    session = Session()
    for number in range(4):
        session.play("user", number)
    compaction = session.compact(2)
    assert compaction is not None
    first = session.add(CompactionEdited(compaction=compaction, summary="x", tokens={"summary": 5}))
    prompt = session.add(UserMessage(text="later", tokens=TOKENS))
    second = session.add(CompactionEdited(compaction=compaction, summary="y", tokens={"summary": 7}))
    assert words_of(session, compaction) == (second, 7)
    session.play("undo", 0)
    assert compaction not in session.visible
    session.play("redo", 0)
    assert words_of(session, compaction) == (second, 7), "the words outlive undo and redo"
    trial = session.agent.copy()
    session.add(RewriteUndone(rewrite=first))
    assert words_of(session, compaction) == (second, 7), "the newest words stay when older ones are undone"
    assert trial.edits != session.agent.edits, "a copy is independent"
    session.add(SessionRewind(to=prompt))
    assert words_of(session, compaction) == (0, 2), "what came behind the prompt is rewound"
    assert fold_agent_view(session.heads) == session.agent


def test_an_edit_goes_and_comes_with_its_summary() -> None:
    log = [
        UserMessage(text="Write it."),
        CompactionComplete(job="1", outcome="success", trigger="manual", removed=((2, 2),), summary="S"),
        CompactionEdited(compaction=3, summary="T"),
        CompactionEdited(compaction=3, summary="U"),
        RewriteUndone(rewrite=5),
        CompactionUndone(compaction=3),
    ]
    heads = [head_of(seq, 0.0, payload) for seq, payload in enumerate(log, 2)]

    def states(*more: Payload) -> list[str]:
        later = [head_of(seq, 0.0, payload) for seq, payload in enumerate(more, len(log) + 2)]
        return [entry.state for entry in fold_user_view([*heads, *later]).entries if entry.seq in (3, 4, 5)]

    assert states() == ["undone", "undone", "undone"]
    assert states(CompactionRedone(compaction=3)) == ["ok", "ok", "undone"]


# Rewritten messages: what a rewrite changes in the agent view, and what restores the original.


SAID: tuple[FormFoldsPayload, ...] = (
    UserMessage(text="look", tokens={"user": 2}),
    ToolResult(tool_call_id="a", name="ls", text="x", tokens={"tool_results": 100}),
    ToolResult(tool_call_id="b", name="ls", text="y", tokens={"tool_results": 200}),
    UserMessage(text="go on", tokens={"user": 3}),
)
TRIMMED = ToolTrimmed(changes=(Rewritten(seq=2, tokens={"tool_results": 10}),))
ARCHIVED = ToolArchived(
    changes=(Rewritten(seq=2, tokens={"tool_results": 5}), Rewritten(seq=3, tokens={"tool_results": 6})),
    tokens={"user": 20},
)


def heads(*payloads: FormFoldsPayload) -> list[Head]:
    """Return the heads as read from the log."""
    made = [head_of(seq, 0.0, payload) for seq, payload in enumerate(payloads, 1)]
    return [Head.from_text(head.seq, head.type, head.time, head.to_text()) for head in made]


def shown(*payloads: FormFoldsPayload) -> list[tuple[int, int]]:
    """Return the number and the tokens of each visible message."""
    return [(head.seq, sum(head.tokens.values())) for head in fold_agent_view(heads(*payloads)).visible()]


def test_a_form_has_its_own_size_and_the_place_of_the_message() -> None:
    assert shown(*SAID, TRIMMED) == [(1, 2), (2, 10), (3, 200), (4, 3)]
    (head,) = [head for head in fold_agent_view(heads(*SAID, TRIMMED)).visible() if head.seq == 2]
    assert head.form == (5, 0)


def test_the_digest_stands_behind_the_last_result_of_the_answer() -> None:
    assert shown(*SAID, ARCHIVED) == [(1, 2), (2, 5), (3, 6), (5, 20), (4, 3)]
    first = ToolArchived(changes=ARCHIVED.changes[:1], tokens={"user": 20})
    assert shown(*SAID, first) == [(1, 2), (2, 5), (3, 200), (5, 20), (4, 3)]


@pytest.mark.parametrize("rewrites", [(TRIMMED,), (TRIMMED, ARCHIVED)])
def test_taking_back_brings_the_form_before(rewrites: tuple[FormFoldsPayload, ...]) -> None:
    newest = len(SAID) + len(rewrites)
    undone = (*SAID, *rewrites, RewriteUndone(rewrite=newest))
    assert shown(*undone) == shown(*SAID, *rewrites[:-1])
    view = fold_agent_view(heads(*undone))
    assert {seq for _, seq in view.restored} >= {2}
    assert newest not in view.rewrites
    assert shown(*undone, RewriteUndone(rewrite=newest)) == shown(*SAID, *rewrites[:-1])


def test_an_older_form_may_be_taken_back_from_under_a_newer_one() -> None:
    undone = (*SAID, TRIMMED, ARCHIVED, RewriteUndone(rewrite=5))
    assert shown(*undone) == shown(*SAID, TRIMMED, ARCHIVED)
    assert shown(*undone, RewriteUndone(rewrite=6)) == shown(*SAID)


def test_a_compaction_hides_forms_and_digests_and_undo_shows_them_again() -> None:
    before = (*SAID, ARCHIVED)
    done = CompactionComplete(
        job="j", outcome="success", trigger="manual", removed=((1, 3), (5, 5)), tokens={"summary": 7}
    )
    assert shown(*before, done) == [(6, 7), (4, 3)]
    assert shown(*before, done, CompactionUndone(compaction=6)) == shown(*before)


def test_rewinding_past_a_rewrite_brings_the_old_form_back() -> None:
    assert shown(*SAID, ARCHIVED, SessionRewind(to=4)) == [(1, 2), (2, 100), (3, 200)]
    assert shown(*SAID, ARCHIVED, SessionClear()) == []


def test_trying_an_event_on_a_copy_leaves_the_view_alone() -> None:
    view = fold_agent_view(heads(*SAID, ARCHIVED))
    before = view.visible()
    copy: AgentView = view.copy()
    copy.apply(Head(seq=99, type=RewriteUndone.TYPE, ref=5))
    assert view.visible() == before != copy.visible()


@pytest.mark.parametrize(
    ("policy", "after", "rows"),
    [("plimsoll", 14_190, 0), ("plimsoll", 13_900, 1), ("", 14_190, 1)],
    ids=["a stage that frees next to nothing", "one that frees something", "the user"],
)
def test_a_stage_has_a_row_only_where_it_frees_something_one_can_see(
    policy: str, after: int, rows: int
) -> None:
    trimmed = replace(TRIMMED, policy=policy, tokens_before=14_200, tokens_after=after)
    view = fold_user_view(heads(*SAID, trimmed, RewriteUndone(rewrite=5)))
    assert sum(row.kind == "rewrite" for row in view.entries) == rows


def test_people_see_one_row_that_says_what_was_done_and_whether_it_stands() -> None:
    row = fold_user_view(heads(*SAID, ARCHIVED)).entries[-1]
    assert (row.kind, row.state, row.seq) == ("rewrite", "ok", 5)
    assert row.title.startswith("2 old results archived")
    row = fold_user_view(heads(*SAID, ARCHIVED, RewriteUndone(rewrite=5))).entries[-1]
    assert row.state == "undone"


# The incremental agent view equals one computed from the whole log.


KINDS = (
    "user", "answer", "tool", "results", "system", "board", "told", "compact", "undo", "redo", "clear",
    "rewind", "failed", "pin", "edit", "unedit", "back", "trim", "archive", "restore", "any undo",
    "any redo", "any rewind", "any back", "exclude", "include",
)  # fmt: skip
EVERY = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 1_000)), max_size=60)


@dataclass
class Long(Session):
    """A log with every kind of event that changes the agent view."""

    def play(self, step: str, choice: int) -> None:
        match step:
            case "results":
                calls = tuple(f"c{place}" for place in range(2 + choice % 2))
                self.add(AssistantMessage(text="", call_ids=calls, model="m", input_tokens=choice))
                for call in calls:
                    self.add(ToolCall(tool_call_id=call, name="grep", args="{}"))
                for call in calls:
                    self.add(ToolResult(tool_call_id=call, name="grep", text="hit", tokens=TOKENS))
            case "board":
                self.add(MemoryInbox(text="remembered", entries=1, tokens=TOKENS))
            case "told":
                self.add(FullnessTold(text="half full", mark=50, tokens=TOKENS))
                self.add(FolderInstructions(text="mind the boom", path="deck/AGENTS.md", tokens=TOKENS))
            case "trim" | "archive":
                self.relieve(step, choice)
            case "restore" if self.agent.rewrites:
                self.add(RewriteUndone(rewrite=self.agent.rewrites[choice % len(self.agent.rewrites)]))
            case _ if step.startswith("any ") and self.heads:
                self.change_any(step, choice)
            case _:
                super().play(step, choice)

    def change_any(self, step: str, choice: int) -> None:
        """Apply to any event what the program applies only to the newest one."""
        done = [head.seq for head in self.heads if head.type == CompactionComplete.TYPE]
        undone, any_number = self.agent.undone, choice % len(self.heads) + 1
        match step:
            case "any undo" if done:
                self.add(CompactionUndone(compaction=done[choice % len(done)]))
            case "any redo" if undone:
                self.add(CompactionRedone(compaction=undone[choice % len(undone)]))
            case "any rewind":
                self.add(SessionRewind(to=any_number, failed=choice % 5 == 0))
            case "any back":
                self.add(SessionRestored(cut=any_number))

    def relieve(self, step: str, choice: int) -> None:
        """Rewrite some visible results."""
        results = [head.seq for head in self.agent.visible() if head.type == ToolResult.TYPE]
        some = [seq for place, seq in enumerate(results) if choice >> place % 8 & 1]
        changes = tuple(Rewritten(seq=seq, tokens={"tool_results": 1}) for seq in some)
        if changes and step == "trim":
            self.add(ToolTrimmed(changes=changes))
        elif changes:
            self.add(ToolArchived(changes=changes, tokens=TOKENS if choice % 3 else {}))


def said_by(view: AgentView | PlainView, numbers: range) -> dict[str, object]:
    """Return the results of every query of a view."""
    return {
        "visible": view.visible(),
        "seen": [*view.newest_first()][::-1],
        "held": view.held_originals(),
        "rewritten": view.rewritten(),
        "hidden by": [view.hidden_by(seq) for seq in numbers],
        "rewound": [view.left_behind(cut) for cut in (0, *numbers)],
        "can rewind": [view.can_rewind(to) for to in numbers],
        "edited by": [view.edited_by(edit) for edit in numbers],
        "weighed": view.message_weights(),
        "reversible": view.reversible,
        "lists": (view.version, view.compactions, view.undone, view.rewrites),
        "excluded": (view.exclusions, view.excluded),
        "sets": (view.restored, view.pins, view.edit_numbers if isinstance(view, PlainView) else view.edits),
        "newest": view.newest,
    }


@given(EVERY)
def test_the_view_is_what_a_plain_fold_makes_of_the_log(steps: list[tuple[str, int]]) -> None:
    session, plain, folded = Long(), PlainView(), 0
    for step, choice in steps:
        session.play(step, choice)
        for head in session.heads[folded:]:
            plain.apply(head)
        folded = len(session.heads)
        assert said_by(session.agent, range(1, folded + 1)) == said_by(plain, range(1, folded + 1))


@given(EVERY, st.integers(0, 1_000))
def test_an_event_that_is_only_tried_changes_nothing(steps: list[tuple[str, int]], choice: int) -> None:
    session = Long()
    for step, each in steps:
        session.play(step, each)
    before = said_by(session.agent, range(len(session.heads) + 1))
    trial = session.agent.copy()
    trial.apply(Head(seq=2**62, type=SessionRewind.TYPE, ref=choice % (len(session.heads) + 1)))
    for compaction in trial.undone:
        trial.apply(Head(seq=2**62 + 1, type=CompactionRedone.TYPE, ref=compaction))
    assert said_by(session.agent, range(len(session.heads) + 1)) == before


@given(EVERY, EVERY)
def test_a_view_that_was_kept_goes_on_as_if_it_had_been_folded(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    session = Long()
    for step, choice in before:
        session.play(step, choice)
    if session.agent.cuts:
        session.play("user", 1)

    def read(seqs: Collection[int]) -> list[Head]:
        return [head for head in session.heads if head.seq in set(seqs)]

    groups = {by: items.to_text() for by, items in session.agent.groups().items()}
    kept = AgentView.from_text(session.agent.to_text(), groups, read)
    assert kept is not None
    assert kept.to_text() == session.agent.to_text()
    for step, choice in after:
        folded = len(session.heads)
        session.play(step, choice)
        for head in session.heads[folded:]:
            kept.apply(head)
        numbers = range(len(session.heads) + 1)
        assert said_by(kept, numbers) == said_by(session.agent, numbers)
    trial = kept.copy()
    trial.apply(Head(seq=2**62, type=SessionRewind.TYPE, ref=1))
    assert trial.visible() == []
