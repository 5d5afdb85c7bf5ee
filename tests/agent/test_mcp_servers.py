"""MCP servers without a session: started, called, failing and stopped, each independently of the others."""

import asyncio
import json
import os
import resource
import sys
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, Tool
from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolReturnPart
from pydantic_ai.tools import ToolDefinition

from tests.conversation.hook_commands import place
from tests.process_ends import alive, gone
from tests.servers import mcp_hostile, mcp_stdio
from tests.servers.mcp_http import mcp_http
from tests.servers.strict import strict_server
from tui_app.agent.mcp import server as server_module
from tui_app.agent.mcp.offers import own_name
from tui_app.agent.mcp.seen_tools import SeenTools
from tui_app.agent.mcp.server import RESTARTS
from tui_app.agent.mcp.servers import McpServers, found_by_search
from tui_app.agent.mcp.status import CallFailed, McpStatus, ServerRequired
from tui_app.agent.mcp.tokens import TokenStore
from tui_app.agent.mcp.toolset import mcp_tool_search
from tui_app.api_keys import ApiKeys, Keyring, SystemKeyring
from tui_app.context import ContextGovernor
from tui_app.extras import install_command
from tui_app.paths import Paths
from tui_app.settings.tables import McpServer

pytest.importorskip("mcp")
ENV = {
    "PATH": os.environ["PATH"],
    "HOME": "/home/ada",
    "OPENAI_API_KEY": "sk-secret-secret",
    "PIN": "harbour-pin",
}


def program(name: str = "files", mode: str = "plain", *more: str, **settings: Any) -> McpServer:
    args = ("-S", mcp_stdio.__file__, mode, *more)
    return McpServer(name=name, command=sys.executable, args=args, **{"timeout": 20.0, **settings})


class Ours:
    """A toolset that already has one tool."""

    def other_names(self) -> Collection[str]:
        return ("evil_echo",)

    def on_status(self, status: McpStatus) -> None:
        pass

    def without(self, servers: Sequence[McpStatus]) -> None:
        pass

    async def ask(self, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
        return None

    def weigh(self, tool: ToolDefinition) -> int:
        return 0

    def room(self) -> int:
        return 0

    def sent(self) -> Collection[str]:
        return ()


NO_KEYRING = SystemKeyring()
"""A machine without a keyring, as in tests."""


def sign_ins(tmp_path: Path, keyring: Keyring = NO_KEYRING) -> TokenStore:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(tmp_path)})
    return TokenStore(ApiKeys({}, paths, keyring), tmp_path / "state" / "sign-ins.json")


@asynccontextmanager
async def running(
    tmp_path: Path, *servers: McpServer, wait_s: float = 30, patient: bool = False, host: Ours | None = None
) -> AsyncIterator[McpServers]:
    seen = SeenTools(tmp_path / "state" / "mcp.json")
    defined, tokens = {each.name: each for each in servers}, sign_ins(tmp_path)
    all_of_them = McpServers(defined, place(tmp_path, **ENV), seen, host or Ours(), tokens, patient=patient)
    all_of_them.start()
    try:
        await all_of_them.settle(wait_s)
        yield all_of_them
    finally:
        await all_of_them.close()


def status(servers: McpServers, name: str = "files") -> McpStatus:
    return next(each for each in servers.statuses() if each.name == name)


async def call(servers: McpServers, name: str, **args: Any) -> Any:
    server, tool = next(each for each in servers.offered() if each[1].name == name)
    return await server.call(own_name(tool), args)


async def test_a_program_brings_its_tools_under_its_name(tmp_path: Path) -> None:
    async with running(tmp_path, program()) as servers:
        now = status(servers)
        assert (now.state, now.description) == ("ready", "ready, 10 tools")
        assert now.tools[0].name == "files_echo"
        assert [tool.name for tool in now.tools if tool.claims_read_only] == ["files_echo"]
        assert await call(servers, "files_echo", text="ahoy") == "ahoy"
        assert SeenTools(tmp_path / "state" / "mcp.json").of(program())[0].name == "files_echo"  # type: ignore[index]
        assert (tmp_path / "state" / "mcp.json").stat().st_mode & 0o777 == 0o600


