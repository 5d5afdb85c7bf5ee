"""Each provider gets a view in the form it takes: servers that refuse the rest, behind real models."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestContext

from tui_app.agent.models import build_model
from tui_app.context import ContextGovernor
from tui_app.context.wire_form import NO_OUTPUT, WireForm
from tui_app.settings import Endpoint

Check = Callable[[Any], list[str]]
THEN = datetime(2026, 1, 1, tzinfo=UTC)
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class Strict:
    """Answers what a check lets pass, and refuses the rest with its words."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.refused: list[str] = []
        self.check: Check = lambda _body: []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *args: object) -> None:
                """Keep quiet."""

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.bodies.append(body)
                problems = outer.check(body)
                outer.refused += problems
                answer: Any = {"error": {"message": "; ".join(problems), "type": "invalid_request_error"}}
                sent = json.dumps(answer if problems else answered(self.path)).encode()
                self.send_response(400 if problems else 200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def model(self, protocol: str, name: str = "keen-1") -> Model[Any]:
        base = self.url if protocol in ("anthropic", "google") else f"{self.url}/v1"
        endpoint = Endpoint(name="yard", protocol=protocol, base_url=base, key_env="", window=50_000)
        return build_model(f"yard:{name}", env={}, endpoints={"yard": endpoint})


def answered(path: str) -> Any:
    """The shortest answer of each protocol."""
    if "chat/completions" in path:
        choice = {"index": 0, "message": {"role": "assistant", "content": "Aye."}, "finish_reason": "stop"}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "k", "choices": [choice]}
    if "responses" in path:
        text = {"type": "output_text", "text": "Aye.", "annotations": []}
        item = {"id": "msg_1", "type": "message", "status": "completed", "role": "assistant"}
        return {
            **{"id": "r", "object": "response", "created_at": 1, "status": "completed", "model": "k"},
            **{"parallel_tool_calls": True, "tool_choice": "auto", "tools": []},
            "output": [{**item, "content": [text]}],
        }
    if "messages" in path:
        usage = {"input_tokens": 9, "output_tokens": 1}
        said = {"role": "assistant", "content": [{"type": "text", "text": "Aye."}], "stop_reason": "end_turn"}
        return {"id": "m", "type": "message", "model": "k", "usage": usage, **said}
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Aye."}]}, "finishReason": "STOP"}]
    }


@pytest.fixture
def strict() -> Iterator[Strict]:
    made = Strict()
    thread = threading.Thread(target=made.server.serve_forever, daemon=True)
    thread.start()
    yield made
    made.server.shutdown()
    made.server.server_close()
    thread.join()


def alternates(body: Any) -> list[str]:
    """A chat template that takes one system message, and then user and assistant in turn."""
    roles = [m["role"] for m in body["messages"] if m["role"] != "tool" and not m.get("tool_calls")]
    turns = roles[1:] if roles[0] == "system" else roles
    wanted = [("user", "assistant")[place % 2] for place in range(len(turns))]
    return [] if turns == wanted else ["roles must alternate user/assistant"]


def chat(body: Any) -> list[str]:
    problems, ids = list[str](), list[str]()
    for message in body["messages"]:
        if message["role"] in ("user", "tool") and not str(message["content"]).strip():
            problems.append("blank content")
        for called in message.get("tool_calls") or []:
            ids.append(called["id"])
            problems += [] if NAME.fullmatch(called["function"]["name"]) else ["tool name"]
            is_object = isinstance(json.loads(called["function"]["arguments"]), dict)
            problems += [] if is_object else ["arguments"]
    problems += [f"id {each}" for each in ids if not re.fullmatch(r"[a-zA-Z0-9_-]{1,40}", each)]
    results = [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]
    return problems + ([] if results == ids and len(set(ids)) == len(ids) else ["ids do not pair"])


def responses(body: Any) -> list[str]:
    calls = [item for item in body["input"] if item.get("type") == "function_call"]
    results = [item for item in body["input"] if item.get("type") == "function_call_output"]
    ids = [item["call_id"] for item in calls]
    problems = [f"name {item['name']}" for item in calls if not NAME.fullmatch(item["name"])]
    problems += [f"call_id {each}" for each in ids if len(each) > 64]
    problems += ["blank output" for item in results if not item["output"]]
    paired = [item["call_id"] for item in results] == ids and len(set(ids)) == len(ids)
    return problems + ([] if paired else ["call ids do not pair"])


def anthropic(body: Any) -> list[str]:
    problems, ids = list[str](), list[str]()
    for message in body["messages"]:
        blocks = message["content"] if isinstance(message["content"], list) else []
        for block in blocks:
            if block["type"] == "text" and not block["text"].strip():
                problems.append("blank text block")
            if block["type"] == "tool_use":
                ids.append(block["id"])
                problems += [] if re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]) else ["tool_use.id"]
                problems += [] if isinstance(block["input"], dict) else ["input"]
                problems += [] if NAME.fullmatch(block["name"]) else ["name"]
            if block["type"] == "tool_result" and not block.get("content"):
                problems.append("empty result")
    return problems + ([] if len(set(ids)) == len(ids) else ["`tool_use` ids must be unique"])


def google(body: Any) -> list[str]:
    problems = list[str]()
    for content in body["contents"]:
        for part in content["parts"]:
            name = part.get("functionCall", {}).get("name", "ok")
            problems += [] if re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}", name) else [f"name {name}"]
            problems += ["empty part"] if part.get("text") == "" else []
    return problems


def called(*ids: str, name: str = "look", args: Any = '{"at": 1}', thought: str = "") -> ModelResponse:
    thinking = [ThinkingPart(thought)] if thought else []
    return ModelResponse(parts=[*thinking, *(ToolCallPart(name, args, each) for each in ids)], timestamp=THEN)


def results(*ids: str, content: Any = "seen", name: str = "look") -> ModelRequest:
    return ModelRequest(parts=[ToolReturnPart(name, content, each, timestamp=THEN) for each in ids])


def said(content: Any) -> ModelRequest:
    return ModelRequest(parts=[UserPromptPart(content, timestamp=THEN)])


def foreign() -> list[ModelMessage]:
    """A session that other servers have left: nothing in it is as a strict one wants it."""
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


PROTOCOLS: dict[str, Check] = {
    "openai-chat": chat,
    "openai": responses,
    "anthropic": anthropic,
    "google": google,
}


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
    strict.check = alternates
    summary = ModelRequest(parts=[CompactionPart("They count boats.")])
    history: list[ModelMessage] = [summary, said("Count on.")]
    agent = Agent(strict.model("openai-chat"), capabilities=[ContextGovernor()])
    await agent.run(message_history=history)
    (prompt,) = strict.bodies[0]["messages"]
    assert "They count boats." in prompt["content"]
    assert prompt["content"].endswith("Count on.")


async def test_roles_alternate_also_behind_results_once_a_server_has_refused(strict: Strict) -> None:
    strict.check = alternates
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
    assert (result.content, told.content) == (NO_OUTPUT, "<system>\nBe brief.\n</system>")


async def test_the_hooks_of_an_agent_have_the_last_word_wherever_they_stand(strict: Strict) -> None:
    async def instead(ctx: RunContext[Any], request: ModelRequestContext) -> ModelRequestContext:
        request.messages = [said("Only this.")]
        return request

    hooks = Hooks[Any](before_model_request=instead)
    agent = Agent(strict.model("openai-chat"), capabilities=[hooks, ContextGovernor()])
    result = await agent.run("A number: 4711.")
    assert [message["content"] for message in strict.bodies[0]["messages"]] == ["Only this."]
    assert "4711" in str(result.all_messages())
