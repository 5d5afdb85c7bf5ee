"""Shell mode: commands are logged, sent with the next prompt, and leave nothing running."""

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.conversation.driving import Desk, Following, assert_valid, cancelled_within, done, of, turn, until
from tests.process_ends import gone, numbers_in, written_pids
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.strict import WIRES, strict_server
from tui_app.context.message_marks import SHELL_HEADING
from tui_app.conversation.memory.recall import SessionSearch
from tui_app.conversation.message_actions import Outlook
from tui_app.conversation.work import (
    Clear,
    Compact,
    Exclude,
    Prompt,
    Restate,
    Rewind,
    Shell,
    Work,
    asked_command,
)
from tui_app.events import (
    Error,
    Payload,
    Record,
    ShellCommand,
    ShellResult,
    TaskTold,
    ToolArchived,
    ToolOffloaded,
    ToolOutput,
    UserMessage,
)
from tui_app.session.exports.markdown import export_markdown
from tui_app.session.exports.message_json import user_view_messages
from tui_app.settings import Endpoint


@pytest.fixture
def server(desk: Desk, fake_openai: FakeOpenAI) -> FakeOpenAI:
    desk.server("local", fake_openai.base_url, window=64_000)
    return fake_openai


def result(opened, number: int = -1) -> ShellResult:  # type: ignore[no-untyped-def]
    records = [record for record, _ in opened.store.records(opened.conversation.session)]
    found = [each for each in of(records, ShellResult) if isinstance(each, ShellResult)]
    return found[number]


def seqs(opened, kind: type) -> list[int]:  # type: ignore[no-untyped-def]
    return [r.seq for r, _ in opened.store.records(opened.conversation.session) if isinstance(r.data, kind)]


def sent(server: FakeOpenAI, number: int = -1) -> str:
    return str(server.journal[number]["messages"])


def test_a_prompt_is_read_as_a_command_by_its_first_sign() -> None:
    assert asked_command("!git status ") == Shell("git status")
    assert asked_command("!! env | sort") == Shell("env | sort", private=True)
    assert asked_command(" !important: never touch it") is None
    assert asked_command("wow!") is None


async def test_the_model_reads_command_and_output_with_the_next_prompt(
    desk: Desk, server: FakeOpenAI
) -> None:
    server.add(Text("First."), Text("Second."))
    async with desk.session() as opened:
        conversation = opened.conversation
        await turn(conversation, "hello")
        watching = Following(conversation.bus)
        before = conversation.usage.parts
        await done(conversation, Shell("printf '\\033[31mred\\033[0m\\n'; exit 3"))
        assert isinstance((await until(watching, lambda data: isinstance(data, ToolOutput))).data, ToolOutput)
        ended = result(opened)
        assert (ended.outcome, ended.exit_code, ended.private) == ("exited", 3, False)
        assert ended.text.startswith("Exit code 3 after ")
        assert ended.text.endswith("\nred"), "without control sequences"
        # No model was asked, and the gauge counts the output as a result.
        assert len(server.journal) == 1
        assert conversation.usage.parts.tool_results > before.tool_results
        assert conversation.usage.parts.user == before.user
        await turn(conversation, "and now?")
        assert_valid(conversation)
    said = server.journal[-1]["messages"]
    assert [each["role"] for each in said][-2:] in (["assistant", "user"], ["user", "user"])
    words = sent(server)
    assert f"{SHELL_HEADING}" in words
    assert "$ printf" in words
    assert "red" in words
    assert words.index("$ printf") < words.index("and now?")


@pytest.mark.parametrize("earlier", [(), (Shell("echo lee"),), (Prompt("hello"),)], ids=str)
async def test_a_private_command_stays_between_log_and_screen(
    desk: Desk, server: FakeOpenAI, earlier: tuple[Work, ...]
) -> None:
    server.add(*[Text("Hello.")] * (Prompt("hello") in earlier), Text("Nothing."), Text("Summary of it all."))
    async with desk.session() as opened:
        conversation = opened.conversation
        await done(conversation, *earlier)
        before = conversation.usage.total
        await done(conversation, Shell("echo quayside-secret", private=True))
        assert result(opened).private
        assert "quayside-secret" in result(opened).text
        assert conversation.usage.total == before
        await turn(conversation, "what did I run?")
        assert "quayside" not in sent(server)
        search = SessionSearch(opened.store, conversation.session)
        assert not search.search("quayside-secret")
        assert search.fetch(seqs(opened, ShellResult)[-1]) is None
        assert search.fetch(seqs(opened, ShellCommand)[-1]) is None
        rows = list(opened.store.records(conversation.session))
        assert "quayside-secret" in export_markdown([record for record, _ in rows], title="x")
        assert any("quayside-secret" in text for text in user_view_messages(rows))


