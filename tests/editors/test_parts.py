"""The editor package without a process: prompts, updates, log file, missing parts."""

import builtins
import json
import logging
import os
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, text_block
from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextResourceContents,
)

from tests.cli.conftest import Plimsoll, plimsoll, project
from tui_app.cli.setup.servers import NO_EDITOR_SUPPORT
from tui_app.conversation.work import Compact, Prompt, Restate
from tui_app.editors import agent
from tui_app.editors.prompts import ShowContext, asked
from tui_app.editors.updates import Updates, error_text
from tui_app.events import (
    AssistantDelta,
    AssistantMessage,
    CompactionComplete,
    Error,
    SubAgentCall,
    SubAgentStep,
    ToolCall,
    ToolResult,
)
from tui_app.system.program_log import logging_to

__all__ = ["plimsoll", "project"]
CWD = Path("/home/ada/ferry")


def link(uri: str) -> ResourceContentBlock:
    return ResourceContentBlock(type="resource_link", name="x", uri=uri)


def test_prompts_with_files() -> None:
    blocks = [
        text_block("Look at"),
        link("file:///home/ada/ferry/src/a%20b.py"),
        link("https://example.org/x"),
    ]
    assert asked(blocks, CWD) == Prompt("Look at @src/a b.py https://example.org/x", ("src/a b.py",))
    unsaved = TextResourceContents(uri="file:///home/ada/ferry/a.py", text="x = 1")
    said = asked(
        [text_block("And this?"), EmbeddedResourceContentBlock(type="resource", resource=unsaved)], CWD
    )
    assert said == Prompt("And this?\n\na.py:\n```\nx = 1\n```")


def test_commands() -> None:
    assert asked([text_block("/compact the tides")], CWD) == Compact("the tides")
    assert asked([text_block("/undo")], CWD) == Restate(undo=True)
    assert asked([text_block("/context")], CWD) == ShowContext()
    assert asked([text_block("/etc/hosts is a file")], CWD) == Prompt("/etc/hosts is a file")


@pytest.mark.parametrize(
    "blocks",
    [
        [],
        [text_block("  \n")],
        [text_block("/compact --up-to x")],
        [ImageContentBlock(type="image", data="", mime_type="image/png")],
        [ImageContentBlock(type="image", data="not base64 !", mime_type="image/png")],
        [AudioContentBlock(type="audio", data="", mime_type="audio/ogg")],
    ],
)
def test_what_cannot_be_asked_is_said(blocks: list[Any]) -> None:
    with pytest.raises(RequestError) as refused:
        asked(blocks, CWD)
    assert refused.value.code == -32602
    assert str(refused.value).endswith(".")


def test_an_answer_is_said_once() -> None:
    updates = Updates(CWD)
    said = [*updates.of(AssistantDelta(text="Half")), *updates.of(AssistantMessage(text="Half"))]
    assert [update.content.text for update in said] == ["Half"]
    assert [update.content.text for update in updates.of(AssistantMessage(text="Whole", thinking="Hm."))] == [
        "Hm.",
        "Whole",
    ]


def test_compaction_and_costs() -> None:
    updates = Updates(CWD)
    failed = CompactionComplete(
        job="1", outcome="failed", trigger="manual", reason="No answer.", cost_usd=0.5
    )
    start, end = updates.of(failed)
    assert (start.tool_call_id, end.status, end.title) == (
        "compaction-1", "failed", "Compaction failed: No answer.",
    )  # fmt: skip
    updates.of(SubAgentStep(tool_call_id="c", input_tokens=10, output_tokens=5, cost_usd=0.25))
    assert updates.spending.cost.amount == 0.75
    assert updates.spending.usage.total_tokens == 15


def test_broken_arguments_are_shown_as_a_call() -> None:
    updates = Updates(CWD)
    (start,) = updates.of(ToolCall(tool_call_id="c", name="grep", args="{nonsense"))
    assert start.raw_input == {}
    (end,) = updates.of(ToolResult(tool_call_id="c", name="grep", text="No.", outcome="error"))
    assert end.status == "failed"


def test_sub_agent_says_how_far_it_is() -> None:
    updates = Updates(CWD)
    updates.of(ToolCall(tool_call_id="c", name="explore", args='{"task": "look"}'))
    looked = SubAgentStep(tool_call_id="c", calls=(SubAgentCall(name="ls", args="{}"),))
    titles = [update.title for _ in range(2) for update in updates.of(looked)]
    assert titles == ["explore look, 1 call", "explore look, 2 calls"]
    assert not updates.of(SubAgentStep(tool_call_id="c", text="Found."))


def test_keys_of_the_screen_are_named_otherwise() -> None:
    error = Error(kind="context_overflow", message="Too long.", actions=("compact", "models"))
    assert error_text(error) == "Too long. /compact shortens the conversation, the model menu has others."


def test_log_is_private_and_without_secrets(tmp_path: Path) -> None:
    path = tmp_path / "state" / "plimsoll.log"
    with logging_to(path, "acp"):
        logging.getLogger("acp").error("key sk-proj-%s", "a1B2" * 12)
    text = path.read_text()
    assert "acp ERROR" in text
    assert "a1B2a1B2" not in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_to_install_is_said(plimsoll: Plimsoll, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **named: Any) -> Any:
        if name == "acp":
            raise ImportError(name)
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    done = plimsoll("acp")
    assert (done.code, done.out) == (1, "")
    assert NO_EDITOR_SUPPORT in done.err


async def test_a_long_message_takes_no_longer_for_each_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent, "LINE_BYTES", 40_000_000)
    reading, writing = os.pipe()
    pipes = agent.Pipes(reading, writing)
    text = "x" * 39_000_000
    lines = (json.dumps({"id": 1, "method": text}), "y" * 41_000_000, json.dumps({"id": 2, "method": "z"}))

    def write() -> None:
        with open(writing, "wb") as end:  # noqa: PTH123
            end.writelines(line.encode() + b"\n" for line in lines)

    started = time.monotonic()
    pipes.open()
    threading.Thread(target=write, daemon=True).start()
    assert [await pipes._inbox.get() for _ in range(3)] == [lines[0].encode(), b"?", lines[2].encode()]
    assert time.monotonic() - started < 15
    assert await pipes.receive() is None
