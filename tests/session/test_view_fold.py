"""What the agent view keeps from event to event says the same as looking through the whole log does."""

from collections.abc import Collection
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from tests.session.plain_view import PlainView
from tests.session.test_folds import TOKENS, Session
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionRedone,
    CompactionUndone,
    MemoryInbox,
    RewriteUndone,
    Rewritten,
    SessionRestored,
    SessionRewind,
    ToolArchived,
    ToolCall,
    ToolResult,
    ToolTrimmed,
)
from tui_app.session.agent_view import AgentView
from tui_app.session.event_heads import Head

KINDS = (
    "user", "answer", "tool", "results", "system", "board", "compact", "undo", "redo", "clear",
    "rewind", "failed", "pin", "edit", "unedit", "back", "trim", "archive", "restore", "any undo",
    "any redo", "any rewind", "any back",
)  # fmt: skip
EVERY = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 1_000)), max_size=60)


@dataclass
class Long(Session):
    """A log in which everything happens that changes the agent view."""

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
            case "trim" | "archive":
                self.relieve(step, choice)
            case "restore" if self.agent.rewrites:
                self.add(RewriteUndone(rewrite=self.agent.rewrites[choice % len(self.agent.rewrites)]))
            case _ if step.startswith("any ") and self.heads:
                self.change_any(step, choice)
            case _:
                super().play(step, choice)

    def change_any(self, step: str, choice: int) -> None:
        """What the program does to the newest alone, done to any."""
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
        """Give some visible results another form."""
        results = [head.seq for head in self.agent.visible() if head.type == ToolResult.TYPE]
        some = [seq for place, seq in enumerate(results) if choice >> place % 8 & 1]
        changes = tuple(Rewritten(seq=seq, tokens={"tool_results": 1}) for seq in some)
        if changes and step == "trim":
            self.add(ToolTrimmed(changes=changes))
        elif changes:
            self.add(ToolArchived(changes=changes, tokens=TOKENS if choice % 3 else {}))


def said_by(view: AgentView | PlainView, numbers: range) -> dict[str, object]:
    """All that anybody can ask of a view."""
    return {
        "visible": view.visible(),
        "seen": view.seen(),
        "held": view.held(),
        "rewritten": view.rewritten(),
        "hidden by": [view.hidden_by(seq) for seq in numbers],
        "left behind": [view.left_behind(cut) for cut in (0, *numbers)],
        "can rewind": [view.can_rewind(to) for to in numbers],
        "edited by": [view.edited_by(edit) for edit in numbers],
        "weighed": view.weighed(),
        "reversible": view.reversible,
        "lists": (view.version, view.compactions, view.undone, view.rewrites),
        "sets": (view.restored, view.pins, view.edits),
        "reports": view.reports.newest,
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
