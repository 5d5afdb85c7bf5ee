"""Counts prompts, calls, results and tokens of a transcript, independently of the importer.

Each format is a few predicates on the objects in a file, wherever they occur. What these cannot count is left
to the importer's own tests: branches, notes in a prompt, order.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Question = Callable[[Json], Any]


@dataclass(frozen=True)
class Counts:
    """The counts of a transcript."""

    prompts: int
    calls: int
    results: int
    output: int
    """Output tokens, as counted by the program."""


@dataclass(frozen=True)
class Counter:
    """Predicates on an object; each returns a number or a truth value."""

    prompt: Question
    call: Question
    result: Question
    output: Question = lambda _: 0

    def count(self, content: bytes) -> Counts:
        found = list(objects(content))
        asked = (self.prompt, self.call, self.result, self.output)
        return Counts(*(sum(int(question(each) or 0) for each in found) for question in asked))


def objects(content: bytes) -> Iterator[Json]:
    """Yield every object in a document or in the lines of a file, outer ones first."""
    try:
        waiting = [json.loads(content)]
    except ValueError:
        waiting = [json.loads(line) for line in content.splitlines()[::-1] if line.strip()]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += list(value.values())[::-1]
        elif isinstance(value, list):
            waiting += value[::-1]


def is_type(*names: str) -> Question:
    return lambda each: each.get("type") in names


def usage(*names: str) -> Question:
    return lambda each: next((each[name] for name in names if isinstance(each.get(name), int)), 0)


def says(role: str, **fields: Any) -> Question:
    """Match messages of a role that contain text, not only results."""

    def asked(each: Json) -> bool:
        content = each.get("content", each.get("parts"))
        blocks = content if isinstance(content, list) else [content]
        words = [block for block in blocks if isinstance(block, str) or is_words(block)]
        return each.get("role") == role and bool(words) and all(each.get(k) == v for k, v in fields.items())

    return asked


def is_words(block: Any) -> bool:
    text = block.get("text") if isinstance(block, dict) else None
    return isinstance(text, str) and not text.startswith(("<", "[read", "The time", "This is"))


def is_function(each: Json) -> bool:
    return isinstance(each.get("function"), dict)


def has_role(name: str) -> Question:
    return lambda each: each.get("role") == name


def codex_output(each: Json) -> int:
    info = each.get("info") if each.get("type") == "token_count" else None
    return int(info["last_token_usage"]["output_tokens"]) if info else 0


COUNTERS: dict[str, Counter] = {
    "codex": Counter(
        lambda each: says("user")(each) and each.get("type") == "message",
        is_type("function_call", "custom_tool_call"),
        is_type("function_call_output", "custom_tool_call_output"),
        codex_output,
    ),
    "claude-code": Counter(says("user"), is_type("tool_use"), is_type("tool_result"), usage("output_tokens")),
    "copilot-cli": Counter(
        lambda each: each.get("type") == "user.message" and "source" not in each["data"],
        lambda each: "toolCallId" in each and "name" in each,
        is_type("tool.execution_complete"),
        usage("outputTokens"),
    ),
    "gemini-stream": Counter(
        says("user", type="message"), is_type("tool_use"), is_type("tool_result"), usage("output_tokens")
    ),
    "opencode": Counter(
        lambda each: (each.get("info") or {}).get("role") == "user",
        is_type("tool"),
        lambda each: each.get("status") in ("completed", "error"),
        lambda each: each["output"] + each["reasoning"] if "reasoning" in each and "output" in each else 0,
    ),
    "openai-chat": Counter(says("user"), is_function, has_role("tool"), usage("completion_tokens")),
    "vibe": Counter(says("user"), is_function, has_role("tool")),
    "kimi": Counter(says("user"), is_function, has_role("tool")),
    "amp": Counter(says("user"), is_type("tool_use"), is_type("tool_result"), usage("outputTokens")),
    "anthropic-api": Counter(
        says("user"), is_type("tool_use"), is_type("tool_result"), usage("output_tokens")
    ),
    "ai-sdk": Counter(
        says("user"),
        lambda each: str(each.get("type")).startswith("tool-"),
        lambda each: str(each.get("state")).startswith("output-"),
        usage("outputTokens"),
    ),
    "copilot-chat": Counter(
        lambda each: "message" in each and "response" in each,
        lambda each: "arguments" in each and "name" in each,
        lambda each: "$mid" in each,
    ),
    "atif": Counter(
        lambda each: each.get("source") == "user",
        lambda each: "function_name" in each,
        lambda each: "source_call_id" in each,
        usage("completion_tokens"),
    ),
    "continue": Counter(
        says("user"), lambda each: "toolCallStates" in each, lambda each: each.get("status") == "done"
    ),
    "cursor": Counter(
        lambda each: each.get("role") == "user", is_type("tool-call"), is_type("tool-result")
    ),
    "factory": Counter(says("user"), is_type("tool_use"), is_type("tool_result")),
    "goose": Counter(says("user"), is_type("toolRequest"), is_type("toolResponse")),
    "grok": Counter(
        is_type("user"), lambda each: "arguments" in each and "name" in each, is_type("tool_result")
    ),
    "gemini-api": Counter(
        says("user"), lambda each: "functionCall" in each, lambda each: "functionResponse" in each
    ),
    "gemini-cli": Counter(
        lambda each: each.get("type") == "user" and each.get("id") != "m9",
        lambda each: "args" in each and each.get("status") == "success",
        lambda each: "functionResponse" in each,
        lambda each: each["tokens"]["output"] + each["tokens"]["thoughts"] if each.get("toolCalls") else 0,
    ),
    "pi": Counter(
        lambda each: each.get("role") == "user" and each["content"] == "Fix the till",
        is_type("toolCall"),
        has_role("toolResult"),
        usage("output"),
    ),
    "langchain": Counter(
        lambda each: "HumanMessage" in (each.get("id") or ()),
        lambda each: each.get("type") == "tool_call",
        lambda each: "ToolMessage" in (each.get("id") or ()),
        usage("output_tokens"),
    ),
    "zed": Counter(
        lambda each: "User" in each,
        lambda each: "ToolUse" in each,
        lambda each: "tool_use_id" in each,
    ),
}  # fmt: skip
"""By format. Formats without a counter keep several branches of one conversation, or are not JSON."""