async def test_large_output_is_in_a_file_at_once_and_old_output_is_archived(
    desk: Desk, server: FakeOpenAI
) -> None:
    server.add(*(Text(f"Answer {number}.") for number in range(20)))
    async with desk.session(window=5_000) as opened:
        conversation = opened.conversation
        await done(conversation, Shell("seq 1 40000"))
        assert conversation.usage.total < 10_000, "the gauge shows what a request would hold"
        assert seqs(opened, ToolOffloaded)
        (file,) = opened.folder.path.glob("tool_outputs/shell_*.txt")
        assert file.read_text().endswith("40000")
        for number in range(14):
            await done(conversation, Shell(f"seq {number}0000 {number}0180"))
            await turn(conversation, f"prompt {number}")
        assert seqs(opened, ToolArchived), "the oldest leave as results of tools do"
        assert "(run by the user)" in sent(server)
        assert_valid(conversation)


@pytest.mark.skipif(not os.path.exists("/proc"), reason="the parent of a command is Linux's")  # noqa: PTH110
async def test_stopping_ends_the_whole_tree_and_holds_back_what_waits(desk: Desk, server: FakeOpenAI) -> None:
    pids = desk.cwd / "pids"
    line = (
        f"echo $$ >>{pids}; (setsid sh -c 'echo $$ >>{pids}; exec sleep 600' &) ; "
        f"nohup sh -c 'echo $$ >>{pids}; trap \"\" TERM INT; sleep 600 & wait' & echo ready; wait; cat"
    )
    async with desk.session() as opened:
        conversation = opened.conversation
        watching = Following(conversation.bus)
        conversation.submit(Shell(line))
        conversation.submit(Shell("touch never"))
        conversation.submit(Prompt("never sent"))
        async with asyncio.timeout(20):
            await written_pids(pids, 3)
            await until(watching, lambda data: isinstance(data, ToolOutput) and "ready" in data.text)
        await cancelled_within(conversation, 5.0)
        assert result(opened).outcome == "stopped"
        assert "ready" in result(opened).text
        assert all(map(gone, numbers_in(pids)))
        assert conversation.queue.paused
        assert conversation.queue.labels == ("!touch never", "never sent")
        assert not (desk.cwd / "never").exists()