async def test_an_address_brings_its_tools_and_is_sent_what_is_named(tmp_path: Path) -> None:
    with mcp_http() as web:
        settings = McpServer(name="web", url=web.url, headers_env={"X-Pin": "PIN"}, timeout=20)
        async with running(tmp_path, settings) as servers:
            assert status(servers, "web").state == "ready", status(servers, "web")
            assert await call(servers, "web_echo", text="ahoy") == "ahoy"
            assert web.headers[-1]["x-pin"] == "harbour-pin"
            web.broken = (500, b"[b]out of order[/b]")
            with pytest.raises(CallFailed, match="It answered 500 Internal Server Error: "):
                await call(servers, "web_echo", text="ahoy")
            assert status(servers, "web").state == "ready"
            assert status(servers, "web").error
            web.broken = None
            assert await call(servers, "web_echo", text="again") == "again"


async def test_the_environment_holds_what_is_needed_and_what_is_named(tmp_path: Path) -> None:
    named = program(env={"PIN_CODE": "$PIN", "MODE": "calm"})
    async with running(tmp_path, named) as servers:
        held = json.loads(json.dumps(await call(servers, "files_env")))
        held = json.loads(held) if isinstance(held, str) else held
        assert held["PIN_CODE"] == "harbour-pin"
        assert held["MODE"] == "calm"
        assert held["HOME"] == "/home/ada"
        assert "OPENAI_API_KEY" not in held
        assert "PIN" not in held


async def test_a_variable_that_is_not_set_is_named(tmp_path: Path) -> None:
    async with running(tmp_path, program(env={"A": "$NOT_THERE"})) as servers:
        assert status(servers).state == "failed"
        assert "NOT_THERE is not set" in status(servers).error


async def test_only_allowed_tools_are_offered_and_a_wrong_name_is_told(tmp_path: Path) -> None:
    async with running(tmp_path, program(tools=("echo", "ecko"))) as servers:
        assert [tool.name for tool in status(servers).tools] == ["files_echo"]
        assert status(servers).left_out == (
            "ecko is allowed by the settings, but the server has no such tool.",
        )


async def test_a_server_that_crashes_hangs_or_talks_nonsense_fails_alone(tmp_path: Path) -> None:
    broken = [
        program("crash", "crash"),
        program("hang", "hang", timeout=1.0),
        program("nonsense", "only-garbage", timeout=1.0),
        McpServer(name="missing", command="/no/such/program"),
        McpServer(name="nowhere", url="http://127.0.0.1:9/mcp", timeout=5),
        program("off", enabled=False),
    ]
    async with running(tmp_path, *broken, program(mode="garbage")) as servers:
        states = {each.name: each.state for each in servers.statuses()}
        assert states == {
            "crash": "failed",
            "hang": "failed",
            "nonsense": "failed",
            "missing": "failed",
            "nowhere": "failed",
            "off": "off",
            "files": "ready",
        }
        assert "exited with status 7" in status(servers, "crash").error
        assert "No harbour" in status(servers, "crash").error
        assert "did not answer within 1 seconds" in status(servers, "hang").error
        assert "cannot be run" in status(servers, "missing").error
        assert await call(servers, "files_echo", text="still here") == "still here"


async def test_a_program_that_dies_is_started_again_a_few_times(tmp_path: Path) -> None:
    async with running(tmp_path, program(), program("other")) as servers:
        for restarts in range(1, RESTARTS + 1):
            with pytest.raises(CallFailed, match="is gone: it exited with status 3"):
                await call(servers, "files_die")
            assert {tool.name[:5] for _, tool in servers.offered()} == {"other"}
            await servers.settle(30)
            assert await call(servers, "files_echo", text="back") == "back"
            assert (status(servers).state, status(servers).restarts) == ("ready", restarts)
            assert "exited with status 3" in status(servers).error
        with pytest.raises(CallFailed):
            await call(servers, "files_die")
        await servers.settle(30)
        assert status(servers).state == "failed"
        assert "started again 3 times" in status(servers).error
        await servers.reload(["files"])
        await servers.settle(30)
        assert await call(servers, "files_echo", text="by hand") == "by hand"


