"""Handoff: the brief, the session that starts with it, and access to the old session."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, done, of, send, turn
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.strict import WIRES, Strict, strict_server
from tests.ui.app.story import Story
from tui_app.context.compaction.proposal import NOTES_OF_A_MODEL
from tui_app.context.message_marks import HANDOFF_HEADING, is_inbox_part
from tui_app.conversation.approvals import Decision
from tui_app.conversation.assembly import open_session
from tui_app.conversation.handoff import BUSY, EMPTY, NO_GOAL, NOTHING_SAID, begin_session, write_brief
from tui_app.conversation.memory.boards import boards_in
from tui_app.conversation.work import Compact
from tui_app.events import (
    NOT_IN_LOG,
    ApprovalDecided,
    ApprovalRequested,
    Handoff,
    MessageExcluded,
    Record,
    SessionStart,
    ToolResult,
)
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import Draft as BoardDraft
from tui_app.memory.scope import scope_of
from tui_app.refusals import Refusal
from tui_app.session.model_state import newest_event
from tui_app.session.search import search_sessions
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.stores.store import SessionNotFound

RULES = ("Never touch the legacy importer.", "Always write dates as ISO 8601.")
FAILED = "E   AssertionError: Sunday is missing\n[exit code 1]"
GOAL = "Write the release notes"


def story(desk: Desk) -> Story:
    """A session with rules, files, an open error and a decision."""
    made = Story("Ferry timetable", model="local:scripted", cwd=str(desk.cwd))
    made.user(f"Make the timetable print Sundays. {RULES[0]} {RULES[1]}")
    made.tool("read_file", json.dumps({"path": "import.py"}), "1\tdef rows(table): ...")
    made.tool(
        "edit_file", json.dumps({"path": "import.py", "old_text": "rows", "new_text": "lines"}), "edited"
    )
    made.tool("write_file", json.dumps({"path": "sunday.py", "content": "SUNDAY = 6\n"}), "wrote sunday.py")
    made.tool("run_command", json.dumps({"command": "pytest -q"}), FAILED)
    return made.answer("The periwinkle column is kept. One test still fails.")


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=32_000)
    return fake_openai


def stored(desk: Desk, made: Story) -> str:
    paths = desk.opening().paths
    paths.ensure()
    with closing(SqliteStore(paths.database)) as store:
        session = store.create(made.start, time=1.0)
        store.append_many(session, made.events)
    return session


def rows(desk: Desk, session: str) -> list[object]:
    """Read a session's list entry and log from disk."""
    with closing(SqliteStore(desk.opening().paths.database, read_only=True)) as store:
        return [store.info(session), *store.records(session)]


async def handed(desk: Desk, session: str, goal: str = GOAL, *, extract: bool = True) -> str:
    opening = desk.opening(session=session)
    return begin_session(
        opening, draft := await write_brief(opening, goal, extract=extract), draft.brief.text
    )


async def test_the_brief_holds_what_binds_and_the_old_session_stays(desk: Desk, server: FakeOpenAI) -> None:
    session = stored(desk, story(desk))
    before = rows(desk, session)
    draft = await write_brief(desk.opening(session=session), GOAL, extract=True)
    brief = draft.brief
    for words in (
        f"## Goal\n{GOAL}",
        *RULES,
        "sunday.py · written",
        "edited",
        "pytest -q",
        "Sunday is missing",
    ):
        assert words in brief.text
    assert (brief.performed_by, brief.left_out, brief.reason) == ("heuristic", 0, "")
    assert brief.tokens <= 32_000 // 20
    assert server.journal == [], "no model was asked"
    assert rows(desk, session) == before

    new = begin_session(desk.opening(), draft, brief.text)
    assert rows(desk, session) == before
    with closing(SqliteStore(desk.opening().paths.database, read_only=True)) as store:
        info, first = store.info(new), store.record(new, 1)
    assert (info.title, info.cwd, info.model, info.messages) == (GOAL, str(desk.cwd), "local:scripted", 1)
    assert first is not None
    assert isinstance(first.data, SessionStart)
    assert first.data.policy == "plimsoll"

    server.add(Text("Gladly."))
    async with desk.session(session=new, model="") as opened:
        assert opened.conversation.usage.parts.memory > brief.tokens / 2, "it is counted as memory"
        await turn(opened.conversation, "Begin.")
        items = opened.conversation.history.items()
        assert [is_inbox_part(item.message.parts[0]) for item in items] == [True, False, False]
        await done(opened.conversation, Compact())
        assert RULES[0] in str(opened.conversation.history.items()[0].message), "it outlives compactions"
    sent = [message for message in server.journal[0]["messages"] if message["role"] == "user"]
    said = " ".join(str(message["content"]) for message in sent)
    assert (
        said.index(HANDOFF_HEADING)
        < said.index(RULES[0])
        < said.index(f"{session}#12")
        < said.index("Begin.")
    )


