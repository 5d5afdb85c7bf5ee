"""A real model server with a small window: the conversation outgrows it and continues."""

from itertools import pairwise

import pytest

from tests.conversation import trained_words
from tests.conversation.driving import Desk, of, turn
from tests.servers.llamacpp import LlamaServers
from tests.servers.scripted_gguf import Call, Calls, Script
from tui_app.context.views.view import is_summary
from tui_app.events import CompactionComplete, Error, Record, ToolResult, TurnEnd, ViewRewrite

NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky.\n## Done so far\nREADME.md was read."
SCRIPT: Script = {
    "Write the notes for this transcript": [NOTES],
    "Update the notes so far": [NOTES + "\n## Current state\nIt goes on."],
    "[read]": [Calls((Call("read_file", {"path": "README.md"}),), "I will look."), "It tells of the sea."],
    "": ["A small answer."],
}
LINE = "The sea is below, the sky is above.\n"

pytestmark = pytest.mark.llamacpp


def succeeded(records: list[Record]) -> list[CompactionComplete]:
    ended = of(records, CompactionComplete)
    return [each for each in ended if isinstance(each, CompactionComplete) and each.outcome == "success"]


async def test_chat_outgrows_the_window_and_goes_on(desk: Desk, llamacpp_server: LlamaServers) -> None:
    desk.server("local", llamacpp_server(SCRIPT, 8192))
    (desk.cwd / "README.md").write_text(LINE * 25)
    seen: list[Record] = []
    async with desk.session() as opened:
        conversation = opened.conversation
        assert (conversation.usage.window.limit, conversation.usage.window.source) == (8192, "server")
        for number in range(40):
            seen += await turn(conversation, f"[read] Turn {number}: what is in it? {'Think. ' * 20}")
            assert conversation.usage.total <= conversation.usage.window.limit
            if len(conversation.history.view.compactions) >= 4:
                break
        messages = [item.message for item in conversation.history.items()]
        numbers = list(conversation.history.view.compactions)
    assert of(seen, Error) == []
    assert {end.outcome for end in of(seen, TurnEnd) if isinstance(end, TurnEnd)} == {"done"}
    assert {one.outcome for one in of(seen, ToolResult) if isinstance(one, ToolResult)} == {"success"}
    assert len(numbers) >= 4, "it did not get deep enough"
    assert sum(map(is_summary, messages)) == 1, "summaries are updated, never stacked"
    for complete in succeeded(seen):
        assert complete.tokens_after < complete.tokens_before
        assert complete.performed_by == "model"
    sent = [record.data for record in seen if record.data.TYPE == "assistant.message"]
    assert all(getattr(answer, "input_tokens", 0) > 0 for answer in sent), "no request had to be cut"


async def test_results_larger_than_the_window(desk: Desk, llamacpp_server: LlamaServers) -> None:
    """A single result does not fit: it is offloaded or compacted, and little of it stays in context."""
    desk.server("local", llamacpp_server(SCRIPT, 8192))
    (desk.cwd / "README.md").write_text(LINE * 390)
    sizes: list[int] = []
    seen: list[Record] = []
    async with desk.session() as opened:
        for number in range(4):
            seen += await turn(opened.conversation, f"[read] Turn {number}: what is in it?")
            sizes.append(opened.conversation.usage.total)
    assert of(seen, Error) == []
    assert len(succeeded(seen)) + len(of(seen, ViewRewrite)) >= 3
    assert all(now - before < 1_000 for before, now in pairwise(sizes)), "a result alone is seven times that"


async def test_what_was_learnt_holds_in_the_next_session(desk: Desk, llamacpp_server: LlamaServers) -> None:
    desk.server("local", llamacpp_server(SCRIPT, 8192))
    async with desk.session() as opened:
        before = opened.conversation.usage.total
        await turn(opened.conversation, "Hello")
        factor = opened.conversation.history.factor
    assert factor > 2, "the scripted tokenizer spells nearly everything"
    async with desk.session() as opened:
        assert opened.conversation.history.factor == factor
        assert opened.conversation.usage.total == pytest.approx(before * factor, rel=0.02)


async def test_prompt_that_cannot_fit(
    desk: Desk, llamacpp_server: LlamaServers, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained_words.learn(monkeypatch)
    desk.server("local", llamacpp_server({"": ["A very small answer."]}, 2048))
    async with desk.session() as opened:
        conversation = opened.conversation
        # The first prompt cannot fit by our count; the second seems to, and the server refuses it.
        for prompt in ("word " * 4000, "word " * 900):
            records = await turn(conversation, prompt)
            (error,) = of(records, Error)
            assert isinstance(error, Error)
            assert error.kind == "context_overflow"
            assert error.limit is not None
            assert error.requested is not None
            assert error.limit <= 2048 < error.requested
            assert f"{error.limit:,}" in error.message
            assert f"{error.requested:,}" in error.message
            (end,) = of(records, TurnEnd)
            assert isinstance(end, TurnEnd)
            assert (end.outcome, end.prompt) == ("failed", prompt)
            assert conversation.history.items() == []
        records = await turn(conversation, "Hello")
        assert of(records, Error) == []
        assert conversation.history.items()[-1].message.parts[0].content == "A very small answer."  # type: ignore[union-attr]