async def test_it_has_no_terminal_and_bad_commands_say_so(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session() as opened:
        conversation = opened.conversation
        await done(conversation, Shell("cat; cat </dev/tty; no-such-program-at-all"))
        assert result(opened).exit_code == 127
        await done(conversation, Shell("printf 'a\\000b'; printf '\\377'"))
        assert result(opened).exit_code == 0
        await done(conversation, Shell("nul \0 in it"))
        assert result(opened).outcome == "not started"
        await done(conversation, Shell("yes | head -c 30000000"))
        assert len(result(opened).text) < 1_000_000
        await done(conversation, Shell("kill -9 $$"))
        assert result(opened).exit_code == -9


async def test_it_runs_as_the_user_and_keys_are_masked(
    desk: Desk, server: FakeOpenAI, tmp_path: Path
) -> None:
    desk.env |= {"FERRY_API_KEY": "f3rr9Qx8LpZ2vT6uW1s", "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    async with desk.session() as opened:
        await done(opened.conversation, Shell('test -n "$FERRY_API_KEY" && echo "key $FERRY_API_KEY"; pwd'))
        assert result(opened).exit_code == 0
        assert "f3rr9Qx8" not in result(opened).text
        assert str(desk.cwd) in result(opened).text


async def test_rewind_clear_exclude_and_compaction_keep_it_right(desk: Desk, server: FakeOpenAI) -> None:
    server.add(*(Text(f"Answer {number}.") for number in range(4)), Text("## Intent\nRun tests."))
    async with desk.session() as opened:
        conversation = opened.conversation
        await turn(conversation, "one")
        await done(conversation, Shell("echo lighthouse"))
        await turn(conversation, "two")
        first, second = seqs(opened, UserMessage)
        (shell,) = seqs(opened, ShellResult)
        visible = {head.seq for head in conversation.history.view.visible()}
        assert shell in visible
        outlook: Outlook = conversation.edits.outlook(shell)
        assert not outlook.exclude.refused
        await done(conversation, Exclude((shell,)))
        assert shell not in {head.seq for head in conversation.history.view.visible()}
        await done(conversation, Restate(undo=True))
        assert {head.seq for head in conversation.history.view.visible()} == visible
        await done(conversation, Rewind(second))
        assert shell in {head.seq for head in conversation.history.view.visible()}
        await done(conversation, Rewind(first))
        assert not conversation.history.view.visible()
        await done(conversation, Restate(undo=True), Clear(), Restate(undo=True))
        await turn(conversation, "three")
        await done(conversation, Compact(extract=True))
        assert_valid(conversation)


async def test_a_killed_program_leaves_a_row_that_says_so(desk: Desk, server: FakeOpenAI) -> None:
    server.add(Text("Yes."), Text("Yes."))
    async with desk.session() as opened:
        session = opened.conversation.session
        await turn(opened.conversation, "hello")
        opened.conversation.history.append(ShellCommand(id="torn", text="make all"))
    async with desk.session(session=session) as opened:
        assert (result(opened).id, result(opened).outcome) == ("torn", "interrupted")
        await turn(opened.conversation, "go on")
        assert "$ make all" in sent(server)
        assert "Interrupted" in sent(server)
        view = opened.conversation.history.view
        assert any(head.type == ShellResult.TYPE for head in view.visible())


@pytest.mark.parametrize("wire", WIRES)
async def test_every_provider_takes_it(desk: Desk, wire: str) -> None:
    (desk.cwd / "README.md").write_text("The sea is below.\n")
    with strict_server() as strict:
        strict.calls, strict.call = True, ("read_file", {"path": "README.md"})
        base = f"{strict.url}/{wire}" + ("" if wire in ("anthropic", "google") else "/v1")
        kind = WIRES[wire]
        desk.endpoints[wire] = Endpoint(
            name=wire, protocol=kind.protocol, base_url=base, key_env="", window=64_000
        )
        async with desk.session(model=f"{wire}:{kind.model}", read_only=False) as opened:
            conversation = opened.conversation
            # Before any prompt, two in a row, empty output, and a task notice after a result.
            await done(conversation, Shell("true"), Shell("echo one"), Shell("echo no", private=True))
            for prompt in ("first", "second"):
                assert opened.conversation.tooling.tasks is not None
                opened.conversation.tooling.tasks.news.append(("t1", "exit 1"))
                records = await turn(conversation, prompt)
                assert not of(records, Error)
                assert len(of(records, TaskTold)) == 1
                await done(conversation, Shell(f"echo behind {prompt}; exit 1"))
            await done(conversation, Rewind(seqs(opened, UserMessage)[1]))
            assert not of(await turn(conversation, "third"), Error)
            await done(conversation, Compact(extract=True))
            assert not of(await turn(conversation, "fourth"), Error)
            assert_valid(conversation)


async def test_a_log_that_refuses_the_end_is_told_and_nobody_waits(
    desk: Desk, server: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with desk.session() as opened:
        conversation = opened.conversation
        watching, append = Following(conversation.bus), type(opened.store).append

        def full(store: Any, session: str, payload: Payload, *more: Any, **others: Any) -> Record:
            if isinstance(payload, ShellResult):
                raise sqlite3.OperationalError("database or disk is full")
            return append(store, session, payload, *more, **others)

        monkeypatch.setattr(type(opened.store), "append", full)
        await done(conversation, Shell("echo gone"))
        record = await until(watching, lambda data: isinstance(data, ShellResult))
        assert record.seq == 0
        assert isinstance((await until(watching, lambda data: isinstance(data, Error))).data, Error)
        monkeypatch.undo()
        await done(conversation, Shell("echo again"))
        assert result(opened).outcome == "exited"