async def test_notes_of_the_model_are_checked_both_ways(desk: Desk, server: FakeOpenAI) -> None:
    session = stored(desk, story(desk))
    server.add(
        Text(
            "Title: Sundays\n## State\n- sunday.py was created; pytest -q still fails.\n"
            "- harbour.py was deleted."
        )
    )
    brief = (await write_brief(desk.opening(session=session), GOAL)).brief
    assert GOAL in json.dumps(server.journal[-1]), "the model is told the goal"
    assert (brief.performed_by, brief.model, brief.marked) == ("model", "local:scripted", 1)
    notes = brief.text.partition("## Notes")[2]
    assert f"harbour.py was deleted. {NOT_IN_LOG}" in notes
    assert NOTES_OF_A_MODEL in notes
    assert all(rule in brief.text.partition("## Notes")[0] for rule in RULES), "code writes what binds"

    invented = "\n".join(
        f"- `quay_{n}.go` calls `Berth{n}Harbour` in `/srv/pier{n}/dock.go`." for n in range(12)
    )
    server.add(Text(f"Title: Quays\n## State\n{invented}"))
    brief = (await write_brief(desk.opening(session=session), GOAL)).brief
    assert brief.performed_by == "heuristic"
    assert brief.reason
    assert "quay_1" not in brief.text
    assert all(rule in brief.text for rule in RULES)


async def test_what_cannot_be_handed_over_is_refused_in_words(desk: Desk, server: FakeOpenAI) -> None:
    session = stored(desk, story(desk))
    empty = stored(desk, Story(cwd=str(desk.cwd)))
    begun = stored(desk, Story(model="local:scripted", cwd=str(desk.cwd)).user("Sundays?"))
    for wanted, goal, why in ((session, " \n", NO_GOAL), (empty, GOAL, NOTHING_SAID)):
        with pytest.raises(Refusal, match=why[:20]):
            await write_brief(desk.opening(session=wanted), goal)
    for goal, why in (
        ("\u200b", NO_GOAL),
        ("\x1b[31m\a", NO_GOAL),
        ("word " * 1_000, "A goal may have 2,000"),
    ):
        with pytest.raises(Refusal, match=why[:20]):
            await write_brief(desk.opening(session=session), goal)
    with pytest.raises(SessionNotFound):
        await write_brief(desk.opening(session="nowhere"), GOAL)
    draft = await write_brief(desk.opening(session=session), GOAL, extract=True)
    with pytest.raises(Refusal, match=EMPTY[:20]):
        begin_session(desk.opening(), draft, " \n")
    with pytest.raises(Refusal, match="more than half of what local:scripted takes"):
        begin_session(desk.opening(), draft, "tide " * 20_000)
    masked = begin_session(desk.opening(), draft, "Use password=hunter2hunter2 there.")
    assert "hunter2" not in str(rows(desk, masked))
    # Only an open session can have a response in progress.
    assert (await write_brief(desk.opening(session=begun), GOAL, extract=True)).brief.text
    opened = open_session(desk.opening(session=begun))
    try:
        with pytest.raises(Refusal, match=BUSY[:20]):
            await write_brief(desk.opening(session=begun), GOAL, extract=True)
    finally:
        await opened.close()


