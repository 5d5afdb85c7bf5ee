"""Permission requests over stdio with the protocol's own client; whether files change."""

import asyncio
import contextlib
import json
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError
from acp.schema import AllowedOutcome, DeniedOutcome, RequestPermissionResponse

from tests.editors.kit import WAIT_S, Editor, Talk, endpoint, talking
from tests.servers.behaviours import Text, Tool, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.agent.tools.diffs import diff_of
from tui_app.conversation.approvals import Decision
from tui_app.editors.agent import read_message
from tui_app.editors.session import ask
from tui_app.editors.updates import Hunk, Question, Updates, hunks, remarks
from tui_app.events import ApprovalDecided, ApprovalRequested, ToolCall
from tui_app.paths import Paths
from tui_app.session.stores.sqlite_store import SqliteStore

README = "# Ferries\n\nLow water on Sunday is at 09:40.\n"


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "README.md").write_text(README)
    return folder


@dataclass
class Slow(Editor):
    """Answers one question each time the test provides an answer."""

    answers: "asyncio.Queue[str | Exception]" = field(default_factory=asyncio.Queue)

    async def request_permission(self, *args: Any, **named: Any) -> RequestPermissionResponse:
        await super().request_permission(*args, **named)
        answer = await self.answers.get()
        if isinstance(answer, Exception):
            raise answer
        if not answer:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=answer))


def decisions(home: Path, session: str) -> list[tuple[str, str, str, str]]:
    """The approval decisions in the log."""
    path = Paths.from_env({"PLIMSOLL_HOME": str(home)}).database
    with contextlib.closing(SqliteStore(path, read_only=True)) as store:
        found = [record.data for record, _ in store.records(session)]
    return [
        (each.decision, each.by, each.scope, each.rule) for each in found if isinstance(each, ApprovalDecided)
    ]


def texts(folder: Path) -> dict[str, str]:
    return {each.name: each.read_text() for each in folder.glob("*.txt")}


def write(path: str, content: str) -> Tool:
    return tool("write_file", path=path, content=content)


def results(talk: Talk, session: str) -> list[tuple[str, str]]:
    """The outcome and message of each call."""
    ended = [each for each in talk.editor.of(session, "tool_call_update") if each.content]
    return [(each.status, each.content[0].content.text) for each in ended]


