"""An editor drives sessions over stdio: prompts, streams, cancel, compactions, several sessions, garbage."""

import asyncio
import json
import signal
import sys
from pathlib import Path

import psutil
import pytest
from acp import PROTOCOL_VERSION, RequestError, text_block
from acp.schema import EnvVariable, ImageContentBlock, McpServerStdio, SseMcpServer

from tests.editors.kit import WAIT_S, endpoint, started, talking
from tests.servers import mcp_stdio
from tests.servers.behaviours import HangMidStream, Text, Tool, error, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.postgres import Cluster

OFFLINE = ("--model", "offline:extractive")
ASKS = "Write the notes for this transcript"
NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky."
LONG = "The sea is below and the sky is above, as everybody knows. " * 60


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "README.md").write_text("# Ferries\n\nLow water on Sunday is at 09:40.\n")
    return folder


async def test_prompt_streams_text_tools_and_usage(cwd: Path) -> None:
    async with talking(cwd, *OFFLINE) as talk:
        first = await talk.agent.initialize(protocol_version=PROTOCOL_VERSION)
        assert first.protocol_version == PROTOCOL_VERSION
        assert first.agent_capabilities.load_session
        made = await talk.agent.new_session(cwd=str(cwd), mcp_servers=[])
        session = made.session_id
        assert made.modes.current_mode_id == "ask"
        assert [each.id for each in made.modes.available_modes] == ["ask", "edit", "plan"]
        assert [each.id for each in made.config_options] == ["model", "policy"]
        end = await talk.say(session, "When is low water on Sunday?")
        assert end.stop_reason == "end_turn"
        assert end.usage.total_tokens > 0
        assert "09:40" in talk.editor.text(session)
        calls = talk.editor.of(session, "tool_call")
        ends = talk.editor.of(session, "tool_call_update")
        assert {call.tool_call_id for call in calls} == {end.tool_call_id for end in ends}
        assert calls[0].kind == "search"
        assert all(end.status == "completed" for end in ends)
        (commands,) = talk.editor.of(session, "available_commands_update")
        assert [each.name for each in commands.available_commands] == [
            "compact",
            "undo",
            "context",
            "mcp",
        ]
        assert talk.editor.of(session, "usage_update")[-1].size == 32_000
    assert talk.process.returncode == 0


async def test_loaded_session_is_replayed_and_goes_on(cwd: Path) -> None:
    async with talking(cwd, *OFFLINE) as talk:
        session = await talk.begin()
        await talk.say(session, "When is low water on Sunday?")
        said = talk.editor.text(session)
    async with talking(cwd, *OFFLINE) as talk:
        await talk.agent.initialize(protocol_version=PROTOCOL_VERSION)
        listed = await talk.agent.list_sessions(cwd=str(cwd))
        assert [each.session_id for each in listed.sessions] == [session]
        await talk.agent.load_session(cwd=str(cwd), session_id=session, mcp_servers=[])
        assert talk.editor.text(session, "user_message_chunk") == "When is low water on Sunday?"
        assert talk.editor.text(session) == said
        await talk.say(session, "And what is README.md?")
        with pytest.raises(RequestError, match="There is no session nonsense"):
            await talk.agent.load_session(cwd=str(cwd), session_id="nonsense", mcp_servers=[])
        for open_again in (talk.agent.load_session, talk.agent.resume_session):
            with pytest.raises(RequestError, match="by its id"):
                await open_again(cwd=str(cwd), session_id="", mcp_servers=[])
        await talk.agent.close_session(session_id=session)
        with pytest.raises(RequestError, match="Load it first"):
            await talk.say(session, "Still there?")
        await talk.agent.resume_session(cwd=str(cwd), session_id=session)