async def test_what_was_handed_over_is_handed_on(desk: Desk, server: FakeOpenAI) -> None:
    first = stored(desk, story(desk))
    second = await handed(desk, first)
    server.add(Text("The notes are written."))
    async with desk.session(session=second, model="") as opened:
        await turn(opened.conversation, "Never mention the captain. Begin.")
    brief = (await write_brief(desk.opening(session=second), "Send them", extract=True)).brief
    assert f"- {first}#2 (latest): Make the timetable print Sundays. {RULES[0]}" in brief.text
    assert "- #4 (latest): Never mention the captain. Begin." in brief.text


async def test_a_brief_alone_is_handed_on(desk: Desk, server: FakeOpenAI) -> None:
    """If the goal was wrong, the user can hand over again from a session without messages of its own."""
    first = stored(desk, story(desk))
    third = await handed(desk, await handed(desk, first, "Wrong goal"), "Send them")
    with closing(SqliteStore(desk.opening().paths.database, read_only=True)) as store:
        brief = newest_event(store, third, Handoff)
    assert brief is not None
    assert f"- {first}#2 (latest): Make the timetable print Sundays. {RULES[0]}" in brief.text
    assert "## Goal\nSend them" in brief.text


async def test_a_new_session_has_the_board_and_the_brief(desk: Desk, server: FakeOpenAI) -> None:
    session = stored(desk, story(desk))
    board = ContextBoard(boards_in(desk.opening().paths.database), scope_of(desk.cwd))
    board.add(BoardDraft(text="The quay is closed on Mondays.", kind="rule"))
    server.add(Text("Gladly."))
    async with desk.session(session=await handed(desk, session), model="") as opened:
        await turn(opened.conversation, "Begin.")
    said = json.dumps(server.journal[-1]["messages"])
    assert said.index("The quay is closed") < said.index("Begin.")
    assert RULES[0] in said


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as server:
        yield server


@pytest.mark.parametrize("wire", [name for name in WIRES if name != "alternating"])
@pytest.mark.usefixtures("server")
async def test_no_server_refuses_its_first_request(desk: Desk, strict: Strict, wire: str) -> None:
    new = await handed(desk, stored(desk, story(desk)))
    model = strict.of_wire(wire)
    opening = desk.opening(session=new, model="yard:keen-1")
    opened = open_session(replace(opening, models=lambda: {"yard:keen-1": model}))
    try:
        await opened.prepare()
        records = await turn(opened.conversation, "Begin.")
        await turn(opened.conversation, "Go on.")
    finally:
        await opened.close()
    assert strict.refused == []
    assert len(strict.bodies) == 2
    assert RULES[0] in json.dumps(strict.bodies[0])
    assert records


# Looking back: the model finds messages of the old session, and of other sessions in the repository.


def outcome(records: list[Record]) -> str:
    (result,) = of(records, ToolResult)
    assert isinstance(result, ToolResult)
    return result.text


async def test_the_old_session_is_searched_with_the_new_one(desk: Desk, server: FakeOpenAI) -> None:
    old = stored(desk, story(desk))
    new = await handed(desk, old)
    async with desk.session(session=new, model="") as opened:

        async def searched(**args: object) -> str:
            server.add(tool("search_history", **args), Text("Found."))
            return outcome(await turn(opened.conversation, "Look."))

        assert f"{old}#15 assistant: The periwinkle column" in await searched(query="periwinkle column")
        back = await searched(query=f"{old}#2")
        assert back.startswith(f"{old}#2 user:\nMake the timetable print Sundays.")
        assert "has no message" in await searched(query="0bad0bad#2")
        assert "scope" in await searched(query="periwinkle", scope="planet")