def refused(code: int, message: str, id: str = "ID") -> bytes:
    error = {"code": code, "message": message}
    return json.dumps({"jsonrpc": "2.0", "id": "ID", "error": error}).replace('"ID"', id).encode()


@pytest.mark.parametrize(
    "refusal",
    [
        (404, b""),
        (404, b"Session not found"),
        (404, refused(-32001, "Session not found", "null")),
        (404, refused(-32600, "weg")),
        (410, refused(-32000, "Session has been terminated", "null")),
        (400, b"Bad Request: No valid session ID provided"),
        (400, refused(-32000, "weg", "null")),
        (200, refused(-32001, "Session expired")),
    ],
)
async def test_an_address_that_was_started_again_works_again(
    tmp_path: Path, refusal: tuple[int, bytes]
) -> None:
    with mcp_http() as web:
        web.unknown = refusal
        async with running(tmp_path, McpServer(name="web", url=web.url, timeout=20)) as servers:
            for restarts in range(1, RESTARTS + 3):
                web.session += 1
                assert await call(servers, "web_echo", text="ahoy") == "ahoy"
                assert (status(servers, "web").state, status(servers, "web").restarts) == ("ready", restarts)


@pytest.mark.parametrize("refusal", [(404, b"Session not found"), (200, refused(-32001, "Session expired"))])
@pytest.mark.parametrize("late", [False, True])
async def test_calls_at_once_in_a_forgotten_session_all_run_in_the_next_one(
    tmp_path: Path, refusal: tuple[int, bytes], late: bool
) -> None:
    with mcp_http() as web:
        web.unknown, web.late = refusal, late
        async with running(tmp_path, McpServer(name="web", url=web.url, timeout=20)) as servers:
            for restarts in (1, 2):
                web.session += 1
                web.refused = 0
                web.opened.clear()
                texts = ["one", "two", "three"]
                said = await asyncio.gather(*(call(servers, "web_echo", text=text) for text in texts))
                assert said == texts
                assert (status(servers, "web").state, status(servers, "web").restarts) == ("ready", restarts)


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (
            (403, b'{"message":"Your plan has no MCP"}'),
            'It answered 403 Forbidden: {"message":"Your plan has no MCP"}',
        ),
        ((401, b"no token"), "does not accept the Authorization header of the settings. It answered 401"),
        ((503, b"back at " + b"noon. " * 200), "back at " + "noon. " * 199),
        ((404, b""), "It answered 404 Not Found"),
    ],
)
async def test_why_an_address_refuses_is_told_in_its_words(
    tmp_path: Path, refusal: tuple[int, bytes], told: str
) -> None:
    with mcp_http() as web:
        web.broken = refusal
        settings = McpServer(name="web", url=web.url, headers_env={"Authorization": "PIN"}, timeout=20)
        async with running(tmp_path, settings) as servers:
            assert told in status(servers, "web").error


async def test_a_version_that_nobody_speaks_is_told(tmp_path: Path) -> None:
    async with running(tmp_path, program(mode="future")) as servers:
        assert "2099-01-01" in status(servers).error
        assert "exited" not in status(servers).error


async def test_a_server_without_tools_keeps_what_else_it_has(tmp_path: Path) -> None:
    async with running(tmp_path, program(mode="toolless")) as servers:
        now = status(servers)
        assert (now.state, now.tools, len(now.resources), len(now.prompts)) == ("ready", (), 3, 1)


async def test_a_mention_waits_for_its_server_as_long_as_that_may_take(tmp_path: Path) -> None:
    async with running(tmp_path, program(mode="slow", timeout=20.0), wait_s=0.0) as servers:
        assert status(servers).state == "starting"
        assert await servers.read("files:notes://log") == "Fog until nine."


