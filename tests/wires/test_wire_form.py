"""Each provider gets a view in the form it accepts: strict servers, called through the real models."""

import io
import json
import re
import warnings
from collections.abc import AsyncIterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    AgentStreamEvent,
    BinaryContent,
    CompactionPart,
    DocumentUrl,
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserPromptPart,
    VideoUrl,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from tests.servers.strict import (
    WIRES,
    Check,
    Strict,
    alternating,
    anthropic,
    chat,
    google,
    responses,
    strict_server,
)
from tui_app.context import ContextGovernor
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.image_tokens import IMAGE_TOKENS
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import Limits
from tui_app.system.pictures import LONGEST_SIDE, size_of
from tui_app.wires.wire_form import NO_OUTPUT, SYSTEM_TAG, WireForm

THEN = datetime(2026, 1, 1, tzinfo=UTC)
PROTOCOLS: dict[str, Check] = {
    "openai-chat": chat,
    "openai": responses,
    "anthropic": anthropic,
    "google": google,
}


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as made:
        yield made


def called(*ids: str, name: str = "look", args: Any = '{"at": 1}', thought: str = "") -> ModelResponse:
    thinking = [ThinkingPart(thought)] if thought else []
    return ModelResponse(parts=[*thinking, *(ToolCallPart(name, args, each) for each in ids)], timestamp=THEN)


def results(*ids: str, content: Any = "seen", name: str = "look") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart(name, content, each, timestamp=THEN) for each in ids])


def said(content: Any) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(content, timestamp=THEN)])


def foreign() -> list[ModelMessage]:
    """A session as left by other servers, full of what a strict server refuses."""
    odd, long = "functions.look:0", "call_" + "7" * 70
    return [
        said("Look around."),
        called(odd, name="yard.look at", thought="Where?"),
        results(odd, name="yard.look at"),
        called(odd, args="[1, 2]"),
        results(odd, content=""),
        called(long, args="{at: 1"),
        results(long, content=["  ", BinaryContent(b"\x1f\x8b\0", media_type="application/gzip")]),
        ModelResponse(parts=[TextPart("  "), TextPart("Nothing there.")], timestamp=THEN),
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_a_session_of_other_servers_is_taken_and_sent_the_same_again(
    strict: Strict, protocol: str
) -> None:
    strict.check = PROTOCOLS[protocol]
    agent = Agent(strict.model(protocol), capabilities=[ContextGovernor()])
    first = await agent.run("Go on.", message_history=foreign())
    await agent.run("And now?", message_history=first.all_messages())
    assert strict.refused == []
    field = next(name for name in ("messages", "input", "contents") if name in strict.bodies[0])
    before, after = (body[field] for body in strict.bodies)
    assert after[: len(before)] == before
    assert "functions.look:0" in str(first.all_messages()), "what is kept is the original"


async def test_ids_are_nine_letters_and_digits_for_mistral(strict: Strict) -> None:
    agent = Agent(strict.model("openai-chat", "devstral-small"), capabilities=[ContextGovernor()])
    await agent.run("Go on.", message_history=foreign())
    ids = [each["id"] for m in strict.bodies[0]["messages"] for each in m.get("tool_calls") or []]
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"[a-zA-Z0-9]{9}", each) for each in ids)


async def test_a_summary_and_a_prompt_are_one_message_of_the_user(strict: Strict) -> None:
    strict.check = alternating
    summary = ModelRequest(parts=[CompactionPart("They count boats.")])
    history: list[ModelMessage] = [summary, said("Count on.")]
    agent = Agent(strict.model("openai-chat"), capabilities=[ContextGovernor()])
    await agent.run(message_history=history)
    (prompt,) = strict.bodies[0]["messages"]
    assert "They count boats." in prompt["content"]
    assert prompt["content"].endswith("Count on.")


async def test_roles_alternate_also_behind_results_once_a_server_has_refused(strict: Strict) -> None:
    strict.check = alternating
    history: list[ModelMessage] = [said("Look."), called("a"), results("a"), said("Stop. Count boats.")]
    agent = Agent(strict.model("openai-chat"), capabilities=[ContextGovernor()])
    first = await agent.run(message_history=history, conversation_id="c")
    await agent.run("More.", message_history=first.all_messages(), conversation_id="c")
    assert len(strict.refused) == 1, "the server is asked once"