@pytest.mark.postgres
async def test_sessions_of_a_server_are_listed_and_loaded(
    cwd: Path, postgres: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLIMSOLL_STORE", postgres.database())
    async with talking(cwd, *OFFLINE) as talk:
        session = await talk.begin()
        await talk.say(session, "When is low water on Sunday?")
    async with talking(cwd, *OFFLINE) as talk:
        await talk.agent.initialize(protocol_version=PROTOCOL_VERSION)
        listed = await talk.agent.list_sessions(cwd=str(cwd))
        assert [each.session_id for each in listed.sessions] == [session]
        await talk.agent.load_session(cwd=str(cwd), session_id=session, mcp_servers=[])
        assert talk.editor.text(session, "user_message_chunk") == "When is low water on Sunday?"


async def test_cancel_in_mid_stream(cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(HangMidStream("Half a sentence and then nothing"), Text("On again."))
    async with talking(cwd) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Tell me."))
        await talk.editor.until(lambda: "sentence" in talk.editor.text(session))
        with pytest.raises(RequestError, match="still being answered"):
            await talk.say(session, "And this?")
        await talk.agent.cancel(session_id=session)
        assert (await answer).stop_reason == "cancelled"
        async with asyncio.timeout(WAIT_S):
            await fake_openai.exchanges[0].closed.wait()
        assert (await talk.say(session, "Go on.")).stop_reason == "end_turn"
        assert talk.editor.text(session).endswith("On again.")


async def test_cancel_right_behind_a_prompt_ends_it(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.fallback = HangMidStream()
    async with talking(cwd) as talk:
        session = await talk.begin()
        for _ in range(3):
            answer = asyncio.create_task(talk.say(session, "Tell me."))
            await asyncio.sleep(0)
            await talk.agent.cancel(session_id=session)
            await talk.editor.until(lambda: True)
            async with asyncio.timeout(WAIT_S):
                while not answer.done():
                    await talk.agent.cancel(session_id=session)
                    await asyncio.sleep(0.05)
            assert answer.result().stop_reason == "cancelled"


async def test_a_session_closed_in_mid_stream_ends_its_prompt(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(HangMidStream("Half a sentence and then nothing"))
    async with talking(cwd) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Tell me."))
        await talk.editor.until(lambda: "sentence" in talk.editor.text(session))
        async with asyncio.timeout(WAIT_S):
            await talk.agent.close_session(session_id=session)
        assert (await answer).stop_reason == "cancelled"


async def test_compaction_during_a_prompt_is_seen(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url, window=8_000)
    fake_openai.fallback = Text(f"Answer. {LONG}", usage=(0, 0))
    for _ in range(6):
        fake_openai.add(Text(NOTES), phrase=ASKS)
    async with talking(cwd) as talk:
        session = await talk.begin()

        def compacted() -> list[str]:
            ends = talk.editor.of(session, "tool_call_update")
            return [each.title for each in ends if (each.title or "").startswith("Conversation compacted")]

        for number in range(12):
            await talk.say(session, f"Question {number}? {LONG}")
            if compacted():
                break
        assert compacted()
        starts = talk.editor.of(session, "tool_call")
        assert any(each.title.startswith("Compacting the conversation") for each in starts)


async def test_slash_commands(cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.fallback = Text(f"Answer. {LONG}", usage=(0, 0))
    fake_openai.add(Text(NOTES), phrase=ASKS)
    async with talking(cwd) as talk:
        session = await talk.begin()
        await talk.say(session, "/undo")
        assert talk.editor.text(session) == "Nothing to undo."
        for number in range(4):
            await talk.say(session, f"Question {number}? {LONG}")
        full = talk.editor.of(session, "usage_update")[-1].used
        await talk.say(session, "/compact the tides")
        done = talk.editor.of(session, "tool_call_update")[-1]
        assert done.title.startswith("Conversation compacted: ")
        assert "Tell the sea from the sky" in done.content[0].content.text
        assert talk.editor.of(session, "usage_update")[-1].used < full
        await talk.say(session, "/undo")
        assert talk.editor.of(session, "usage_update")[-1].used == full
        await talk.say(session, "/context")
        assert "| assistant |" in talk.editor.text(session)
        with pytest.raises(RequestError, match="cannot be reviewed in an editor"):
            await talk.say(session, "/compact --review")


async def test_model_and_policy_are_chosen(cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    async with talking(cwd) as talk:
        session = await talk.begin()
        changed = await talk.agent.set_config_option(
            config_id="model", session_id=session, value="offline:extractive"
        )
        assert changed.config_options[0].current_value == "offline:extractive"
        changed = await talk.agent.set_config_option(config_id="policy", session_id=session, value="off")
        assert changed.config_options[1].current_value == "off"
        await talk.agent.set_session_mode(session_id=session, mode_id="plan")
        await talk.editor.until(lambda: bool(talk.editor.of(session, "current_mode_update")))
        assert talk.editor.of(session, "current_mode_update")[-1].current_mode_id == "plan"
        with pytest.raises(RequestError, match="no mode 'nonsense'; there are ask, edit, plan"):
            await talk.agent.set_session_mode(session_id=session, mode_id="nonsense")
        with pytest.raises(RequestError, match="nonsense"):
            await talk.agent.set_config_option(config_id="model", session_id=session, value="nonsense:model")


async def test_failed_turn_is_an_error_with_a_sentence(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(error(401, "No such key."), Text("Well again."))
    async with talking(cwd) as talk:
        session = await talk.begin()
        with pytest.raises(RequestError) as failed:
            await talk.say(session, "Hello?")
        assert failed.value.data["kind"] == "auth"
        assert "Traceback" not in str(failed.value)
        assert str(failed.value).endswith(".")
        assert (await talk.say(session, "Hello?")).stop_reason == "end_turn"
        with pytest.raises(RequestError, match="There is no folder"):
            await talk.agent.new_session(cwd=str(cwd / "gone"), mcp_servers=[])


async def test_two_sessions_at_once(cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(HangMidStream("Slow words come here first"), phrase="slow question")
    fake_openai.add(tool("read_file", path="README.md"), Text("Quick."), phrase="quick question")
    async with talking(cwd) as talk:
        slow, quick = await talk.begin(), await talk.begin()
        waiting = asyncio.create_task(talk.say(slow, "A slow question."))
        await talk.editor.until(lambda: "words" in talk.editor.text(slow))
        assert (await talk.say(quick, "A quick question.")).stop_reason == "end_turn"
        assert talk.editor.text(quick) == "Quick."
        (call,) = talk.editor.of(quick, "tool_call")
        assert call.locations[0].path == str(cwd / "README.md")
        assert not talk.editor.of(slow, "tool_call")
        assert not waiting.done()
        await talk.agent.cancel(session_id=slow)
        assert (await waiting).stop_reason == "cancelled"


async def test_garbage_is_answered_and_skipped(cwd: Path) -> None:
    process = await started(cwd, *OFFLINE)
    hello = {"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {"protocolVersion": 1}}
    lines = [
        b"\xff\xfe\x00 garbage", b"", b"[1, 2]", b'{"id": [1], "method": "x"}', b'{"method": 5, "id": 3}',
        b'{"id": "stray", "result": 1}', b'{"id": 99, "result": 1}', b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 4, "method": "no/such"}',
        b'{"jsonrpc": "2.0", "id": 5, "method": "session/prompt", "params": {"nonsense": 1}}',
        json.dumps(hello).encode(),
    ]  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"\n".join(lines) + b"\n")
    answers = []
    async with asyncio.timeout(WAIT_S):
        while not {3, 4, 5, 7} <= {answer["id"] for answer in answers}:
            answers.append(json.loads(await process.stdout.readline()))
        process.stdin.close()
        rest, err = await process.communicate()
    answers += [json.loads(line) for line in rest.splitlines()]
    by_id = {answer["id"]: answer for answer in answers}
    assert [answer["error"]["code"] for answer in answers if answer["id"] is None] == [
        -32700, -32600, -32600, -32700,
    ]  # fmt: skip
    assert by_id[3]["error"]["code"] == -32600
    assert by_id[4]["error"]["code"] == -32601
    assert by_id[5]["error"]["code"] == -32602
    assert "result" in by_id[7]
    assert process.returncode == 0, err
    assert b"Traceback" not in err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_killed_in_mid_stream_leaves_a_session_to_go_on_with(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI, how: signal.Signals
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(HangMidStream("Half a sentence and then nothing"), Text("On again."))
    async with talking(cwd) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Tell me."))
        await talk.editor.until(lambda: "sentence" in talk.editor.text(session))
        children = psutil.Process(talk.process.pid).children(recursive=True)
        talk.process.send_signal(how)
        await talk.process.wait()
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
        assert not [child for child in children if child.is_running()]
    async with talking(cwd) as talk:
        await talk.agent.initialize(protocol_version=PROTOCOL_VERSION)
        await talk.agent.load_session(cwd=str(cwd), session_id=session, mcp_servers=[])
        assert (await talk.say(session, "Go on.")).stop_reason == "end_turn"


async def test_closed_stdin_in_mid_stream_ends_it_cleanly(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(HangMidStream("Half a sentence and then nothing"))
    async with talking(cwd) as talk:
        session = await talk.begin()
        answer = asyncio.create_task(talk.say(session, "Tell me."))
        await talk.editor.until(lambda: "sentence" in talk.editor.text(session))
        assert talk.process.stdin is not None
        talk.process.stdin.close()
        async with asyncio.timeout(WAIT_S):
            assert await talk.process.wait() == 0
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="


async def test_servers_that_the_editor_passes_are_used(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    pytest.importorskip("mcp")
    endpoint(plimsoll_home, fake_openai.base_url, more='[approvals]\nallow = ["Their_own_*"]\n')
    fake_openai.add(Tool((("Their_own_env", {}),)), Text("Done."))
    theirs = McpServerStdio(
        name="Their own",
        command=sys.executable,
        args=["-S", mcp_stdio.__file__, "plain"],
        env=[EnvVariable(name="BERTH", value="$HOME is no variable here")],
    )
    sse = SseMcpServer(name="old", url="http://127.0.0.1:9/", headers=[], type="sse")
    async with talking(cwd, "--trust") as talk:
        await talk.agent.initialize(protocol_version=PROTOCOL_VERSION)
        session = (await talk.agent.new_session(cwd=str(cwd), mcp_servers=[theirs, sse])).session_id
        # However slowly it starts.
        await talk.say(session, "/mcp")
        await talk.say(session, "Where do we berth?")
        done = next(
            each for each in talk.editor.of(session, "tool_call_update") if each.status == "completed"
        )
        assert "$HOME is no variable here" in done.content[0].content.text
        said = talk.editor.text(session)
        assert "`Their_own` ready, 10 tools" in said
        assert "The MCP server old is not started: only stdio and HTTP are supported." in said


async def test_pictures_and_the_todo_list_cross_the_protocol(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    items = [{"text": "Moor", "state": "done"}, {"text": "Unload", "state": "doing"}, {"text": "Sleep"}]
    fake_openai.add(Tool((("todo", {"items": items}),)), Text("Noted."))
    async with talking(cwd) as talk:
        session = await talk.begin()
        picture = ImageContentBlock(type="image", data=PIXEL, mime_type="image/png")
        await talk.agent.prompt(session_id=session, prompt=[text_block("What is it?"), picture])
        assert PIXEL in json.dumps(fake_openai.exchanges[0].body)
        (plan,) = talk.editor.of(session, "plan")
        assert [(each.content, each.status) for each in plan.entries] == [
            ("Moor", "completed"),
            ("Unload", "in_progress"),
            ("Sleep", "pending"),
        ]


async def test_a_fork_goes_on_in_a_copy(cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(Text("Nine."), Text("At nine, as I said."))
    async with talking(cwd) as talk:
        session = await talk.begin()
        await talk.say(session, "When does it leave?")
        forked = (await talk.agent.fork_session(session_id=session, cwd=str(cwd))).session_id
        assert forked != session
        await talk.say(forked, "Once more?")
        assert "When does it leave?" in fake_openai.exchanges[-1].text()
        assert talk.editor.text(forked).endswith("At nine, as I said.")
        assert "as I said" not in talk.editor.text(session)


async def test_a_mode_is_chosen_while_an_answer_streams(
    cwd: Path, plimsoll_home: Path, fake_openai: FakeOpenAI
) -> None:
    endpoint(plimsoll_home, fake_openai.base_url)
    fake_openai.add(HangMidStream("Half a sentence and then nothing"))
    async with talking(cwd) as talk:
        session = await talk.begin()
        asked = asyncio.create_task(talk.say(session, "Talk."))
        await talk.editor.until(lambda: bool(talk.editor.text(session)))
        await talk.agent.set_session_mode(session_id=session, mode_id="plan")
        assert not asked.done()
        await talk.agent.cancel(session_id=session)
        assert (await asked).stop_reason == "cancelled"
