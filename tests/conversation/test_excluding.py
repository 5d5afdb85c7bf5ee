"""Messages that the user excludes: what leaves with them, what must stay, where they never appear."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_ai.messages import ModelResponse, ThinkingPart, ToolCallPart

from tests.context.histories import complaints
from tests.conversation.logged import answer, opened, result, say
from tests.conversation.test_manual_edits import by_hand, notices
from tests.conversation.test_rewrites import LINES
from tests.examples import examples
from tui_app.agent.tools.files import grep
from tui_app.agent.tools.workspace import OutsideWorkspace, Workspace
from tui_app.context.compaction.compactor import Compactor, PlainHost
from tui_app.context.counting.expenses import Ledger
from tui_app.context.policy import PLIMSOLL
from tui_app.context.requests.builder import sendable
from tui_app.context.summaries.prompt import SummaryTask, message_text
from tui_app.context.summaries.writer import Progress, Summary
from tui_app.context.views.view import to_messages
from tui_app.conversation.compactions.manual_edits import ManualEdits
from tui_app.conversation.history.session_history import SessionHistory, ranges_without
from tui_app.conversation.memory.memory_reader import messages_of
from tui_app.conversation.memory.recall import SessionSearch
from tui_app.conversation.work import Compact
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionUndone,
    MessageExcluded,
    Payload,
    Record,
    SessionClear,
    SessionRewind,
    SessionStart,
    ToolCall,
)
from tui_app.session.event_rows import MESSAGES
from tui_app.session.exports.export import Format, export_session
from tui_app.session.importers.formats import import_file
from tui_app.session.rewind_fork import fork_session
from tui_app.session.stores.sqlite_store import SqliteStore

SECRET = "The harbour master's name is Quillfeather."


def keys(history: SessionHistory) -> list[int]:
    return [item.key for item in history.items()]


def sent(history: SessionHistory) -> str:
    return "\n".join(message_text(item.message) for item in history.items())


def kept(done: CompactionComplete) -> str:
    """Read the history file of a compaction."""
    return Path(done.history_path).read_text()


def parallel(history: SessionHistory, *calls: str) -> None:
    """Append a response with signed thinking and several parallel calls, and their results."""
    parts = [
        ThinkingPart("Both.", signature="s", provider_name="anthropic"),
        *(ToolCallPart("ls", {}, tool_call_id=call) for call in calls),
    ]
    message = ModelResponse(parts=parts)
    tokens = history.counter.message(message).nonzero()
    history.append(AssistantMessage(text="", tokens=tokens, model="a:b", call_ids=calls), message)
    for call in calls:
        history.append(ToolCall(tool_call_id=call, name="ls", args='{"path": "quay"}'))
    for call in calls:
        result(history, call, f"boats of {call}")


def talk(history: SessionHistory) -> dict[str, int]:
    """Append three turns, and return the numbers of their messages by name."""
    say(history, "Who is in the harbour? " + SECRET)
    answer(history, "Nobody yet.")
    say(history, "Look on both quays.")
    parallel(history, "c1", "c2")
    answer(history, "Two boats.")
    say(history, "Thank you.")
    answer(history, "Welcome.")
    names = ("secret", "nobody", "look", "calls", "r1", "r2", "two", "thanks", "welcome")
    return dict(zip(names, keys(history), strict=True))


def test_a_message_leaves_and_comes_back_as_it_was(history: SessionHistory, records: list[Record]) -> None:
    hand, said = by_hand(history), talk(history)
    before, full = history.usage().total, keys(history)
    promised = hand.outlook(said["secret"]).exclude.after
    assert hand.exclude((said["secret"],))
    assert history.usage().total == promised < before
    assert SECRET not in sent(history)
    [event] = [each.data for each in records if isinstance(each.data, MessageExcluded)]
    assert event.headline().startswith(f"1 message excluded: #{said['secret']} · ")
    assert (event.tokens_before, event.tokens_after) == (before, promised)
    assert hand.include((said["secret"],))
    assert (history.usage().total, keys(history)) == (before, full)


@pytest.mark.parametrize("which", ["calls", "r1", "r2"])
def test_calls_leave_with_all_their_results(history: SessionHistory, which: str) -> None:
    hand, said = by_hand(history), talk(history)
    assert hand.exclude((said[which],))
    gone = {said[each] for each in ("calls", "r1", "r2")}
    assert history.view.excluded.keys() == gone
    assert complaints(sendable(to_messages(history.items()))) == []
    assert hand.include((said["r2"],))
    assert not history.view.excluded


def test_a_turn_leaves_in_one_event_and_undo_and_redo_know_it(history: SessionHistory) -> None:
    hand, said = by_hand(history), talk(history)
    full = keys(history)
    assert hand.exclude((said["look"],), turn=True)
    rest = [said[each] for each in ("secret", "nobody", "thanks", "welcome")]
    assert keys(history) == rest
    assert hand.compactions.restate(undo=True)
    assert keys(history) == full
    assert hand.compactions.restate(undo=False)
    assert keys(history) == rest
    assert not hand.compactions.restate(undo=False), "nothing is left to redo"


def test_what_may_not_leave_says_why_and_nothing_changes(
    history: SessionHistory, records: list[Record]
) -> None:
    hand, said = by_hand(history), talk(history)
    assert hand.pin(said["nobody"], pinned=True)
    version = history.version
    for seqs, turn in (((said["thanks"],), False), ((said["two"], said["nobody"]), False), ((99,), False)):
        assert not hand.exclude(seqs, turn=turn)
    assert not hand.exclude((said["welcome"],), turn=True)
    assert not hand.include((said["two"],))
    told = notices(records)
    assert told[0] == told[3]
    assert "newest prompt stays" in told[0]
    assert told[1] == f"#{said['nobody']} is pinned and would be excluded too: unpin it first."
    assert told[2] == "#99 is not part of the next request."
    assert told[4] == f"#{said['two']} is not excluded."
    assert history.version == version
    assert hand.exclude((said["two"],))
    assert not hand.exclude((said["two"],))
    assert not hand.pin(said["two"], pinned=True)
    assert notices(records)[5:] == [
        f"#{said['two']} is already excluded.",
        f"#{said['two']} is excluded: bring it back first.",
    ]


class Listening:
    """A summariser that records its tasks."""

    model_name = "told"

    def __init__(self) -> None:
        self.heard: list[SummaryTask] = []

    async def summarise(self, task: SummaryTask, progress: Progress, ledger: Ledger) -> Summary:
        self.heard.append(task)
        return Summary(title="Notes", text="## State\nBoats were counted on both quays.")


async def test_a_compaction_and_its_undo_keep_it_out(
    history: SessionHistory, store: SqliteStore, tmp_path: Path
) -> None:
    writer = Listening()
    compactor = Compactor(history, PLIMSOLL, PlainHost((writer,)))
    hand = by_hand(history, compactor)
    said = talk(history)
    for _ in range(8):
        say(history, "Count again. " * 60)
        answer(history, "Two boats, still. " * 60)
    assert hand.exclude((said["secret"],))
    await hand.compactions.compact(Compact())
    [done] = [
        each.data for each, _ in store.records(history.session) if isinstance(each.data, CompactionComplete)
    ]
    assert done.outcome == "success"
    assert writer.heard
    assert not any(low <= said["secret"] <= high for low, high in done.removed)
    read = "".join(message_text(item.message) for task in writer.heard for item in task.items)
    assert "Quillfeather" not in f"{read} {sent(history)} {done}"
    assert "Quillfeather" not in kept(done)
    assert hand.compactions.restate(undo=True), "the compaction is newer"
    assert SECRET not in sent(history)
    assert history.view.excluded.keys() == {said["secret"]}
    assert hand.compactions.restate(undo=True), "then the exclusion"
    assert SECRET in sent(history)
    again = opened(store, history.session, [], tmp_path)
    assert again.view == history.view


async def test_a_summary_that_tells_of_it_is_not_applied_again(history: SessionHistory) -> None:
    writer = Listening()
    compactor = Compactor(history, PLIMSOLL, PlainHost((writer,)))
    hand = by_hand(history, compactor)
    said = talk(history)
    for _ in range(8):
        say(history, "Count again. " * 60)
        answer(history, "Two boats, still. " * 60)
    await hand.compactions.compact(Compact())
    assert hand.compactions.restate(undo=True)
    assert hand.exclude((said["secret"],))
    assert not hand.compactions.restate(undo=False)
    search = SessionSearch(history.store, history.session)
    assert not search.search("Quillfeather"), "nor does the model find the summary"


def test_the_model_finds_nothing_of_it_and_a_person_does(history: SessionHistory) -> None:
    hand, said = by_hand(history), talk(history)
    search = SessionSearch(history.store, history.session)
    assert search.search("Quillfeather")
    assert search.search("quay")
    assert hand.exclude((said["secret"], said["calls"]))
    assert not search.search("Quillfeather")
    assert all(hit.seq == said["look"] for hit in search.search("quay")), "the calls are not told either"
    assert search.fetch(said["secret"]) is None is search.fetch(said["calls"] + 1)
    assert "Quillfeather" in "".join(message or "" for _, message in history.store.records(history.session))
    assert said["secret"] not in {item.key for item in messages_of(history.store.path, history.session)}


def test_files_of_the_session_do_not_give_it_back(history: SessionHistory, tmp_path: Path) -> None:
    hand = by_hand(history)
    say(history, "Look.")
    answer(history, "", call="c1")
    result(history, "c1", LINES[:60_000])
    answer(history, "Seen.")
    say(history, "And now?")
    read = keys(history)[2]
    assert hand.relieve((read,), "offload")
    folder = history.archive.folder.tool_outputs
    workspace = Workspace(tmp_path / "work", extra=(folder,), withheld=lambda: history.withheld)
    name = next(folder.iterdir()).name
    assert "northern" in grep(workspace, "northern", str(folder))
    assert hand.exclude((read,))
    assert "in 0 files" in grep(workspace, "northern", str(folder))
    with pytest.raises(OutsideWorkspace, match="excluded"):
        workspace.file(f"tool_outputs/{name}")
    assert hand.include((read,))
    assert workspace.file(f"tool_outputs/{name}")


def test_the_digest_of_an_archived_result_leaves_with_it(history: SessionHistory) -> None:
    hand = by_hand(history)
    say(history, "Look twice.")
    for call in ("c1", "c2"):
        answer(history, "", call=call)
        result(history, call, f"{call} Quillfeather\n" + LINES[:6_000])
    answer(history, "Seen.")
    say(history, "And now?")
    first, second = keys(history)[2], keys(history)[4]
    assert hand.relieve((first,), "archive")
    digest = history.view.rewrites[-1]
    assert digest in keys(history)
    assert hand.exclude((first,))
    assert digest not in keys(history)
    assert hand.include((digest,))
    assert {digest, first} <= set(keys(history))
    assert second in keys(history)


def test_exports_mark_it_and_forks_rewinds_and_imports_keep_it(
    history: SessionHistory, store: SqliteStore, tmp_path: Path
) -> None:
    hand, said = by_hand(history), talk(history)
    assert hand.exclude((said["secret"],))
    store.set_title(history.session, "Harbour")
    forms: tuple[Format, ...] = ("markdown", "html")
    for form in forms:
        page = export_session(store, history.session, format=form, view="user")
        assert page.count("You (excluded)") == 1
        assert "Quillfeather" in page
        assert "Quillfeather" not in export_session(store, history.session, format=form, view="agent")
    forked = fork_session(store, tmp_path, history.session, at=said["thanks"], now=2.0)
    view = store.agent_view(forked.session)
    assert said["secret"] not in {head.seq for head in view.visible()}
    assert view.excluded.keys() == {said["secret"]}
    log = tmp_path / "log.jsonl"
    log.write_text(export_session(store, history.session, format="jsonl", view="user"))
    assert any(isinstance(each.data, MessageExcluded) for each in import_file(log).events)
    history.rewind(said["thanks"])
    assert history.view.excluded.keys() == {said["secret"]}
    assert not hand.compactions.rewind(said["secret"]), "it has to be brought back first"
    history.rewind(said["look"])
    assert hand.include((said["secret"],))
    assert keys(history) == [said["secret"], said["nobody"]]


def test_of_what_a_rewind_left_behind_nothing_comes_back_alone(history: SessionHistory) -> None:
    hand, said = by_hand(history), talk(history)
    assert hand.exclude((said["secret"], said["two"]))
    history.rewind(said["look"])
    assert history.view.excluded.keys() == {said["secret"]}
    assert hand.compactions.restore(history.view.reversible[0])
    assert history.view.excluded.keys() == {said["secret"], said["two"]}


@pytest.mark.parametrize("cut", [SessionClear(), SessionRewind(to=2)])
def test_no_cut_gives_it_back_to_the_model(history: SessionHistory, tmp_path: Path, cut: Payload) -> None:
    hand, said = by_hand(history), talk(history)
    history.archive.folder.path.mkdir(parents=True, exist_ok=True)
    assert hand.exclude((said["secret"],))
    history.append(cut)
    assert not SessionSearch(history.store, history.session).search("Quillfeather")
    assert said["secret"] not in {item.key for item in messages_of(history.store.path, history.session)}
    page = export_session(history.store, history.session, format="markdown", view="user")
    assert page.count("You (excluded)") == 1


async def test_a_fork_that_holds_it_in_a_summary_never_brings_it_back(
    history: SessionHistory, store: SqliteStore, tmp_path: Path
) -> None:
    compactor = Compactor(history, PLIMSOLL, PlainHost((Listening(),)))
    hand = by_hand(history, compactor)
    said = talk(history)
    for _ in range(8):
        say(history, "Count again. " * 60)
        answer(history, "Two boats, still. " * 60)
    await hand.compactions.compact(Compact())
    say(history, "Go on.")
    prompt = keys(history)[-1]
    assert hand.compactions.restate(undo=True)
    assert hand.exclude((said["secret"],))
    forked = fork_session(store, tmp_path, history.session, at=prompt, now=2.0).session
    assert not SessionSearch(store, forked).search("Quillfeather")
    fork = opened(store, forked, [], tmp_path)
    fork.append(CompactionUndone(compaction=fork.view.compactions[-1]))
    assert SECRET not in sent(fork)
    assert said["secret"] in fork.view.excluded


def test_ranges_leave_numbers_out() -> None:
    assert ranges_without([(1, 5), (7, 7)], {1, 3, 7, 9}) == ((2, 2), (4, 5))


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["prompt", "answer", "calls", "late", "exclude", "turn", "undo", "redo", "include"]),
        st.integers(0, 1_000),
    ),
    min_size=4,
    max_size=30,
)


def speak(history: SessionHistory, step: str, place: int, late: str) -> str:
    """Append a message, and return the id of a call that is still open, if any."""
    match step:
        case "prompt":
            say(history, "Go on.")
        case "answer":
            answer(history, "Done.")
        case "calls":
            # Call ids are reused.
            parallel(history, *(f"c{(place + each) % 5}" for each in range(1 + place % 3)))
        case _ if late:
            # A result that arrives after later messages.
            result(history, late, "seen at last")
            return ""
        case _:
            answer(history, "I will see.", call=f"late{place}")
            return f"late{place}"
    return late


def edit(hand: ManualEdits, step: str, choice: int) -> None:
    history, excluded = hand.history, sorted(hand.history.view.excluded)
    seqs = keys(history)
    if step in ("undo", "redo"):
        hand.compactions.restate(undo=step == "undo")
    elif step != "include":
        hand.exclude((seqs[choice % len(seqs)],), turn=step == "turn")
    elif excluded:
        assert hand.include((excluded[choice % len(excluded)],))


@settings(max_examples=examples(100), deadline=None)
@given(steps=STEPS)
def test_whatever_is_excluded_and_undone_calls_keep_their_results(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("session")
    store = SqliteStore(path / "sessions.db")
    try:
        history = opened(store, store.create(SessionStart(cwd="/", model="a:b"), time=1.0), [], path)
        hand, late = by_hand(history), ""
        say(history, "Begin.")
        for place, (step, choice) in enumerate(steps):
            if step in ("exclude", "turn", "include", "undo", "redo"):
                edit(hand, step, choice)
            else:
                late = speak(history, step, place, late)
            assert complaints(sendable(to_messages(history.items()))) == []
            assert not history.view.excluded.keys() & {item.key for item in history.items()}
        while history.view.exclusions:
            hand.compactions.restate(undo=True)
        assert len(history.items()) == sum(head.type in MESSAGES for head in store.heads(history.session))
    finally:
        store.close()