async def test_a_refused_signature_leaves_thinking_out_from_then_on(strict: Strict) -> None:
    strict.check = lambda body: (
        ["Invalid `signature` in `thinking` block"] if "A secret plan" in json.dumps(body) else []
    )
    model = strict.model("anthropic")
    thought = ThinkingPart("A secret plan", signature="c2ln", provider_name=model.system)
    answer = ModelResponse(parts=[thought, TextPart("Aye.")], provider_name=model.system)
    agent = Agent(model, capabilities=[ContextGovernor()])
    first = await agent.run("On.", message_history=[said("Go."), answer], conversation_id="c")
    await agent.run("On.", message_history=first.all_messages(), conversation_id="c")
    assert len(strict.refused) == 1
    assert "A secret plan" in str(first.all_messages())


@pytest.mark.parametrize("wire", ["google", "responses", "anthropic"])
async def test_with_a_signature_goes_what_belongs_to_it_at_calls_and_texts(strict: Strict, wire: str) -> None:
    def look(at: int) -> str:
        return "Two boats."

    strict.calls = True
    agent = Agent(strict.of_wire(wire), tools=[Tool(look)], capabilities=[ContextGovernor()])
    first = await agent.run("Look.", conversation_id="c")
    strict.expired = True
    history = first.all_messages()
    for _ in range(2):
        history = (await agent.run("On.", message_history=history, conversation_id="c")).all_messages()
    assert strict.refused == [f"signature of {wire}"], "the server is asked once"


async def test_thinking_of_another_server_stays_here(strict: Strict) -> None:
    thought = ThinkingPart("A secret plan", signature="c2ln", provider_name="elsewhere")
    answer = ModelResponse(parts=[thought, TextPart("Aye.")], provider_name="elsewhere")
    agent = Agent(strict.model("anthropic"), capabilities=[ContextGovernor()])
    await agent.run("On.", message_history=[said("Go."), answer])
    assert "A secret plan" not in json.dumps(strict.bodies)


async def test_reasoning_that_a_server_wants_back_is_filled_in(strict: Strict) -> None:
    strict.check = lambda body: [
        "The `reasoning_content` in the thinking mode must be passed back to the API."
        for message in body["messages"]
        if message["role"] == "assistant" and not message.get("reasoning_content")
    ]
    agent = Agent(strict.model("openai-chat"), capabilities=[ContextGovernor()])
    await agent.run("On.", message_history=[said("Look."), called("a"), results("a")])
    assert len(strict.bodies) == 2


async def test_a_model_without_eyes_gets_a_note_for_a_picture(strict: Strict) -> None:
    strict.check = lambda body: (
        ["image input is not supported by this model"] if "image_url" in json.dumps(body) else []
    )
    picture = BinaryContent(b"\x89PNG", media_type="image/png")
    agent = Agent(strict.model("openai-chat"), capabilities=[ContextGovernor()])
    await agent.run("On.", message_history=[said(["See:", picture]), ModelResponse(parts=[TextPart("Aye.")])])
    assert "A file of type image/png, 4 bytes: not shown to this model" in json.dumps(strict.bodies[-1])


@pytest.mark.parametrize(
    ("media_type", "data"),
    [("application/gzip", b"\x1f"), ("audio/ogg", b"Og"), ("image/tiff", b"I"), ("text/csv", b"\xff\xfe")],
)
def test_a_file_that_no_protocol_takes_becomes_a_note_wherever_it_stands(
    media_type: str, data: bytes
) -> None:
    blob = BinaryContent(data, media_type=media_type)
    history: list[ModelMessage] = [
        said("Look."),
        called("a"),
        results("a", content={"files": [blob], "n": 1}),
    ]
    formed = WireForm("openai").of_messages(history)
    part = formed[-1].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert f"A file of type {media_type}" in str(part.content)
    assert formed[0] is history[0]


def test_a_later_system_prompt_is_told_in_the_user_s_place_and_an_empty_result_says_so() -> None:
    late = ModelRequest(parts=[ToolReturnPart("look", "", "a"), SystemPromptPart("Be brief.")])
    formed = WireForm("openai").of_messages([said("Look."), called("a"), late])
    result, told = formed[-1].parts
    assert isinstance(result, ToolReturnPart)
    assert isinstance(told, UserPromptPart)
    assert (result.content, told.content) == (NO_OUTPUT, f"<{SYSTEM_TAG}>\nBe brief.\n</{SYSTEM_TAG}>")