async def test_an_address_that_was_away_for_longer_comes_back_with_the_next_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "REVIVE_S", -1.0)
    with mcp_http() as web:
        port = int(web.url.split(":")[2].split("/")[0])
        settings = McpServer(name="web", url=web.url, timeout=20)
        async with running(tmp_path, settings) as servers:
            web_call = next(each for each in servers.offered() if own_name(each[1]) == "echo")
            await asyncio.to_thread(web.stop)
            with pytest.raises(CallFailed):
                await web_call[0].call("echo", {"text": "ahoy"})
            await servers.settle(30)
            assert status(servers, "web").state == "failed"
            with mcp_http(port):
                await servers.gather()
                assert await call(servers, "web_echo", text="ahoy") == "ahoy"


async def test_a_malformed_tool_is_left_out_and_named(tmp_path: Path) -> None:
    async with running(tmp_path, program(mode="malformed")) as servers:
        now = status(servers)
        assert (now.state, len(now.tools)) == ("ready", 10)
        told = "\n".join(now.left_out)
        for name in ("schemaless", "listed", "textual", "adrift", "A tool without a name"):
            assert f"{name} is left out: its" in told
        assert await call(servers, "files_echo", text="ahoy") == "ahoy"


def hostile(mode: str) -> McpServer:
    args = ("-S", mcp_hostile.__file__, mode)
    return McpServer(name="files", command=sys.executable, args=args, timeout=60.0)


@pytest.mark.parametrize(
    ("mode", "tools", "told"),
    [
        ("deep", 0, "nested too deeply"),
        ("deeper", 0, "nested too deeply"),
        ("nested", 0, "nested too deeply"),
        ("pages", 0, "lists its tools without end"),
        ("wide", 4, "wide is left out: its schema is longer than 40,000 characters"),
        ("many", 128, "8,004 more tools left out"),
        ("long", 5, "is left out: it is longer than 40,000 characters"),
        ("references", 15, "the schemas of all are longer than 400,000 characters"),
    ],
)
async def test_a_list_that_is_to_hold_up_everything_is_told_and_soon_over(
    tmp_path: Path, mode: str, tools: int, told: str
) -> None:
    async with asyncio.timeout(50), running(tmp_path, hostile(mode), wait_s=45) as servers:
        now = status(servers)
        assert (now.state, len(now.tools)) == ("ready" if tools else "failed", tools)
        assert told in "\n".join((now.error, *now.left_out))
        assert len(now.left_out) <= 60
        if tools < 100 and tools:
            assert await call(servers, "files_echo") == "echo 0"


