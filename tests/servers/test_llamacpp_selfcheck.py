"""The llama.cpp server with a scripted model: it is the real server, and how it behaves at its limits."""

import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI

from tests.servers.llamacpp import LlamaServer, LlamaServers
from tests.servers.scripted_gguf import Call, Calls, Script, cached_gguf, split_unique, write_gguf

READ_TOOL: Any = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "Read a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "first_line": {"type": "integer"}},
            "required": ["path"],
        },
    },
}
SUMMARY = "## Goal\nTell the sea from the sky.\n## Done\nBoth were looked at."
LONG = " ".join(f"Line {number} of the log says that the ship is on her way." for number in range(120))
SCRIPT: Script = {
    "Summarise the conversation": [SUMMARY],
    "[read]": [Calls((Call("read_file", {"path": "README.md"}),), "I will look."), "It says hello."],
    "[two]": [
        Calls((Call("read_file", {"path": "a.txt"}), Call("read_file", {"path": "b.txt", "first_line": 4}))),
        "Both were read.",
    ],
    "[long]": [LONG],
    "": ["Hello, I am a very small model."],
}


def user(text: str) -> Any:
    return {"role": "user", "content": text}


async def ask(client: AsyncOpenAI, text: str = "Hello?", **more: Any) -> Any:
    return await client.chat.completions.create(model="scripted", messages=[user(text)], **more)


class TestPieces:
    def test_repeated_words_become_different_pieces(self) -> None:
        used: set[str] = set()
        texts = sorted(["a a a a", "a a", "b a a a", "a", "to be or not to be to be", "  x  "], key=len)
        for text in texts:
            pieces = split_unique(text, used)
            assert "".join(pieces) == text
            assert len(set(pieces)) == len(pieces)

    def test_script_without_steps_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="at least one keyword"):
            write_gguf({"": []}, tmp_path / "x.gguf")

    def test_model_file_is_written_once(self, tmp_path: Path) -> None:
        first = cached_gguf({"": ["One."]}, tmp_path)
        before = first.stat().st_mtime_ns
        assert cached_gguf({"": ["One."]}, tmp_path).stat().st_mtime_ns == before
        assert cached_gguf({"": ["Two."]}, tmp_path) != first


@pytest.mark.llamacpp
class TestLlamaCpp:
    @pytest.fixture
    async def llama(self, llamacpp_server: LlamaServers) -> AsyncIterator[AsyncOpenAI]:
        base_url = llamacpp_server(SCRIPT, 2048)
        async with AsyncOpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
            yield client

    async def test_many_turns_with_tool_calls(self, llama: AsyncOpenAI) -> None:
        messages: list[Any] = [{"role": "system", "content": "You are small."}]
        prompt_sizes = []
        for turn in range(5):
            messages.append(user(f"[read] Turn {turn}, please."))
            for expected in ("tool_calls", "stop"):
                answer = await llama.chat.completions.create(
                    model="scripted", messages=messages, tools=[READ_TOOL]
                )
                assert answer.choices[0].finish_reason == expected
                message = answer.choices[0].message
                messages.append(message.model_dump(exclude_none=True))
                prompt_sizes.append(answer.usage.prompt_tokens if answer.usage else 0)
                calls: list[Any] = list(message.tool_calls or [])
                for call in calls:
                    assert json.loads(call.function.arguments) == {"path": "README.md"}
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": "# Hello"})
            assert messages[-1]["content"] == "It says hello."
        assert prompt_sizes == sorted(set(prompt_sizes)), "each request is larger than the one before"

    async def test_two_calls_in_one_streamed_answer(self, llama: AsyncOpenAI) -> None:
        stream = await ask(llama, "[two]", tools=[READ_TOOL], stream=True)
        arguments: dict[int, str] = {}
        async for chunk in stream:
            for piece in [p for choice in chunk.choices for p in choice.delta.tool_calls or []]:
                arguments[piece.index] = arguments.get(piece.index, "") + (piece.function.arguments or "")
        assert [json.loads(text) for text in arguments.values()] == [
            {"path": "a.txt"},
            {"path": "b.txt", "first_line": 4},
        ]

    async def test_long_answer_and_summary_are_word_for_word(self, llama: AsyncOpenAI) -> None:
        long = await ask(llama, "[long]")
        assert long.choices[0].message.content == LONG
        summary = await ask(llama, "Summarise the conversation: someone said [read] in it")
        assert summary.choices[0].message.content == SUMMARY

    async def test_window_is_told_and_kept(self, llama: AsyncOpenAI) -> None:
        listed = (await llama.models.list()).data[0].model_dump()
        assert listed["meta"]["n_ctx"] == 2048
        for stream in (False, True):
            with pytest.raises(openai.BadRequestError) as caught:
                await ask(llama, "x" * 4000, stream=stream)
            body: Any = caught.value.body
            assert body["type"] == "exceed_context_size_error"
            assert body["n_ctx"] == 2048
            assert body["n_prompt_tokens"] > 4000

    async def test_limit_reached_while_answering_is_no_error(self, llama: AsyncOpenAI) -> None:
        answer = await ask(llama, "x" * 2000 + "[long]")
        assert answer.choices[0].finish_reason == "length"
        assert LONG.startswith(answer.choices[0].message.content)

    def test_same_script_and_window_share_a_server(self, llamacpp_server: LlamaServers) -> None:
        assert llamacpp_server(SCRIPT, 2048) == llamacpp_server(dict(SCRIPT), 2048)

    def test_server_is_gone_after_stop(self, tmp_path: Path) -> None:
        server = LlamaServer.start(cached_gguf({"": ["Soon gone."]}, tmp_path), 512)
        server.stop()
        assert server.process.returncode is not None
        with pytest.raises(urllib.error.URLError):
            urllib.request.urlopen(f"{server.address}/health")

    def test_bad_model_file_is_reported_with_the_log(self, tmp_path: Path) -> None:
        bad = tmp_path / "bad.gguf"
        bad.write_bytes(b"this is no model")
        with pytest.raises(RuntimeError, match=r"llama\.cpp did not start"):
            LlamaServer.start(bad, 512)