async def test_the_hooks_of_an_agent_have_the_last_word_wherever_they_stand(strict: Strict) -> None:
    async def instead(ctx: RunContext[Any], request: ModelRequestContext) -> ModelRequestContext:
        request.messages = [said("Only this.")]
        return request

    hooks = Hooks[Any](before_model_request=instead)
    agent = Agent(strict.model("openai-chat"), capabilities=[hooks, ContextGovernor()])
    result = await agent.run("A number: 4711.")
    assert [message["content"] for message in strict.bodies[0]["messages"]] == ["Only this."]
    assert "4711" in str(result.all_messages())


def tools(*names: str) -> ModelRequestParameters:
    return ModelRequestParameters(function_tools=[ToolDefinition(name=name) for name in names])


def test_there_is_one_system_message_where_a_server_takes_no_more() -> None:
    parts = [InstructionPart("Be brief."), InstructionPart("Be kind.", dynamic=True)]
    history = [ModelRequest(parts=[SystemPromptPart("You sail.")]), said("Look.")]
    parameters = replace(tools(), instruction_parts=parts)
    messages, sent = WireForm("yard", joined_system=True).of_request(history, parameters)
    assert [part.content for part in sent.instruction_parts or ()] == ["You sail.\n\nBe brief.\n\nBe kind."]
    assert [part.content for message in messages for part in message.parts] == ["Look."]
    messages, sent = WireForm("yard", joined_system=True, systems=False).of_request(history, parameters)
    assert sent.instruction_parts == []
    assert [part.content for part in messages[0].parts] == ["You sail.\n\nBe brief.\n\nBe kind.\n\nLook."]
    messages, sent = WireForm("openai").of_request(history, parameters)
    assert sent is parameters


async def drain(_ctx: RunContext[None], events: AsyncIterable[AgentStreamEvent]) -> None:
    """Consume the events, which makes the agent stream its requests."""
    async for _ in events:
        pass


@pytest.mark.parametrize(("wire", "streamed"), [*((wire, False) for wire in WIRES), ("openai-chat", True)])
async def test_a_tool_of_any_name_is_defined_and_called(strict: Strict, wire: str, streamed: bool) -> None:
    called_with: list[int] = []
    odd = "7 seas.look at/" + "far " * 20

    def look(at: int) -> str:
        called_with.append(at)
        return "Two boats."

    strict.calls = True
    agent = Agent(strict.of_wire(wire), tools=[Tool(look, name=odd)], capabilities=[ContextGovernor()])
    result = await agent.run("Look.", event_stream_handler=drain if streamed else None)
    messages = result.all_messages()
    assert strict.refused == []
    assert called_with == [1]
    assert [part.tool_name for part in messages[1].parts if isinstance(part, ToolCallPart)] == [odd]


@pytest.mark.parametrize("place", ["prompt", "result"])
def test_the_program_fetches_no_address_that_a_message_names(place: str) -> None:
    """A provider may download it. This machine must not, as it could reach its own network for anyone."""
    forced = ImageUrl("http://127.0.0.1/a.png", force_download="allow-local")
    picture, page = ImageUrl("https://example.org/a.png"), DocumentUrl("https://example.org/a.pdf")
    files = [picture, forced, page]

    def sent(form: WireForm) -> list[str]:
        last = said(["See:", *files]) if place == "prompt" else results("a", content=["See:", *files])
        part = form.of_messages([said("Look."), called("a"), last])[-1].parts[-1]
        assert isinstance(part, UserPromptPart | ToolReturnPart)
        return [str(each) if isinstance(each, str) else each.url for each in list(part.content)[1:]]

    note = "[A file of kind {} at {}: not shown to this model]"
    notes = [
        note.format(kind, file.url) for kind, file in zip(("image", "image", "document"), files, strict=True)
    ]
    assert sent(WireForm("google")) == notes
    assert sent(WireForm("openai")) == [picture.url, *notes[1:]]
    assert sent(WireForm("openai", files=frozenset())) == notes
    assert sent(WireForm("google", downloads=True)) == [each.url for each in files], "the program's own wish"


