"""Compactions by the provider: requested, recorded, sent back, undone, and never together with our own."""

from dataclasses import replace

import pytest
from pydantic_ai.messages import CompactionPart, ModelResponse, TextPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.conversation.driving import Desk, done, of, turn, view_bytes
from tests.servers.behaviours import Text, too_long
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.responses import Compacts
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.compactions.provider_compaction import (
    GIVEN_BACK,
    UNSUPPORTED,
    ProviderCompaction,
    asked_for,
    offered,
    provider_part,
)
from tui_app.conversation.work import Compact, Restate, Switch
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    CompactionStart,
    CompactionUndone,
    Notice,
    Truncation,
)

ASKS = "Write the notes for this transcript"
NOTES = "Title: Sea and sky\n## Intent\nTell the sea from the sky."
LONG = "The sea is below and the sky is above, as everybody knows. " * 40


async def compacted(opened: OpenSession, server: FakeOpenAI) -> CompactionComplete:
    """Run three turns; in the third, the provider compacts."""
    server.add(
        Text(f"One. {LONG}", chunks=3, usage=(0, 0)),
        Text(f"Two. {LONG}", chunks=3, usage=(0, 0)),
        Compacts("Three.", usage=(0, 0)),
    )
    for text in ("First?", "Second?"):
        await turn(opened.conversation, f"{text} {LONG}")
    records = await turn(opened.conversation, "Third?")
    assert of(records, CompactionStart) == []
    [complete] = of(records, CompactionComplete)
    assert isinstance(complete, CompactionComplete)
    return complete