async def test_results_that_are_to_hold_up_everything_end_soon(tmp_path: Path) -> None:
    class Asked(Ours):
        times = 0

        async def ask(self, server: str, message: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
            self.times += 1
            return None

    host = Asked()
    async with asyncio.timeout(50), running(tmp_path, hostile("plain"), host=host) as servers:
        parts = await call(servers, "files_parts")
        assert parts.splitlines() == [f"part {number}" for number in range(10_000)]
        with pytest.raises(CallFailed, match="files sent an answer that is nested too deeply"):
            await call(servers, "files_deepresult")
        for rounds in (1, 2):
            assert await call(servers, "files_asks") == "echo 1000"
            assert host.times == 3 * rounds, "the others are declined unasked"
        assert "asks again and again" in status(servers).error


async def test_a_server_that_sends_notifications_without_end_is_given_up(tmp_path: Path) -> None:
    given_up = asyncio.Event()

    class Watching(Ours):
        def on_status(self, status: McpStatus) -> None:
            if status.state == "failed":
                given_up.set()

    async with asyncio.timeout(60), running(tmp_path, hostile("flood"), host=Watching()) as servers:
        await given_up.wait()
        assert "sends notifications without end" in status(servers).error


async def test_a_message_without_end_is_not_kept_in_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with asyncio.timeout(60), running(tmp_path, hostile("endless")) as servers:
        with pytest.raises(CallFailed, match="it sent a message of more than 16 MB"):
            await call(servers, "files_echo")
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10 < 200


async def test_a_list_that_has_changed_is_read_again(tmp_path: Path) -> None:
    grown, all_of_them = asyncio.Event(), list[McpServers]()

    class Watching(Ours):
        def on_status(self, status: McpStatus) -> None:
            if any(tool.name == "files_grown" for each in all_of_them for tool in each.statuses()[0].tools):
                grown.set()

    async with running(tmp_path, program(), host=Watching()) as servers:
        all_of_them.append(servers)
        await call(servers, "files_grow")
        async with asyncio.timeout(20):
            await grown.wait()
        assert await call(servers, "files_grown") == "grown"


async def test_progress_keeps_a_call_alive(tmp_path: Path) -> None:
    async with running(tmp_path, program(timeout=2.0)) as servers:
        assert await call(servers, "files_progress") == "progress"


async def test_a_server_has_more_than_tools(tmp_path: Path) -> None:
    async with running(tmp_path, program(mode="rich")) as servers:
        now = status(servers)
        assert [each.mention for each in now.resources] == [
            "files:notes://log",
            "files:notes://chart",
            "files:notes://big",
        ]
        assert await servers.read("files:notes://log") == "Fog until nine."
        picture = await servers.read("files:notes://chart")
        assert isinstance(picture, bytes)
        assert picture.startswith(b"\x89PNG")
        with pytest.raises(CallFailed, match="larger than 128 KB"):
            await servers.read("files:notes://big")
        assert await servers.read("other:notes://log") is None
        (hail,) = now.prompts
        assert (hail.command, hail.arguments) == ("files:hail", ("boat", "[tone]"))
        assert await servers.prompt_text(hail, ["Gull", "very", "loudly"]) == "Hail Gull, very loudly."
        assert hail.values([]) == "/files:hail needs boat."
        assert hail.values(["tone=softly", "Gull"]) == {"tone": "softly", "boat": "Gull"}
        assert "files:\nBoats are named before they are counted." in servers.instructions()


async def test_a_question_is_declined_where_nobody_answers(tmp_path: Path) -> None:
    async with running(tmp_path, program(timeout=5.0)) as servers:
        assert json.loads(await call(servers, "files_ask")) == {"action": "decline"}


async def test_whoever_is_patient_waits_for_a_slow_server_and_a_required_one_must_come(
    tmp_path: Path,
) -> None:
    slow = program("slow", "slow", timeout=15)
    needed = program("needed", "hang", timeout=1.0, required=True)
    async with running(tmp_path, slow, wait_s=0.0, patient=True) as servers:
        await servers.gather()
        assert status(servers, "slow").state == "ready"
    async with running(tmp_path, needed, wait_s=0.0) as servers:
        with pytest.raises(ServerRequired, match=r"needed is required\. It did not answer within 1 seconds"):
            await servers.gather()


async def test_a_server_that_was_stopped_offers_nothing_and_says_so(tmp_path: Path) -> None:
    async with running(tmp_path, program(), program("off", enabled=False)) as servers:
        assert [each.state for each in servers.statuses()] == ["ready", "off"]
    assert [each.state for each in servers.statuses()] == ["stopped", "off"]
    assert (servers.offered(), status(servers).tools) == ([], ())


async def test_a_call_that_hangs_ends_at_the_limit_and_one_that_fails_says_why(tmp_path: Path) -> None:
    async with running(tmp_path, program(timeout=3.0)) as servers:
        with pytest.raises(CallFailed, match="It went wrong"):
            await call(servers, "files_fail")
        with pytest.raises(CallFailed, match="did not answer within 3 seconds"):
            await call(servers, "files_hang")
        assert "did not answer" in status(servers).error


JSON = '{\n  "version": 1.10, "a": 1, "a": 2,\n  "list": [ 1,2 ]\n}\n'


async def test_what_a_server_says_arrives_as_it_was_sent(tmp_path: Path) -> None:
    async def said(*texts: str, **more: Any) -> Any:
        return await call(servers, "files_file", texts=texts, **more)

    async with running(tmp_path, program()) as servers:
        assert await said(JSON) == JSON
        assert await said("[1.0]", "two") == "[1.0]\ntwo"
        assert await said(JSON, structuredContent=json.loads(JSON)) == JSON
        assert await said("1.50", structuredContent={"result": 1.5}) == "1.50"
        assert await said("a", "b", structuredContent={"result": ["a", "b"]}) == "a\nb"
        assert await said("Two boats.", structuredContent={"n": 2}) == 'Two boats.\n{"n": 2}'
        assert await said(structuredContent={"n": 2}) == '{"n": 2}'
        assert await said() == ""


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


@pytest.mark.parametrize(
    ("result", "arrives"),
    [
        ({"content": [{"type": "resource_link", "uri": "boats://gull", "name": "Gull", "size": 1234}]},
         "[resource boats://gull: Gull, 1,234 bytes]"),
        ({"content": [{"type": "resource", "resource": {"uri": "a://b", "text": "# Tides"}}]}, "# Tides"),
        ({"content": [{"type": "resource", "resource": {"mimeType": "text/csv", "blob": "YSxi"}}]}, "a,b"),
        ({"content": [{"type": "video", "data": "x"}, {"type": "text", "text": "beside"}]},
         '[part of a kind that the protocol does not have: {"type": "video", "data": "x"}]\nbeside'),
        ({"content": [{"type": "text"}, None, "bare", {"type": "text", "text": "beside"}]},
         '[part of a kind that the protocol does not have: {"type": "text"}]\n'
         "[part of a kind that the protocol does not have: null]\nbare\nbeside"),
        ({"content": [{"type": "image", "mimeType": "image/png", "data": "not base64 !!!"}]},
         "[image left out: it is not valid base64]"),
        ({"structuredContent": {"a": 1}}, '{"a": 1}'),
        ({"content": None, "structuredContent": [1, 2]}, '{"result": [1, 2]}'),
        ({"content": None}, ""),
        ({"content": "bare"}, "bare"),
        ({"content": [{"type": "text", "text": "half HALF of it"}]}, "half \ufffd of it"),
        ({"content": [{"type": "text", "text": "\U0001f600 \\ud83d"}]}, "\U0001f600 \\ud83d"),
    ],
)  # fmt: skip
async def test_results_in_rarer_forms_arrive(tmp_path: Path, result: dict[str, Any], arrives: str) -> None:
    async with running(tmp_path, program()) as servers:
        assert await call(servers, "files_file", result=result) == arrives


async def test_files_of_a_result_have_the_type_that_they_are_of(tmp_path: Path) -> None:
    parts = [
        {"type": "image", "mimeType": "image/jpg", "data": PNG},
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
    ]
    async with running(tmp_path, program()) as servers:
        picture, sound = await call(servers, "files_file", result={"content": parts})
        assert (picture.media_type, sound.media_type) == ("image/png", "audio/wav")
        error = {"content": [], "isError": True, "structuredContent": {"error": "quota"}}
        with pytest.raises(CallFailed, match="quota"):
            await call(servers, "files_file", result=error)


async def test_a_result_is_not_held_against_the_form_that_its_server_names(tmp_path: Path) -> None:
    async with running(tmp_path, program(mode="shaped")) as servers:
        assert await call(servers, "files_file", texts=["ahoy"]) == "ahoy"
        slow = {"r": "a" * 60 + "b"}
        assert await call(servers, "files_file", texts=[], structuredContent=slow) == json.dumps(slow)


@pytest.mark.parametrize("text", [JSON, "3 errors:\n" + "  a line\n" * 300 + "the end", "no stop", "\tin"])
async def test_an_error_arrives_whole_and_its_note_is_one_line(tmp_path: Path, text: str) -> None:
    async with running(tmp_path, program()) as servers:
        with pytest.raises(CallFailed) as failed:
            await call(servers, "files_fail", text=text)
        assert str(failed.value) == text
        assert "\n" not in status(servers).error
        assert len(status(servers).error) <= 501


async def test_foreign_names_are_made_usable_and_clashes_are_told(tmp_path: Path) -> None:
    async with running(tmp_path, program("evil", "evil"), program("evil_", "plain")) as servers:
        evil = status(servers, "evil")
        assert [tool.name for tool in evil.tools] == ["evil_bad_name_"]
        told = "\n".join(evil.left_out)
        assert "longer than 64 characters" in told
        assert "has the name evil_bad_name_ already" in told
        assert "a tool of Plimsoll is called evil_echo already" in told


@pytest.mark.parametrize("mode", ["plain", "stays"])
async def test_no_process_is_left(tmp_path: Path, mode: str) -> None:
    pids = tmp_path / "pids"
    async with running(tmp_path, program("files", mode, str(pids))) as servers:
        assert status(servers).state == "ready"
        started = [int(pid) for pid in pids.read_text().split()]
        assert all(map(alive, started))
    assert all(map(gone, started))


_STARTS = """
import asyncio, os, sys
from pathlib import Path
from tui_app.agent.mcp.program import Program

async def main():
    async with Program().streams(sys.argv[1:], Path.cwd(), dict(os.environ)):
        await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_no_process_is_left_when_the_one_that_started_them_is_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    server = program("files", "stays", str(pids))
    words = [server.command, *server.args]
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", _STARTS, *words)
    # Opening a pipe for reading waits for a writer.
    started = [int(pid) for pid in (await asyncio.to_thread(pids.read_text)).split()]
    assert len(started) == 2
    parent.kill()
    await parent.wait()
    assert all(map(gone, started))


async def test_without_the_extra_it_is_said_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    async with running(tmp_path, program()) as servers:
        assert install_command("mcp") in status(servers).error


# Tools that the model finds by searching.


@pytest.mark.parametrize(
    ("room", "found"), [(0, ""), (60, ""), (59, "b"), (30, "b"), (29, "bc"), (5, "abc"), (10, "bc")]
)
def test_the_largest_servers_are_found_by_searching_until_the_others_fit(room: int, found: str) -> None:
    assert found_by_search({"a": 10, "b": 30, "c": 20}, room) == frozenset(found)


def test_no_more_tools_are_sent_than_providers_take() -> None:
    assert found_by_search({"a": 10, "b": 30}, 0, {"a": 56, "b": 56}, 16) == frozenset()
    assert found_by_search({"a": 10, "b": 30}, 0, {"a": 56, "b": 57}, 16) == {"b"}


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic", "google"])
async def test_a_tool_is_found_and_called_where_the_provider_cannot_search(wire: str) -> None:
    def echo(text: str) -> str:
        """Says it again."""
        return text

    def count_boats() -> str:
        """Counts what floats."""
        return "3"

    def tools(body: Any) -> str:
        return json.dumps(body["tools"])

    hidden = [Tool(echo, defer_loading=True), Tool(count_boats, defer_loading=True)]
    with strict_server() as server:
        agent = Agent(server.of_wire(wire), tools=hidden, capabilities=[ContextGovernor(), mcp_tool_search()])
        server.calls, server.call = True, ("search_tools", {"queries": ["says again"]})
        first = await agent.run("go")
        server.call = ("echo", {"text": "ahoy"})
        stored = ModelMessagesTypeAdapter.dump_json(first.all_messages())
        history = ModelMessagesTypeAdapter.validate_json(stored)
        last = await agent.run("on", message_history=history)
    assert server.refused == []
    before, *after = map(tools, server.bodies)
    assert "Says it again." not in before
    assert len(set(after)) == 1
    assert "Says it again." in after[0]
    assert "Counts what floats." not in after[0]
    parts = [part for message in last.new_messages() for part in message.parts]
    assert "ahoy" in [part.content for part in parts if isinstance(part, ToolReturnPart)]
