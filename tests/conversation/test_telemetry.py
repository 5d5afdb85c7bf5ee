"""Telemetry of a conversation: off by default, sent only where the user chose, without content."""

import sys

import pytest

from tests.conversation.driving import Desk, Following, done, of, turn, until
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.otlp import OtlpReceiver, attributes
from tui_app.conversation.assembly import open_session
from tui_app.conversation.telemetry import NO_ADDRESS, NOT_INSTALLED, UNREACHABLE, receiver
from tui_app.conversation.work import Compact
from tui_app.events import Notice

ASKS = "Write the notes for this transcript"
NOTES = "Title: Heron\n## Intent\nTell the heron from the stork."
LONG = "A heron stands in the water and waits, as everybody knows. " * 40


@pytest.mark.parametrize(
    ("setting", "env", "address"),
    [
        ("off", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318"}, None),
        ("", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318"}, None),
        ("on", {}, ""),
        ("on", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318/"}, "http://a:4318/v1/traces"),
        ("on", {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://a/in"}, "http://a/in"),
        (
            "http://b:4318",
            {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:4318"},
            "http://b:4318/v1/traces",
        ),
        ("http://b:4318/v1/traces", {}, "http://b:4318/v1/traces"),
    ],
)
def test_receiver(setting: str, env: dict[str, str], address: str | None) -> None:
    assert receiver(setting, env) == address


async def compacted(desk: Desk, server: FakeOpenAI, otlp_endpoint: str) -> None:
    """Run a session of four turns, one with a tool call, and compact it."""
    desk.server("local", server.base_url, window=32_000)
    server.add(tool("read_file", path="README.md"), Text(LONG, usage=(0, 0)))
    server.add(*(Text(LONG, usage=(0, 0)) for _ in range(3)))
    server.add(Text(NOTES), phrase=ASKS)
    async with desk.session(telemetry={"otlp_endpoint": otlp_endpoint}) as opened:
        for _ in range(4):
            await turn(opened.conversation, f"What about the heron? {LONG}")
        await done(opened.conversation, Compact("the heron"))


async def test_spans_of_a_session_arrive_without_a_word_of_it(desk: Desk, fake_openai: FakeOpenAI) -> None:
    with OtlpReceiver() as otlp:
        await compacted(desk, fake_openai, otlp.address)
        spans = otlp.spans()
        assert {path for path, _ in otlp.requests} == {"/v1/traces"}
        assert otlp.services() == {"plimsoll"}
        [compaction] = [span for span in spans if span.name == "plimsoll.compaction"]
        figures = attributes(compaction)
        assert figures["plimsoll.compaction.trigger"] == "manual"
        assert figures["plimsoll.compaction.outcome"] == "success"
        assert figures["plimsoll.compaction.tokens_after"] < figures["plimsoll.compaction.tokens_before"]
        assert len([span for span in spans if span.name == "plimsoll.turn"]) == 4
        chats = [attributes(span) for span in spans if span.name.startswith("chat ")]
        assert [chat.get("plimsoll.interaction") for chat in chats] == [None] * 5 + [
            "conversation-compaction"
        ]
        assert any(span.name == "execute_tool read_file" for span in spans)
        assert figures["plimsoll.compaction.checkpoint_number"] == 1
        assert figures["plimsoll.compaction.request_id"] == chats[-1]["gen_ai.response.id"]
        tools = [span for span in spans if not span.name.startswith("execute_tool")]
        assert len({attributes(span)["gen_ai.conversation.id"] for span in tools}) == 1
        sent = b"".join(otlp.bodies)
        for word in (b"heron", b"The sea is below", b"README.md", b"You are"):
            assert word not in sent, word


async def test_nothing_is_sent_or_loaded_unless_switched_on(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with OtlpReceiver() as otlp:
        desk.env["OTEL_EXPORTER_OTLP_ENDPOINT"] = otlp.address
        await compacted(desk, fake_openai, "off")
        assert otlp.requests == []


@pytest.mark.parametrize(
    ("missing", "endpoint", "sentence"),
    [("opentelemetry.sdk.trace", "http://127.0.0.1:9", NOT_INSTALLED), ("", "on", NO_ADDRESS)],
)
async def test_what_keeps_it_from_sending_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, missing: str, endpoint: str, sentence: str
) -> None:
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    opened = open_session(desk.opening(model="offline:extractive", telemetry={"otlp_endpoint": endpoint}))
    watching = Following(opened.conversation.bus)
    await opened.prepare()
    said = await until(watching, lambda payload: isinstance(payload, Notice))
    assert said.data == Notice(text=sentence)
    assert of(await turn(opened.conversation, "What is below?"), Notice) == []
    await opened.close()


async def test_a_receiver_that_refuses_is_named_and_holds_nobody_up(
    desk: Desk, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "1")
    desk.server("local", fake_openai.base_url, window=32_000)
    fake_openai.add(Text("It waits."), Text("It still waits."))
    with OtlpReceiver(status=400) as otlp:
        async with desk.session(telemetry={"otlp_endpoint": otlp.address}) as opened:
            watching = Following(opened.conversation.bus)
            await turn(opened.conversation, "What does it do?")
            said = await until(watching, lambda payload: isinstance(payload, Notice))
            assert said.data == Notice(text=UNREACHABLE.format(address=f"{otlp.address}/v1/traces"))
            await turn(opened.conversation, "And now?")