async def test_what_is_excluded_there_neither_crosses_nor_is_found(desk: Desk, server: FakeOpenAI) -> None:
    said = Story(model="local:scripted", cwd=str(desk.cwd))
    said.user("Never mention the periwinkle.").answer("The periwinkle stays out.").user("Go on.").answer(
        "Done."
    )
    old = stored(desk, said)
    with closing(SqliteStore(desk.opening().paths.database)) as store:
        store.append_many(old, [(MessageExcluded(seqs=(seq,)), None, 2.0) for seq in (2, 3)])
    new = await handed(desk, old)
    async with desk.session(session=new, model="") as opened:
        for args in (
            {"query": "periwinkle"},
            {"query": "periwinkle", "scope": "project"},
            {"query": f"{old}#2"},
        ):
            server.add(tool("search_history", **args), Text("Found."))
            told = outcome(await turn(opened.conversation, "Look."))
            assert "mention" not in told
            assert "stays out" not in told
    assert "mention the periwinkle" not in json.dumps(server.journal)


def elsewhere(desk: Desk) -> tuple[Path, str]:
    """Store a session of another folder of the repository, with a secret in it."""
    (desk.cwd / ".git").mkdir()
    (desk.cwd / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    folder = desk.cwd / "docs"
    folder.mkdir()
    said = Story(model="local:scripted", cwd=str(folder))
    said.user("The lighthouse opens at noon. password=hunter2hunter2").answer("Noted.")
    return folder, stored(desk, said)


@pytest.mark.parametrize("answer", ["once", "no"])
async def test_other_sessions_of_the_repository_are_found_and_other_folders_asked_about(
    desk: Desk, server: FakeOpenAI, answer: str
) -> None:
    near = stored(desk, Story(cwd=str(desk.cwd)).user("The lighthouse is white.").answer("Aye."))
    stored(desk, Story(cwd="/srv/other").user("The lighthouse of others.").answer("Aye."))
    folder, far = elsewhere(desk)
    server.add(tool("search_history", query="lighthouse", scope="project"), Text("Found."))
    opened = open_session(replace(desk.opening(read_only=False), attended=True))
    try:
        await opened.prepare()
        records: list[Record] = []
        async for record in send(opened.conversation, "Look."):
            records.append(record)
            if isinstance(record.data, ApprovalRequested):
                assert str(folder) in record.data.subject
                decision = Decision("no") if answer == "no" else Decision("once")
                opened.conversation.tooling.approvals.decide(record.data.id, decision)
    finally:
        await opened.close()
    text = outcome(records)
    assert f"{near}#2 user: The lighthouse is white." in text
    assert "of others" not in text, "another repository"
    assert (f"{far}#2 user: The lighthouse opens at noon." in text) == (answer == "once")
    assert "hunter2" not in text
    assert ("1 hit of sessions of another folder left out" in text) == (answer == "no")
    assert len(of(records, ApprovalDecided)) == 1
    # The user's own search finds the same, plus other repositories.
    found = {each.session for each in search_sessions(desk.opening().paths.database, "lighthouse")}
    assert found >= {near, far}


async def test_its_own_folder_is_not_asked_about_and_nobody_there_means_no(
    desk: Desk, server: FakeOpenAI
) -> None:
    near = stored(desk, Story(cwd=str(desk.cwd)).user("The lighthouse is white.").answer("Aye."))
    _, far = elsewhere(desk)
    async with desk.session(read_only=False) as opened:
        for query, words in (
            ("white", f"{near}#2 user: The lighthouse is white."),
            (f"{near}#2", f"{near}#2 user:\nThe lighthouse is white."),
            ("noon", "1 hit of sessions of another folder left out: Not done"),
            (f"{far}#2", "Not done"),
            ("submarine", "no session of this repository has all of 'submarine'"),
        ):
            server.add(tool("search_history", query=query, scope="project"), Text("Found."))
            assert words in outcome(await turn(opened.conversation, "Look."))


@pytest.mark.parametrize("kind", [Handoff])
def test_its_row_names_where_it_comes_from(kind: type[Handoff]) -> None:
    row = kind(text="", goal=GOAL, from_session="9f3c1a2b", from_title="Ferry timetable")
    assert row.headline() == f'handed over from 9f3c1a2b "Ferry timetable": {GOAL}'