@pytest.mark.parametrize(
    "file", [BinaryContent(b"OggS", media_type="audio/wav"), VideoUrl("https://x.org/a.mp4")]
)
async def test_a_file_that_an_adapter_lacks_is_a_note(strict: Strict, file: Any) -> None:
    agent = Agent(strict.of_wire("responses"), capabilities=[ContextGovernor()])
    await agent.run(["Hear this.", file])
    assert "not shown to this model" in json.dumps(strict.bodies)


async def test_a_file_that_was_uploaded_elsewhere_is_a_note(strict: Strict) -> None:
    agent = Agent(strict.of_wire("anthropic"), capabilities=[ContextGovernor()])
    await agent.run(["Read.", UploadedFile("file_1", provider_name="openai", media_type="image/png")])
    assert "A file uploaded to openai" in json.dumps(strict.bodies)


async def test_a_note_is_counted_as_a_note(strict: Strict) -> None:
    picture = BinaryContent(b"\x89PNG" * 99, media_type="image/png")
    counted: list[int] = []
    for kind in (frozenset({"image"}), frozenset[str]()):
        counter = TokenCounter(TextCounter(None))
        message = said(["See:", picture])
        assert counter.message(message).attachments == IMAGE_TOKENS
        assert counter.count_as(WireForm("openai", files=kind).shown)
        counted.append(counter.message(message).total)
    assert counted[0] > IMAGE_TOKENS
    assert counted[1] < 60


ODD = "a \udcff of \ud83d\ude00 \ud800"


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "args", ['{"at": NaN, "to": [1e999]}', {"at": float("inf")}, {"at": ODD}, f'{{"at": "{ODD}"}}']
)
async def test_what_no_json_can_hold_is_replaced(strict: Strict, wire: str, args: Any) -> None:
    """Lone surrogates, as in file names, and numbers that JSON lacks, as models write them."""
    history: list[ModelMessage] = [
        ModelRequest(parts=[SystemPromptPart(ODD), UserPromptPart([ODD, TextContent(ODD)])]),
        called("a", args=args),
        ModelRequest(parts=[ToolReturnPart("look", {ODD: [ODD]}, "a"), UserPromptPart(ODD)]),
        ModelResponse(parts=[TextPart(ODD)]),
    ]
    agent = Agent(strict.of_wire(wire), capabilities=[ContextGovernor()], instructions=ODD)
    await agent.run(ODD, message_history=history, conversation_id="c")
    sent = json.dumps(strict.bodies[-1], ensure_ascii=False, allow_nan=False).encode().decode()
    assert not re.search("NaN|Infinity|1e999", sent)
    assert "\ufffd of \U0001f600 \ufffd" in sent
    assert history[-1].parts == [TextPart(ODD)], "the original is kept"