async def test_it_is_recorded_like_any_other_and_sent_back(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session(provider_compaction=True) as opened:
        conversation = opened.conversation
        complete = await compacted(opened, server)
        assert server.journal[0]["context_management"] == [
            {"type": "compaction", "compact_threshold": 25_600}
        ]
        assert (complete.performed_by, complete.outcome, complete.trigger) == (
            "provider",
            "success",
            "background",
        )
        assert complete.tokens_after == conversation.usage.total < complete.tokens_before
        assert (complete.messages_before, complete.messages_after) == (6, 2)
        assert opened.folder.listed() == 1
        heads = [head for head in opened.store.heads(conversation.session) if head.type == complete.TYPE]
        assert heads[0].title.endswith("0.9k · by the provider")
        assert "First?" in next(opened.folder.conversation_history.glob("*.md")).read_text()
        server.add(Text("Four.", usage=(0, 0)))
        await turn(conversation, "Fourth?")
        items = server.exchanges[-1].messages
        assert items[0]["type"] == "compaction"
        assert items[0]["encrypted_content"] == "c2VhbGVk"
        said = str(items)
        assert "Three." in said
        assert "Fourth?" in said
        assert "First?" not in said


async def test_in_the_middle_of_a_turn_the_tools_go_on(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session(provider_compaction=True) as opened:
        server.add(Text(f"One. {LONG}", chunks=3, usage=(0, 0)))
        await turn(opened.conversation, f"First? {LONG}")
        calls = (("read_file", {"path": "README.md"}),)
        server.add(Compacts("I look.", calls=calls, usage=(0, 0)), Text("Below.", usage=(0, 0)))
        records = await turn(opened.conversation, "Where is the sea?")
        assert len(of(records, CompactionComplete)) == 1
        assert of(records, Truncation) == []
        kinds = [item.get("type", item.get("role")) for item in server.exchanges[-1].messages]
        assert kinds == ["compaction", "assistant", "function_call", "function_call_output"]
        assert "The sea is below" in str(server.exchanges[-1].messages[-1])


async def test_taken_back_the_originals_are_sent_and_applied_again_the_part(
    desk: Desk, server: FakeOpenAI
) -> None:
    async with desk.session(provider_compaction=True) as opened:
        conversation = opened.conversation
        await compacted(opened, server)
        view = view_bytes(conversation)
        await done(conversation, Restate(undo=True))
        server.add(Text("Four.", usage=(0, 0)))
        await turn(conversation, "Fourth?")
        said = str(server.exchanges[-1].messages)
        assert "encrypted_content" not in said
        assert all(words in said for words in ("First?", "Second?", "Third?", "Three."))
        await done(conversation, Restate(undo=False))
        assert view_bytes(conversation).startswith(view)
        server.add(Text("Five.", usage=(0, 0)))
        await turn(conversation, "Fifth?")
        said = str(server.exchanges[-1].messages)
        assert "encrypted_content" in said
        assert "First?" not in said


async def test_taken_back_the_figures_are_the_providers_own_again(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session(provider_compaction=True) as opened:
        conversation = opened.conversation
        server.add(Text(f"One. {LONG}", usage=(2_000, 50)), Compacts("Two.", usage=(3_000, 10)))
        await turn(conversation, f"First? {LONG}")
        await turn(conversation, f"Second? {LONG}")
        small = conversation.usage
        assert small.total < 2_000
        await done(conversation, Restate(undo=True))
        assert (conversation.usage.total, conversation.usage.exact) == (3_010, True)
        last = opened.store.last_of(conversation.session, CompactionUndone.TYPE)
        assert last is not None
        assert last.data == CompactionUndone(
            compaction=last.data.compaction, tokens_before=small.total, tokens_after=3_010
        )


async def test_resumed_the_view_is_the_same(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session(provider_compaction=True) as opened:
        await compacted(opened, server)
        session, view, usage = (
            opened.conversation.session,
            view_bytes(opened.conversation),
            opened.conversation.usage,
        )
    async with desk.session(session=session, provider_compaction=True) as opened:
        assert view_bytes(opened.conversation) == view
        assert opened.conversation.usage.total == usage.total
        server.add(Text("Four.", usage=(0, 0)))
        await turn(opened.conversation, "Fourth?")
        assert server.exchanges[-1].messages[0]["type"] == "compaction"


@pytest.mark.parametrize("on", [False, True])
async def test_our_own_stands_back_only_for_the_size_of_the_view(
    desk: Desk, server: FakeOpenAI, *, on: bool
) -> None:
    desk.endpoints["local"] = replace(desk.endpoints["local"], window=3_000)
    server.add(*(Text(f"Answer {number}. {LONG}", chunks=3, usage=(0, 0)) for number in range(4)))
    server.add(*(Text(NOTES) for _ in range(4)), phrase=ASKS)
    async with desk.session(provider_compaction=on) as opened:
        for number in range(4):
            await turn(opened.conversation, f"Question {number}? {LONG[:400]}")
        await opened.conversation.settle()
        records = [record for record, _ in opened.store.records(opened.conversation.session)]
        assert bool(of(records, CompactionStart)) is not on


async def test_an_overflow_is_still_ours(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session(provider_compaction=True) as opened:
        server.add(Text(f"One. {LONG}", chunks=3, usage=(0, 0)), Text(f"Two. {LONG}", chunks=3, usage=(0, 0)))
        for text in ("First?", "Second?"):
            await turn(opened.conversation, f"{text} {LONG}")
        server.add(too_long(2_000, 2_400), Text("Three."))
        server.add(Text(NOTES), phrase=ASKS)
        [complete] = of(await turn(opened.conversation, "Third?"), CompactionComplete)
        assert isinstance(complete, CompactionComplete)
        assert (complete.trigger, complete.outcome) == ("overflow", "success")
        assert complete.performed_by != "provider"


async def test_by_hand_the_originals_are_summarised_not_what_is_sealed(
    desk: Desk, server: FakeOpenAI
) -> None:
    async with desk.session(provider_compaction=True) as opened:
        await compacted(opened, server)
        for number in range(4, 9):
            server.add(Text(f"Answer {number}. {LONG}", chunks=3, usage=(0, 0)))
            await turn(opened.conversation, f"Question {number}? {LONG}")
        server.add(Text(NOTES), phrase=ASKS)
        await done(opened.conversation, Compact())
        asked = str(server.exchanges[-1].messages)
        assert "First?" in asked
        assert "c2VhbGVk" not in asked
        assert "First?" in str(opened.conversation.history.items()[0].message), "and the words are kept"
        await done(opened.conversation, Restate(undo=True))
        assert provider_part(opened.conversation.history.items()[0].message) is not None  # type: ignore[arg-type]


async def test_another_provider_is_sent_the_originals(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session(provider_compaction=True) as opened:
        await compacted(opened, server)
        await done(opened.conversation, Switch("chat:scripted"))
        server.add(Text("Four.", usage=(0, 0)))
        records = await turn(opened.conversation, "Fourth?")
        assert len(of(records, CompactionUndone)) == 1
        notices = [notice.text for notice in of(records, Notice) if isinstance(notice, Notice)]
        assert notices == [UNSUPPORTED.format(model="chat:scripted"), GIVEN_BACK]
        assert "First?" in str(server.journal[-1]["messages"])


async def test_switched_off_it_is_not_asked_for_and_what_stood_is_given_back(
    desk: Desk, server: FakeOpenAI
) -> None:
    async with desk.session(provider_compaction=True) as opened:
        await compacted(opened, server)
        session = opened.conversation.session
    async with desk.session(session=session) as opened:
        server.add(Text("Four.", usage=(0, 0)))
        records = await turn(opened.conversation, "Fourth?")
        assert len(of(records, CompactionUndone)) == 1
        assert "context_management" not in server.journal[-1]
        assert "First?" in str(server.exchanges[-1].messages)


async def test_unsupported_is_said_once_and_ours_works(desk: Desk, server: FakeOpenAI) -> None:
    async with desk.session(model="chat:scripted", provider_compaction=True) as opened:
        server.add(Text("One.", usage=(0, 0)), Text("Two."))
        first = await turn(opened.conversation, "First?")
        assert of(first, Notice) == [Notice(text=UNSUPPORTED.format(model="chat:scripted"))]
        assert of(await turn(opened.conversation, "Second?"), Notice) == []
        assert not opened.conversation.compactor.stands_back


def test_who_offers_it() -> None:
    openai = OpenAIProvider(base_url="http://127.0.0.1:9/v1", api_key="unused")
    anthropic = AnthropicProvider(base_url="http://127.0.0.1:9", api_key="unused")
    able = AnthropicModel(
        "claude-x", provider=anthropic, profile={"anthropic_supports_on_demand_compaction": True}
    )  # type: ignore[typeddict-unknown-key]
    assert offered(OpenAIResponsesModel("gpt-x", provider=openai)) == "openai"
    assert offered(able) == "anthropic"
    assert offered(AnthropicModel("claude-3-haiku-20240307", provider=anthropic)) is None
    assert offered(OpenAIChatModel("gpt-x", provider=openai)) is None
    assert offered(TestModel()) is None


def test_what_is_asked_for() -> None:
    assert asked_for("openai", 9_000) == {
        "openai_context_management": [{"type": "compaction", "compact_threshold": 9_000}]
    }
    [edit] = asked_for("anthropic", 9_000)["anthropic_context_management"]["edits"]  # type: ignore[typeddict-item]
    assert edit == {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 50_000}}


def test_only_a_providers_own_part_counts() -> None:
    ours = CompactionPart("notes")
    theirs = CompactionPart("notes", provider_name="anthropic")
    assert provider_part(ModelResponse([ours, TextPart("Hello.")])) is None
    assert provider_part(ModelResponse([theirs, TextPart("Hello.")])) is theirs


async def test_readable_summary_is_kept(desk: Desk, server: FakeOpenAI) -> None:
    """In the form that Anthropic sends: the text of the summary before the answer."""
    async with desk.session(provider_compaction=True) as opened:
        conversation = opened.conversation
        server.add(Text(f"One. {LONG}", chunks=3, usage=(0, 0)))
        await turn(conversation, f"First? {LONG}")
        part = CompactionPart("They spoke of the sea.", provider_name="local")
        history = conversation.history
        answer = ModelResponse([part, TextPart("Three.")], provider_name="local")
        history.append(AssistantMessage(text="Three."), replace(answer, parts=answer.parts[1:]))
        capability = ProviderCompaction(history, conversation.compactor, wanted=True)
        await capability.after_model_request(None, request_context=None, response=answer)  # type: ignore[arg-type]
        summary = history.items()[0].message.parts[0]
        assert summary == part
        records = [record for record, _ in opened.store.records(conversation.session)]
        [complete] = of(records, CompactionComplete)
        assert isinstance(complete, CompactionComplete)
        assert complete.summary == "They spoke of the sea."
        assert complete.tokens == {"summary": complete.tokens["summary"]}
        assert list(history.sealed_messages(history.items()[0])) == [], "what can be read needs no originals"