async def test_a_yes_changes_the_file_that_was_shown(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    edit = tool("edit_file", path="README.md", old_text="09:40", new_text="10:10")
    fake_openai.add(write("new/plan.txt", "sea\n"), edit, Text("Done."))
    async with talking(cwd, editor=(editor := Editor(permission="once"))) as talk:
        session = await talk.begin()
        assert (await talk.say(session, "Write it.")).stop_reason == "end_turn"
        assert (cwd / "new" / "plan.txt").read_text() == "sea\n"
        assert (cwd / "README.md").read_text() == README.replace("09:40", "10:10")
    (_, made, _), (_, edited, options) = editor.asked
    (diff,) = [each for each in made.content if each.type == "diff"]
    assert (diff.path, diff.old_text, diff.new_text) == (str(cwd / "new" / "plan.txt"), None, "sea\n")
    (diff,) = [each for each in edited.content if each.type == "diff"]
    assert (diff.old_text, diff.new_text) == (README, README.replace("09:40", "10:10"))
    assert edited.title == "edit_file README.md, +1 -1"
    assert edited.raw_input == {"path": "README.md", "old_text": "09:40", "new_text": "10:10"}
    assert [each.kind for each in options] == ["allow_once", "allow_always", "reject_once"]
    assert decisions(plimsoll_home, session) == [("allowed", "person", "once", "")] * 2
    # The editor was sent each call before its permission request, and its progress afterwards.
    of_call = [each for _, each in editor.updates if getattr(each, "tool_call_id", "") == edited.tool_call_id]
    assert [each.status for each in of_call] == ["in_progress", "in_progress", "completed"]


async def test_always_is_a_rule_of_the_session_and_ends_with_it(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    echo = tool("run_command", command="echo high water")
    fake_openai.add(echo, echo, Text("Done."), echo, Text("Done."), echo, Text("Done."))
    async with talking(cwd, editor=(editor := Editor(permission="always"))) as talk:
        session = await talk.begin()
        await talk.say(session, "Say it twice.")
        await talk.say(session, "And again.")
        assert len(editor.asked) == 1
        ((_, asked, options),) = editor.asked
        assert asked.content[0].content.text == "```\n$ echo high water\n```"
        assert options[1].name == "Allow in this session: run_command = echo high water"
        assert [status for status, _ in results(talk, session)] == ["completed"] * 3
        await talk.agent.close_session(session_id=session)
        await talk.agent.resume_session(cwd=str(cwd), session_id=session)
        editor.permission = "no"
        await talk.say(session, "Once more.")
        assert len(editor.asked) == 2
    rule = "run_command = echo high water"
    assert decisions(plimsoll_home, session) == [
        ("allowed", "person", "always", rule),
        ("allowed", "rule", "rule", rule),
        ("allowed", "rule", "rule", rule),
        ("denied", "person", "once", ""),
    ]


async def test_a_no_changes_nothing_and_the_turn_goes_on(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(write("README.md", "gone"), Text("All right."))
    async with talking(cwd, editor=Editor(permission="no")) as talk:
        session = await talk.begin()
        assert (await talk.say(session, "Empty it.")).stop_reason == "end_turn"
        assert talk.editor.text(session) == "All right."
        ((status, said),) = results(talk, session)
        assert status == "failed"
        assert said.startswith("Not done: the user said no.")
    assert (cwd / "README.md").read_text() == README
    assert decisions(plimsoll_home, session) == [("denied", "person", "once", "")]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (RequestError(-32601, "Method not found."), "the editor answered with an error: Method not found"),
        ("", "the question was closed without an answer"),
        ("whatever", "the editor chose something that was not offered"),
    ],
)
async def test_without_an_answer_nothing_is_done_and_the_turn_goes_on(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI, answer: str | Exception, why: str
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(write("README.md", "gone"), Text("All right."))
    editor = Slow()
    editor.answers.put_nowait(answer)
    async with talking(cwd, editor=editor) as talk:
        session = await talk.begin()
        assert (await talk.say(session, "Empty it.")).stop_reason == "end_turn"
        ((status, said),) = results(talk, session)
        assert status == "failed"
        assert said.startswith(f"Not done: the user could not be asked: {why}.")
    assert (cwd / "README.md").read_text() == README
    assert decisions(plimsoll_home, session) == [("denied", "unattended", "once", "")]


async def test_a_cancelled_turn_takes_its_question_along(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(write("README.md", "gone"), Text("On again."))
    async with talking(cwd, editor=(editor := Slow())) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Empty it."))
        await editor.until(lambda: bool(editor.asked))
        await talk.agent.cancel(session_id=session)
        async with asyncio.timeout(WAIT_S):
            assert (await answer).stop_reason == "cancelled"
        # A late approval allows nothing and causes no error.
        editor.answers.put_nowait("once")
        assert (await talk.say(session, "Go on.")).stop_reason == "end_turn"
        assert talk.editor.text(session) == "On again."
    assert (cwd / "README.md").read_text() == README
    assert decisions(plimsoll_home, session) == [("cancelled", "person", "once", "")]


async def test_parallel_calls_are_all_asked_about(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    calls = [("write_file", {"path": f"{name}.txt", "content": f"{name}\n"}) for name in ("a", "b", "c")]
    fake_openai.add(Tool(calls=tuple(calls)), Text("Done."))
    async with talking(cwd, editor=(editor := Slow())) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Write them."))
        for number, said in enumerate(("once", "no", "once"), 1):
            await editor.until(lambda number=number: len(editor.asked) == number)
            editor.answers.put_nowait(said)
        async with asyncio.timeout(WAIT_S):
            assert (await answer).stop_reason == "end_turn"
        assert len({call.tool_call_id for _, call, _ in editor.asked}) == 3
        refused = editor.asked[1][1].title.partition(",")[0].removeprefix("write_file ")
        assert set(texts(cwd)) == {"a.txt", "b.txt", "c.txt"} - {refused}
    assert [each[0] for each in decisions(plimsoll_home, session)] == ["allowed", "denied", "allowed"]


async def test_two_sessions_ask_at_the_same_time(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(write("one.txt", "1\n"), Text("Done."), phrase="first task")
    fake_openai.add(write("two.txt", "2\n"), Text("Done."), phrase="second task")
    async with talking(cwd, editor=(editor := Slow())) as talk:
        one, two = await talk.begin(), await talk.begin()
        answers = [
            asyncio.create_task(talk.say(one, "The first task.")),
            asyncio.create_task(talk.say(two, "The second task.")),
        ]
        await editor.until(lambda: len(editor.asked) == 2)
        assert {session for session, _, _ in editor.asked} == {one, two}
        for _ in answers:
            editor.answers.put_nowait("once")
        async with asyncio.timeout(WAIT_S):
            assert [(await each).stop_reason for each in answers] == ["end_turn"] * 2
    assert texts(cwd) == {"one.txt": "1\n", "two.txt": "2\n"}


async def test_rules_and_read_only_mode_come_first(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    rules = '[approvals]\nallow = ["write_file *.txt"]\ndeny = ["write_file README.md"]\n'
    endpoint(plimsoll_home, fake_openai.base_url, more=rules)
    fake_openai.add(write("plan.txt", "sea\n"), write("README.md", "gone"), Text("Done."))
    async with talking(cwd, editor=(editor := Editor())) as talk:
        session = await talk.begin()
        await talk.say(session, "Write both.")
        assert not editor.asked
        assert [status for status, _ in results(talk, session)] == ["completed", "failed"]
    assert (cwd / "plan.txt").read_text() == "sea\n"
    config = plimsoll_home / "config" / "config.toml"
    config.write_text(f"read_only = true\n{config.read_text()}")
    fake_openai.add(write("plan.txt", "gone"), Text("Cannot."))
    async with talking(cwd, editor=editor) as talk:
        session = await talk.begin()
        await talk.say(session, "Write it.")
        assert not editor.asked
    assert (cwd / "plan.txt").read_text() == "sea\n"
    assert (cwd / "README.md").read_text() == README


async def test_an_editor_that_goes_while_it_is_asked_leaves_the_file_alone(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(write("README.md", "gone"))
    fake_openai.fallback = Text("All right.")
    async with talking(cwd, editor=(editor := Slow())) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Empty it."))
        await editor.until(lambda: bool(editor.asked))
        assert talk.process.stdin is not None
        talk.process.stdin.close()
        async with asyncio.timeout(WAIT_S):
            assert await talk.process.wait() == 0
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
    assert (cwd / "README.md").read_text() == README
    ((decision, _, _, _),) = decisions(plimsoll_home, session)
    assert decision in ("denied", "cancelled")


async def test_a_session_that_is_closed_while_it_asks_ends_its_prompt(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(write("README.md", "gone"))
    async with talking(cwd, editor=(editor := Slow())) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Empty it."))
        await editor.until(lambda: bool(editor.asked))
        async with asyncio.timeout(WAIT_S):
            await talk.agent.close_session(session_id=session)
        assert (await answer).stop_reason == "cancelled"
    assert (cwd / "README.md").read_text() == README
    assert decisions(plimsoll_home, session) == [("cancelled", "person", "once", "")]


async def test_what_must_not_be_read_is_not_and_what_asks_is_asked_about(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    (cwd / ".env").write_text("TOKEN=hunter2\n")
    rules = '[approvals]\ndeny = ["read_file .env"]\nask = ["read_file README.md"]\n'
    endpoint(plimsoll_home, fake_openai.base_url, more=rules)
    fake_openai.add(tool("read_file", path=".env"), tool("read_file", path="README.md"), Text("Done."))
    async with talking(cwd, editor=(editor := Editor(permission="no"))) as talk:
        session = await talk.begin()
        await talk.say(session, "Read it.")
        assert [(each.title, len(options)) for _, each, options in editor.asked] == [
            ("read_file README.md, looks, changes nothing", 2)
        ]
        denied, no = results(talk, session)
        assert denied[0] == no[0] == "failed"
        assert 'the rule "read_file .env" forbids it' in denied[1]
        assert "the user said no" in no[1]
        assert "hunter2" not in str(fake_openai.journal)


async def test_an_editor_is_asked_about_what_a_sub_agent_wants_to_read(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url, more='[approvals]\nask = ["read_file README.md"]\n')
    fake_openai.add(tool("explore", task="Look."), Text("Done."))
    fake_openai.add(tool("read_file", path="README.md"), Text("Found."), phrase="for another assistant")
    async with talking(cwd, editor=(editor := Editor(permission="once"))) as talk:
        session = await talk.begin()
        assert (await talk.say(session, "Read it.")).stop_reason == "end_turn"
        assert len(editor.asked) == 1
        assert "09:40" in str(fake_openai.journal[2])


# Permission requests in the protocol's terms, and the meaning of an editor's answers; no process is needed.


CWD = Path("/home/ada/ferry")
BECAUSE = "asks unless a rule allows it"


def asked(**more: Any) -> ApprovalRequested:
    given = {"id": "c1.1", "tool_call_id": "c1", "tool": "run_command", "kind": "command", "subject": "ls -l"}
    return ApprovalRequested(**{**given, "because": BECAUSE, **more})


def worded(**more: Any) -> Question:
    return Updates(CWD).question(asked(**more))


def questions_texts(question: Question) -> list[str]:
    assert question.call.content is not None
    return [each.content.text for each in question.call.content if each.type == "content"]


def test_a_change_is_a_diff_for_each_place() -> None:
    before = "".join(f"line {number}\n" for number in range(40))
    after = before.replace("line 3\n", "-- three\n").replace("line 30\n", "")
    question = worded(
        tool="edit_file", kind="file", subject="src/a.py", note="+1 -2",
        detail=diff_of(before, after, "src/a.py"), pattern="edit_file src/a.py",
    )  # fmt: skip
    call = question.call
    assert call.title == "edit_file src/a.py, +1 -2"
    assert (call.tool_call_id, call.kind, call.status) == ("c1", "edit", "pending")
    assert [each.path for each in call.locations or ()] == ["/home/ada/ferry/src/a.py"]
    first, second = [each for each in call.content or () if each.type == "diff"]
    assert first.path == second.path == "/home/ada/ferry/src/a.py"
    assert (first.old_text, first.new_text) == (
        "".join(f"line {number}\n" for number in range(7)),
        "line 0\nline 1\nline 2\n-- three\nline 4\nline 5\nline 6\n",
    )
    assert "line 30" in (second.old_text or "")
    assert "line 30" not in second.new_text
    assert questions_texts(question) == [f"```\n+1 -2\n{BECAUSE}\n```"]


def test_a_new_file_has_no_old_text() -> None:
    assert hunks(diff_of(None, "--- a\n\n+b\n", "x")) == (Hunk(None, "--- a\n\n+b\n"),)
    assert hunks(diff_of("a\n", "", "x")) == (Hunk("a\n", ""),)
    assert hunks(diff_of(None, "", "x")) == ()


def test_what_the_rows_of_a_diff_do_not_show_is_said() -> None:
    ends = diff_of("a\r\n", "a\n", "x")
    question = worded(kind="file", tool="write_file", subject="x", detail=ends, note="+1 -1")
    assert remarks(ends) == ("[only line ends change: CRLF to LF]",)
    assert remarks(ends)[0] in questions_texts(question)[-1]
    (binary,) = questions_texts(
        worded(kind="file", tool="write_file", subject="x", detail="+7 bytes", note="binary")
    )
    assert binary == f"```\n+7 bytes\nbinary\n{BECAUSE}\n```"


def test_a_command_is_shown_whole_and_nothing_in_it_can_hide() -> None:
    command = "echo '```'\nrm -r x \u202e\x1b[2K\ty # " + "long " * 100
    question = worded(subject=command, detail="in /home/ada/ferry", note="through a shell, at most 120 s")
    shown, facts = questions_texts(question)
    assert shown.startswith("````\n$ echo '```'\nrm -r x \\u202e\\x1b[2K\ty # long long")
    assert shown.endswith("long \n````")
    assert facts == f"```\nin /home/ada/ferry\nthrough a shell, at most 120 s\n{BECAUSE}\n```"
    assert question.call.title is not None
    assert len(question.call.title) == 100
    assert question.call.title.isprintable()
    long = worded(kind="other", tool="x", subject="y" * 50_000 + "z")
    pieces = [each.strip("`\n") for each in questions_texts(long)]
    assert "".join(pieces[:-1]) == "y" * 50_000 + "z", "all of it"
    unseen = worded(kind="other", tool="x", subject="y" * 500_000, pattern="x")
    assert [each.name for each in unseen.options] == ["Do not allow"]
    assert "cannot be allowed here" in questions_texts(unseen)[-1]
    assert 'Look closely: "асе" is of Cyrillic' in questions_texts(worded(subject="rm асе"))[-1]


def test_arguments_go_along_and_an_allowed_call_is_under_way() -> None:
    updates = Updates(CWD)
    updates.of(ToolCall(tool_call_id="c1", name="run_command", args='{"command": "ls -l", "timeout_s": 5}'))
    question = updates.question(asked(pattern="run_command ls -l"))
    assert question.call.raw_input == {"command": "ls -l", "timeout_s": 5}
    assert [(each.kind, each.name) for each in question.options] == [
        ("allow_once", "Allow"),
        ("allow_always", "Allow in this session: run_command ls -l"),
        ("reject_once", "Do not allow"),
    ]
    decided = ApprovalDecided(
        id="c1.1", tool_call_id="c1", tool="run_command", subject="ls -l", decision="allowed", by="person"
    )
    (update,) = updates.of(decided)
    assert (update.tool_call_id, update.status) == ("c1", "in_progress")
    assert not Updates(CWD, replaying=True).of(decided)


@pytest.mark.parametrize(
    ("chosen", "decision"),
    [
        ("once", Decision("once")),
        ("always", Decision("always", pattern="run_command ls -l")),
        ("no", Decision("no")),
        ("?", Decision("nobody", reason="the editor chose something that was not offered")),
    ],
)
async def test_answers(chosen: str, decision: Decision) -> None:
    editor = Editor(permission=chosen)
    assert await ask(editor, "s1", worded(pattern="run_command ls -l")) == decision  # type: ignore[arg-type]
    ((session, call, _),) = editor.asked
    assert (session, call.tool_call_id) == ("s1", "c1")


async def test_a_rule_that_was_not_offered_is_not_added() -> None:
    question = worded()
    assert [each.kind for each in question.options] == ["allow_once", "reject_once"]
    decision = await ask(Editor(permission="always"), "s1", question)  # type: ignore[arg-type]
    assert decision == Decision("nobody", reason="the editor chose something that was not offered")


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (ConnectionError("Connection closed"), "the editor has disconnected"),
        (RequestError(-32601, "No such\n\x1b[2Kmethod"), r"the editor answered with an error: No such\n"),
        (ValueError("?"), "the editor's answer cannot be read"),
        (None, "the question was closed without an answer"),
    ],
)
async def test_without_an_answer_it_is_refused(
    trouble: Exception | None, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Troubled(Editor):
        async def request_permission(self, *_: Any, **__: Any) -> RequestPermissionResponse:
            if trouble is not None:
                raise trouble
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))

    with caplog.at_level(logging.ERROR):
        decision = await ask(Troubled(), "s1", worded())  # type: ignore[arg-type]
    assert isinstance(decision, Decision)
    assert decision.answer == "nobody"
    assert decision.reason.startswith(reason)
    assert decision.reason.isprintable()


@pytest.mark.parametrize("error", ["No.", 7, [], {"code": "x", "message": "No."}, {"code": 1}])
def test_an_error_of_no_known_form_is_an_error_all_the_same(error: Any) -> None:
    message, problem = read_message(json.dumps({"jsonrpc": "2.0", "id": 4, "error": error}).encode())
    assert problem is None
    assert message is not None
    assert message["id"] == 4
    assert isinstance(message["error"]["code"], int)
    assert isinstance(message["error"]["message"], str)


async def test_a_mode_is_set_at_once_in_the_middle_of_a_turn(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(write("one.txt", "sea"), write("two.txt", "sky"), tool("run_command", command="echo x"))
    fake_openai.add(Text("Done."))
    async with talking(cwd, editor=(editor := Slow())) as talk:
        session = await talk.begin()
        saying = asyncio.create_task(talk.say(session, "Write."))
        await editor.until(lambda: len(editor.asked) == 1)
        await talk.agent.set_session_mode(session_id=session, mode_id="edit")
        await editor.until(lambda: len(editor.asked) == 2)
        # The first request is one that nothing waits for any more.
        editor.answers.put_nowait("once")
        editor.answers.put_nowait("no")
        assert (await saying).stop_reason == "end_turn"
    assert texts(cwd) == {"one.txt": "sea", "two.txt": "sky"}
    assert [each[:2] for each in decisions(plimsoll_home, session)] == [
        ("allowed", "mode"), ("allowed", "mode"), ("denied", "person"),
    ]  # fmt: skip


async def test_a_question_of_the_model_is_put_by_the_editor_or_answered_by_the_next_prompt(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    choice = tool("ask_user", question="Which port?", choices=["8080", "3000"])
    fake_openai.add(choice, choice, tool("ask_user", question="What is it for?"), Text("Thanks."))
    async with talking(cwd, editor=(editor := Slow())) as talk:
        session = await talk.begin()
        editor.answers.put_nowait("1")
        editor.answers.put_nowait("none")
        assert (await talk.say(session, "Go.")).stop_reason == "end_turn"
        assert "What is it for?" in talk.editor.text(session)
        found = [text for _, text in results(talk, session)]
    assert found[0] == "The user answers: 3000"
    assert found[1].startswith("The user gave no answer.")
    assert found[2].startswith("The question is shown to the user, who answers with the next prompt.")
    (_, call, options), _ = editor.asked
    assert call.title == "Which port?"
    assert [(each.option_id, each.name, each.kind) for each in options] == [
        ("0", "8080", "allow_once"), ("1", "3000", "allow_once"), ("none", "No answer", "reject_once"),
    ]  # fmt: skip