def drawn(width: int, height: int, kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("L", (width, height)).save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize(
    ("data", "told", "sent"),
    [
        (drawn(9, 9, "JPEG"), "image/png", "image/jpeg"),
        (drawn(9, 9, "WEBP"), "image/jpeg; charset=binary", "image/webp"),
        (drawn(9, 9), "image/bmp", "image/png"),
        (drawn(9, 9), "application/octet-stream", "image/png"),
        (drawn(9, 9), "image/png", "image/png"),
    ],
)
def test_a_picture_is_sent_as_what_it_is(data: bytes, told: str, sent: str) -> None:
    form = WireForm("anthropic")
    formed = form.shown(UserPromptPart(["See:", BinaryContent(data, media_type=told)]))
    assert isinstance(formed, UserPromptPart)
    assert isinstance(picture := formed.content[1], BinaryContent)
    assert (picture.media_type, picture.data) == (sent, data)


@pytest.mark.parametrize("size", [(8_100, 10), (2_100, 2_100)])
def test_a_picture_that_servers_refuse_for_its_size_is_scaled_down(size: tuple[int, int]) -> None:
    file = BinaryContent(drawn(*size), media_type="image/png")
    first, second = (WireForm("anthropic").shown(ToolReturnPart("shot", [file], "c")) for _ in range(2))
    assert isinstance(first, ToolReturnPart)
    assert isinstance(second, ToolReturnPart)
    assert max(size_of(first.content[0].data) or ()) == LONGEST_SIDE
    assert first.content[0].data == second.content[0].data, "the same bytes in every request"
    broken = BinaryContent(drawn(*size)[:60], media_type="image/png")
    assert "not shown" in str(WireForm("anthropic").shown(ToolReturnPart("shot", [broken], "c")))


async def test_pictures_of_results_follow_an_answer_where_roles_alternate(strict: Strict) -> None:
    picture = BinaryContent(b"\x89PNG", media_type="image/png")
    agent = Agent(strict.of_wire("alternating"), capabilities=[ContextGovernor()])
    history: list[ModelMessage] = [said("Look."), called("a"), results("a", content=["Seen:", picture])]
    await agent.run(message_history=history, conversation_id="c")
    assert len(strict.refused) == 1, "and learnt from"
    assert "image_url" in json.dumps(strict.bodies[-1]["messages"][-1])


async def test_a_form_that_was_learnt_holds_in_the_next_start(strict: Strict, tmp_path: Path) -> None:
    history: list[ModelMessage] = [said("Look."), called("a"), results("a"), said("Go on.")]

    async def start(file: Path) -> int:
        """Run with what is stored in ``file``, and return the number of refusals."""
        before = len(strict.refused)
        limits = Limits(LearntModels(file))
        for _ in range(2):
            agent = Agent(strict.of_wire("alternating"), capabilities=[ContextGovernor(limits=limits)])
            await agent.run(message_history=history, conversation_id="c")
        return len(strict.refused) - before

    assert await start(tmp_path / "models.json") == 1
    assert await start(tmp_path / "models.json") == 0
    assert await start(tmp_path / "others.json") == 1


async def test_a_form_whose_request_was_not_answered_is_no_lesson(strict: Strict, tmp_path: Path) -> None:
    strict.check = lambda _body: ["Conversation roles must alternate user/assistant"]
    limits = Limits(LearntModels(tmp_path / "models.json"))
    model = strict.model("openai-chat")
    with pytest.raises(ModelHTTPError):
        await Agent(model, capabilities=[ContextGovernor(limits=limits)]).run("Look.")
    assert limits.form(model) == {}


async def test_marks_of_the_cache_are_left_out_where_a_server_takes_none(
    strict: Strict, tmp_path: Path
) -> None:
    strict.check = lambda body: (
        ["system.0.cache_control: Extra inputs are not permitted"] if "cache_control" in str(body) else []
    )
    for refused in (1, 1):
        limits = Limits(LearntModels(tmp_path / "models.json"))
        governor = ContextGovernor(limits=limits)
        agent = Agent(strict.model("anthropic"), instructions="You sail.", capabilities=[governor])
        for _ in range(2):
            await agent.run("Look.", model_settings={"cache": True})
        assert len(strict.refused) == refused


def test_what_a_server_thinks_of_files_and_signatures_is_not_remembered() -> None:
    first = WireForm("openai")
    assert replace(first, thinking=False, files=frozenset()).learnt(first) == {}
    assert first.taught({"thinking": False, "downloads": True}) == first


def test_blank_lines_of_a_result_are_no_blocks_of_their_own() -> None:
    """Some protocols send each text of a list as a block, and none accepts an empty block."""
    history = [said("Look."), called("a"), results("a", content=["one", "", "two"])]
    part = WireForm("anthropic").of_messages(history)[-1].parts[0]
    assert isinstance(part, ToolReturnPart)
    assert part.content == '["one","","two"]'


async def test_an_answer_behind_a_system_prompt_is_not_the_first_message(strict: Strict) -> None:
    history = [ModelRequest(parts=[SystemPromptPart("You sail.")]), ModelResponse(parts=[TextPart("Aye.")])]
    for wire in ("anthropic", "google", "alternating"):
        await Agent(strict.of_wire(wire), capabilities=[ContextGovernor()]).run(
            "On.", message_history=history
        )
    assert strict.refused == []


async def test_a_retry_of_an_older_history_answers_its_call(strict: Strict) -> None:
    history = [said("Look."), called("functions.look:0"), ModelRequest(parts=[retry("functions.look:0")])]
    for wire in WIRES:
        await Agent(strict.of_wire(wire), capabilities=[ContextGovernor()]).run(message_history=history)
    assert strict.refused == []


def retry(call_id: str) -> RetryPromptPart:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RetryPromptPart("No such place.", tool_name="look", tool_call_id=call_id, timestamp=THEN)
