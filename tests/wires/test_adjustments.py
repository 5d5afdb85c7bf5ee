"""Refused requests are adjusted: the unsupported part is changed or left out, and reported."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, Tool
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset

from tests.servers.strict import Strict, strict_server
from tests.wires.test_wire_form import called, drain, results, said
from tui_app.context import ContextGovernor
from tui_app.context.windows.learnt_models import LearntModels
from tui_app.context.windows.window_limits import Limits
from tui_app.events import Notice, Payload
from tui_app.wires.adjustments import Adjustments
from tui_app.wires.wire_form import WireForm

WIRES = ["openai-chat", "openai", "anthropic", "google"]
PDF = BinaryContent(b"%PDF-1.4", media_type="application/pdf")
PICTURE = BinaryContent(b"\x89PNG", media_type="image/png")
SOUND = BinaryContent(b"RIFF", media_type="audio/wav")
NO_SOUND = (("openai", SOUND), ("anthropic", SOUND))
"""pydantic-ai has no form for audio on these two."""


@pytest.fixture
def strict() -> Iterator[Strict]:
    with strict_server() as made:
        yield made


class Asked:
    """An agent with one model, and the notices its user gets."""

    def __init__(
        self,
        strict: Strict,
        wire: str,
        *tools: Callable[..., Any],
        file: Path | None = None,
        model: str = "keen-1",
    ) -> None:
        self.notices: list[str] = []
        self.limits = Limits(LearntModels(file))
        governor = ContextGovernor(limits=self.limits, listener=self._hear)
        self.agent = Agent(
            strict.model(wire, model), tools=[Tool(each) for each in tools], capabilities=[governor]
        )

    def _hear(self, payload: Payload) -> None:
        if isinstance(payload, Notice):
            self.notices.append(payload.text)

    async def say(self, prompt: Any = "Go on.", **more: Any) -> list[ModelMessage]:
        done = await self.agent.run(prompt, conversation_id="c", event_stream_handler=drain, **more)
        return done.all_messages()


def look(at: int) -> str:
    return "Two boats."


def defined(body: Any) -> list[Any]:
    """Return the tools of a request, each with its name and schema."""
    found = []
    for tool in body.get("tools") or []:
        for each in tool.get("functionDeclarations", [tool.get("function", tool)]):
            names = ("parameters", "input_schema", "parameters_json_schema", "parametersJsonSchema")
            found.append((each["name"], next((each[name] for name in names if name in each), {})))
    return found


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("words", ["keen-1 does not support tools", "Nein."])
async def test_a_model_without_tools_answers_without_and_is_asked_so_from_then_on(
    strict: Strict, tmp_path: Path, wire: str, words: str
) -> None:
    strict.check = lambda body: [words] if defined(body) else []
    first = Asked(strict, wire, look, file=tmp_path / "models.json")
    history = [said("Look."), called("call_1"), results("call_1"), ModelResponse(parts=[TextPart("Aye.")])]
    await first.say(message_history=history)
    assert "Result of look" in json.dumps(strict.bodies[-1])
    await first.say()
    assert first.notices == ["keen-1 takes no tools, so it answers without them."]
    before = len(strict.refused)
    await Asked(strict, wire, look, file=tmp_path / "models.json").say()
    # A refusal that names nothing may have been transient.
    assert (len(strict.refused) == before) == ("tools" in words)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("odd", [1, 2])
async def test_one_refusal_that_names_nothing_changes_no_later_request(
    strict: Strict, wire: str, odd: int
) -> None:
    refused = 0

    def check(_: Any) -> list[str]:
        nonlocal refused
        refused += 1
        return ["Nein."] if refused <= odd else []

    strict.check = check
    asked = Asked(strict, wire, look)
    await asked.say()
    for _ in range(2):
        before = len(strict.bodies)
        await asked.say()
        assert len(strict.bodies) == before + 1
        assert defined(strict.bodies[-1]), "with tools, as at first"
        assert strict.streamed[-1], "and as a stream"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_tool_whose_schema_is_refused_is_made_plain_or_left_out_and_named(
    strict: Strict, wire: str
) -> None:
    rows = {"type": "object", "properties": {"at": {"type": "integer", "x-unit": "boats"}}}
    worse = {
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/at"}},
        "$defs": {"at": {"type": "string"}},
    }
    tools = [
        ToolDefinition(name="fine"),
        ToolDefinition(name="rows", parameters_json_schema=rows),
        ToolDefinition(name="worse", parameters_json_schema=worse),
    ]

    def check(body: Any) -> list[str]:
        every = defined(body)
        broken = [f"tools.{at}: no" for at, (_, schema) in enumerate(every) if "x-unit" in str(schema)]
        return broken or [f"Invalid: '{name}'" for name, _ in every if name == "worse"]

    strict.check = check
    asked = Asked(strict, wire)
    for _ in range(2):
        await asked.say(toolsets=[ExternalToolset(tools)])
    assert [name for name, _ in defined(strict.bodies[-1])] == ["fine", "rows"]
    assert defined(strict.bodies[-1])[1][1]["properties"] == {"at": {"type": "integer"}}
    assert asked.notices == ["keen-1 refuses the definition of worse, left out from now on."]
    assert len(strict.refused) == 3


@pytest.mark.parametrize("wire", WIRES)
async def test_any_schema_is_sent_as_one_that_all_providers_take(strict: Strict, wire: str) -> None:
    got: list[dict[str, Any]] = []
    schema = {
        "anyOf": [
            {
                "properties": {"filter[name]": {"type": "string"}, "ids": {"type": "array"}},
                "required": ["ids"],
            },
            {"properties": {"url": {"type": "string"}}},
        ],
        "properties": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": True}},
    }

    async def run(_ctx: RunContext[Any], **args: Any) -> str:
        got.append(args)
        return "Aye."

    tool = Tool.from_schema(run, "make", "", schema, takes_ctx=True)
    strict.calls, strict.call = True, ("make", {"filter_name_": "sea", "n": 3})
    asked = Asked(strict, wire)
    asked.agent = Agent(strict.model(wire), tools=[tool], capabilities=[ContextGovernor()])
    await asked.say()
    ((_, sent),) = defined(strict.bodies[0])
    assert sent["type"] == "object"
    assert not {"anyOf", "required"} & sent.keys()
    assert sent["properties"]["ids"]["items"] == {}
    assert set(sent["properties"]) == {"filter_name_", "ids", "url", "n"}
    assert sent["properties"]["n"].get("exclusiveMinimum", 0) == 0, "Google's adapter leaves it out"
    assert got == [{"filter[name]": "sea", "n": 3}], "the server gets its own names"


@pytest.mark.parametrize("wire", WIRES)
async def test_no_more_tools_are_defined_than_a_provider_takes(strict: Strict, wire: str) -> None:
    strict.check = lambda body: (
        [f"Expected an array of at most 5 tools, but got {len(defined(body))}."]
        if len(defined(body)) > 5
        else []
    )
    asked = Asked(strict, wire)
    await asked.say(toolsets=[ExternalToolset([ToolDefinition(name=f"t{at}") for at in range(9)])])
    assert len(defined(strict.bodies[-1])) == 5
    assert asked.notices == ["keen-1 takes 5 tools at most, so the others are left out."]


NO_SUCH_PATH = (
    "models/keen-1 is not found for API version v1beta, or is not supported for streamGenerateContent."
)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("words", "status"),
    [("You must be verified to stream this model.", 400), ("Nein.", 400), (NO_SUCH_PATH, 404)],
)
async def test_a_model_that_may_not_be_streamed_answers_in_one_piece(
    strict: Strict, wire: str, words: str, status: int
) -> None:
    strict.check = lambda _body: [words] if strict.streamed[-1] else []
    strict.status = status
    strict.text = "In one piece."
    asked = Asked(strict, wire)
    history = await asked.say()
    assert [part.content for part in history[-1].parts if isinstance(part, TextPart)] == ["In one piece."]
    assert asked.notices == ["keen-1 does not stream, so its answers come in one piece."]


@pytest.mark.parametrize(
    ("wire", "file"),
    [(wire, file) for wire in WIRES for file in (PDF, PICTURE, SOUND) if (wire, file) not in NO_SOUND],
)
@pytest.mark.parametrize("status", [400, 415, 422])
async def test_a_file_that_is_refused_becomes_a_note_whatever_the_words(
    strict: Strict, wire: str, file: BinaryContent, status: int
) -> None:
    strict.check = lambda body: ["不支持的消息内容"] if file.base64 in json.dumps(body) else []
    strict.status = status
    asked = Asked(strict, wire, look)
    history = [said("Look."), called("call_1"), results("call_1", content=["See:", file])]
    for _ in range(2):
        history = await asked.say(message_history=history)
    assert len(strict.refused) == 1
    assert "not shown to this model" in json.dumps(strict.bodies[-1])
    assert defined(strict.bodies[-1]), "the tools stay"


@pytest.mark.parametrize(
    ("wire", "field", "body"),
    [
        ("openai-chat", "stream_options", {"detail": [{"loc": ["body", "stream_options"], "msg": "extra"}]}),
        ("openai-chat", "reasoning_effort", {"error": {"message": "nein", "param": "reasoning_effort"}}),
        ("openai", "tool_choice", {"error": {"message": "Unknown parameter: 'tool_choice'.", "code": 1}}),
        ("openai", "reasoning", {"error": {"message": "nein", "param": "reasoning.summary"}}),
        ("anthropic", "thinking", {"error": {"type": "x", "message": "thinking.type: Extra inputs"}}),
        ("google", "thinkingConfig", {"error": {"message": 'Unknown name "thinkingConfig"', "code": 400}}),
    ],
)
async def test_a_field_that_a_server_does_not_know_is_left_out_and_named(
    strict: Strict, tmp_path: Path, wire: str, field: str, body: Any
) -> None:
    strict.check = lambda body: ["unknown"] if f'"{field}"' in json.dumps(body) else []
    strict.refusal, strict.status = lambda _: body, 422
    model = "gpt-5.4" if wire.startswith("openai") else "keen-1"
    told = []
    for _ in range(2):
        asked = Asked(strict, wire, look, file=tmp_path / "models.json", model=model)
        await asked.say(model_settings=ModelSettings(thinking="low"))
        told += asked.notices
    assert len(strict.refused) == 1
    assert told == [f"{model} does not know {field}, left out from now on."]


@pytest.mark.parametrize(
    ("words", "learnt"),
    [
        ("Conversation roles must alternate user/assistant/user/assistant/...", {"alternating": True}),
        ("Unexpected role 'user' after role 'tool'", {"alternating": True}),
        ("Expected last role User or Tool (or Assistant with prefix True)", {"alternating": True}),
        ("System message must be at the beginning.", {"joined_system": True}),
        ("Value error, only one system message is allowed", {"joined_system": True}),
        ("System role not supported", {"systems": False}),
        ("Unsupported value: 'messages[0].role' does not support 'system'.", {"systems": False}),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", {"systems": False}),
        ("Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.", {"short_ids": True}),
        ("Invalid `signature` in `thinking` block", {"thinking": False}),
        ("Missing `reasoning_content` field in the assistant message", {"reasoning": True}),
        ("audio input is not supported - hint: you may need to provide the mmproj", {"files": {"audio"}}),
        ("Invalid content type. image_url is only supported by certain models.", {"files": {"image"}}),
        ("Invalid value: 'file'. Supported values are: 'text' and 'image_url'.", {"files": {"document"}}),
        ("messages[7]: unknown variant `image_url`, expected `text` at line 1", {"files": {"image"}}),
        ("At most 0 image(s) may be provided in one request.", {"files": {"image"}}),
        ("'messages.3.content' must be a string", {"files": {"image", "audio", "document"}}),
        ("Only user and assistant roles are supported!", {"systems": False}),
        ("Only user, assistant and tool roles are supported, got system.", {"joined_system": True}),
        ("system.0.cache_control.ttl: Extra inputs are not permitted", {"caching": False}),
        ("A maximum of 4 blocks with cache_control may be provided. Found 5.", {"caching": False}),
        ("Unsupported parameter: prompt_cache_retention", {"caching": False}),
        ("Function calling is not enabled for this model", {"tools": False}),
    ],
)
def test_a_refusal_is_followed_by_a_form_that_goes_through(words: str, learnt: dict[str, Any]) -> None:
    def accepts(form: WireForm) -> bool:
        return all(
            not value & form.files if name == "files" else getattr(form, name) is value
            for name, value in learnt.items()
        )

    form = WireForm("openai")
    adjusted = Adjustments(form, {})
    refused = ModelHTTPError(400, "keen-1", {"error": {"message": words}})
    tries = 0
    while not accepts(adjusted.form):
        assert adjusted.next_form(REQUEST, refused) is not None
        tries += 1
    assert tries <= 4


THOUGHT = ModelResponse(
    parts=[ThinkingPart("Where?", signature="c2ln"), ToolCallPart("look", {"at": 1}, "call_1")]
)


class _Named:
    model_name = "keen-1"


REQUEST = ModelRequestContext(
    model=_Named(),  # type: ignore[arg-type]
    messages=[said(["See:", PICTURE, PDF, SOUND]), THOUGHT, results("call_1")],
    model_settings=ModelSettings(cache=True),
    model_request_parameters=ModelRequestParameters(function_tools=[ToolDefinition(name="look")]),
    streaming=True,
)


@pytest.mark.parametrize(
    ("status", "words", "changed"),
    [
        (404, "No endpoints found that support image input", "files"),
        (404, "No endpoints found that support tool use", "tools"),
        (500, "image input is not supported - hint: mmproj", "files"),
        (404, "The model keen-1 does not exist", ""),
        (500, "Something went wrong", ""),
        (401, "Invalid tools", ""),
        (429, "Too many images", ""),
    ],
)
def test_other_statuses_are_of_the_form_where_they_name_a_part_of_it(
    status: int, words: str, changed: str
) -> None:
    form = WireForm("openai")
    adjusted = Adjustments(form, {})
    other = adjusted.next_form(REQUEST, ModelHTTPError(status, "keen-1", {"error": {"message": words}}))
    assert (other is None) == (not changed)
    assert other is None or getattr(other, changed) != getattr(form, changed)


def test_a_server_that_fails_twice_at_a_new_file_is_asked_once_without_it() -> None:
    form, failed = WireForm("openai"), ModelHTTPError(500, "keen-1", {"error": {"message": "Oops"}})
    adjusted = Adjustments(form, {})
    for known in (False, True):
        adjusted.begin()
        assert adjusted.form == form, "it may have passed by itself"
        assert adjusted.next_form(REQUEST, failed) is None
        adjusted.begin()
        without = adjusted.next_form(REQUEST, failed)
        assert without is not None
        assert without.files == form.files - {"image", "document", "audio"}
        assert ("takes no" in adjusted.answered(replace(REQUEST, messages=[]))) != known
    adjusted.begin()
    assert adjusted.form == without


def test_a_server_that_fails_twice_at_files_it_has_taken_is_asked_as_before() -> None:
    adjusted, failed = Adjustments(WireForm("openai"), {}), ModelHTTPError(500, "keen-1", None)
    adjusted.answered(REQUEST)
    for _ in range(2):
        adjusted.begin()
        assert adjusted.next_form(REQUEST, failed) is None


async def test_what_nothing_mends_is_the_same_error_after_a_few_tries(strict: Strict) -> None:
    strict.check = lambda _body: ["Nein."]
    asked = Asked(strict, "openai-chat", look)
    for tried in (4, 8):
        with pytest.raises(ModelHTTPError, match="Nein"):
            await asked.say()
        assert len(strict.bodies) == tried
    strict.check = lambda _body: []
    await asked.say()
    assert defined(strict.bodies[-1]), "nothing was learnt"
    assert asked.notices == []


async def test_what_was_taken_before_is_not_suspected_without_a_name(strict: Strict) -> None:
    asked = Asked(strict, "openai-chat", look)
    await asked.say()
    strict.check = lambda _body: ["Nein."]
    with pytest.raises(ModelHTTPError):
        await asked.say()
    assert len(strict.bodies) == 2


@pytest.mark.parametrize(("by", "given_up"), [("keen-1-2026-01-01", False), ("other-2", True)])
def test_a_model_that_has_called_a_tool_is_not_suspected_of_taking_none(by: str, given_up: bool) -> None:
    """A session that is continued: what is refused without a word is perhaps only too long."""
    request = replace(REQUEST, messages=[said("See:"), replace(THOUGHT, model_name=by), results("call_1")])
    adjusted = Adjustments(WireForm("openai"), {})
    refused = ModelHTTPError(400, "keen-1", {"error": {"message": "invalid request"}})
    tried = []
    while (form := adjusted.next_form(request, refused)) is not None:
        tried.append(form)
    assert tried, "thinking and streaming are suspected"
    assert any(not form.tools or form.plain for form in tried) == given_up
