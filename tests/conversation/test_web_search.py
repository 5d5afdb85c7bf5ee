"""Web searches by the provider: only when enabled, logged as such, and sent to other models as text."""

import json
from typing import Any

from pydantic_ai.messages import ModelResponse, NativeToolCallPart, NativeToolReturnPart, TextPart
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.conversation.driving import Desk, done, of, turn
from tests.servers.behaviours import Text
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.responses import Searches
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.summaries.prompt import message_text
from tui_app.conversation.work import Switch
from tui_app.events import Error, WebSearched
from tui_app.session.views.user_view import fold_user_view
from tui_app.wires.web_searches import as_text, searches_of
from tui_app.wires.wire_form import WireForm

URLS = ("https://tides.example.org/noon", "https://ferry.example.org/")


def searching(body: dict[str, Any]) -> bool:
    return any(tool.get("type") == "web_search" for tool in body.get("tools", []))


async def test_it_is_asked_for_only_where_it_is_set(desk: Desk, server: FakeOpenAI) -> None:
    cases: list[tuple[dict[str, object], str, bool]] = [
        ({"web_search": True, "read_only": False}, "local:scripted", True),
        ({"web_search": True, "read_only": False, "mode": "plan"}, "local:scripted", True),
        ({"web_search": True, "read_only": True}, "local:scripted", False),
        ({"web_search": False, "read_only": False}, "local:scripted", False),
        ({"web_search": True, "read_only": False}, "chat:scripted", False),
    ]
    for number, (settings, model, wanted) in enumerate(cases, 1):
        server.add(Text("Yes."))
        async with desk.session(model=model, **settings) as opened:
            told = await turn(opened.conversation, "When does the tide turn?")
            assert of(told, Error) == []
        assert len(server.journal) == number
        assert searching(server.journal[-1]) is wanted, (settings, model)


async def test_a_search_is_in_the_log_sent_back_and_text_for_another_provider(
    desk: Desk, server: FakeOpenAI
) -> None:
    server.add(Searches("At noon.", "tide turns", URLS), Text("Yes."), Text("Still."), Text("Again."))
    async with desk.session(web_search=True, read_only=False) as opened:
        records = await turn(opened.conversation, "When does the tide turn?")
        (searched,) = of(records, WebSearched)
        assert searched == WebSearched(queries=("tide turns",), sources=URLS)
        await turn(opened.conversation, "Sure?")
        session = opened.conversation.session
        rows = [
            row.title for row in fold_user_view(opened.store.heads(session)).entries if row.kind == "notice"
        ]
        assert rows == ["web search: tide turns · 2 pages"]
    again = json.dumps(server.journal[1]["input"])
    assert all(url in again for url in URLS), "a model whose items are not kept reads a text"
    async with desk.session(session=session, web_search=True, read_only=False) as opened:
        await done(opened.conversation, Switch("chat:scripted"))
        told = await turn(opened.conversation, "And here?")
        assert of(told, Error) == []
        sent = json.dumps(server.journal[2]["messages"])
        assert "web_search_call" not in sent
        assert all(url in sent for url in URLS)
        assert 'Web search for \\"tide turns\\"' in sent


SEALED = "QUJD" * 4_000
ANTHROPIC = ModelResponse(
    parts=[
        NativeToolCallPart("web_search", {"query": "tide"}, "srv_1", provider_name="anthropic"),
        NativeToolReturnPart(
            "web_search",
            [
                {
                    "type": "web_search_result",
                    "title": "Tides",
                    "url": URLS[0],
                    "encrypted_content": "QUJD" * 4_000,
                }
            ],
            "srv_1",
            provider_name="anthropic",
        ),
        TextPart("At noon."),
    ],
    provider_name="anthropic",
)


def test_what_each_provider_hands_out_is_read() -> None:
    google = ModelResponse(
        parts=[
            NativeToolCallPart("web_search", {"queries": ["tide", "ferry"]}, "g", provider_name="google"),
            NativeToolReturnPart(
                "web_search", [{"uri": URLS[1], "title": "Ferry"}], "g", provider_name="google"
            ),
        ]
    )
    assert searches_of(ANTHROPIC.parts)[0].sources == (("Tides", URLS[0]),)
    (found,) = searches_of(google.parts)
    assert (found.queries, found.sources) == (("tide", "ferry"), (("Ferry", URLS[1]),))
    assert message_text(ANTHROPIC).count(URLS[0]) == 1, "a summary can name its sources"
    assert as_text(ANTHROPIC.parts, kept=True) == ANTHROPIC.parts
    broken = [NativeToolCallPart("web_search", "{half", "b"), NativeToolReturnPart("web_search", None, "b")]
    assert [str(part.content) for part in as_text(broken, kept=False) if isinstance(part, TextPart)] == [
        "[Web search; the provider's results:\nnone]"
    ]


def test_a_provider_reads_its_own_searches_again_and_no_other() -> None:
    openai, anthropic = OpenAIProvider(api_key="x"), AnthropicProvider(api_key="x")
    own = WireForm.of(AnthropicModel("claude-sonnet-4-5", provider=anthropic))
    assert own.of_messages([ANTHROPIC])[0].parts == ANTHROPIC.parts
    for model in (OpenAIResponsesModel("gpt-5", provider=openai), OpenAIChatModel("gpt-5", provider=openai)):
        (answer,) = WireForm.of(model).of_messages([ANTHROPIC])
        assert [type(part) for part in answer.parts] == [TextPart, TextPart]
    assert WireForm.of(OpenAIResponsesModel("gpt-5", provider=openai)).searches
    assert not WireForm.of(OpenAIChatModel("gpt-5", provider=openai)).searches


def test_pages_are_counted_by_their_size_not_as_base64() -> None:
    counter = TokenCounter(TextCounter("o200k_base"))
    counted = counter.message(ANTHROPIC)
    assert 3_000 <= counted.tool_results < 3_200
