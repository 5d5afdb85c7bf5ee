"""Exports: JSON that pydantic-ai reads, Markdown that nothing inside can break, secrets masked."""

import itertools
import json
import re
import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.context.secrets import MASK
from tui_app.events import (
    PAYLOADS,
    AssistantMessage,
    CompactionComplete,
    CompactionUndone,
    Error,
    Payload,
    Record,
    SessionStart,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
)
from tui_app.session.exports.export import (
    export_markdown,
    export_pydantic_ai,
    group_tool_returns,
    user_view_messages,
)

KEY = "sk-" + "ant-api03-" + "Ab3" * 12


def as_json(message: ModelMessage) -> str:
    return ModelMessagesTypeAdapter.dump_json([message])[1:-1].decode()


def record(seq: int, data: Payload) -> Record:
    return Record(seq=seq, time=1_700_000_000.0, session="s", data=data)


HISTORY: list[ModelMessage] = [
    ModelRequest([UserPromptPart("Grüße")]),
    ModelResponse([ToolCallPart("f", {"a": 1}, "c1"), ToolCallPart("f", "{}", "c2")]),
    ModelRequest([ToolReturnPart("f", "one", "c1")], instructions="old"),
    ModelRequest([ToolReturnPart("f", "two", "c2")], instructions="new"),
    ModelRequest([UserPromptPart("next")]),
    ModelResponse([TextPart("done")]),
]


def test_the_export_loads_and_answers_each_response_in_one_request() -> None:
    texts = [as_json(message) for message in HISTORY]
    exported = export_pydantic_ai(texts)
    loaded = ModelMessagesTypeAdapter.validate_json(exported)
    assert [type(message) for message in loaded] == [
        ModelRequest, ModelResponse, ModelRequest, ModelRequest, ModelResponse,
    ]  # fmt: skip
    returns = loaded[2]
    assert isinstance(returns, ModelRequest)
    assert [part.content for part in returns.parts] == ["one", "two"]
    assert returns.instructions == "new"
    assert exported == export_pydantic_ai(texts)
    assert "Grüße" in exported
    assert export_pydantic_ai([]) == "[]\n"


def test_grouping_changes_neither_its_input_nor_a_grouped_history() -> None:
    plain = [json.loads(as_json(message)) for message in HISTORY]
    before = json.dumps(plain)
    grouped = group_tool_returns(plain)
    assert json.dumps(plain) == before
    assert group_tool_returns(grouped) == grouped


@given(st.lists(st.sampled_from(["prompt", "return", "both", "response", "empty"]), max_size=12))
def test_grouping_keeps_every_part_in_order(shapes: list[str]) -> None:
    parts = {
        "prompt": ["user-prompt"],
        "return": ["tool-return"],
        "both": ["tool-return", "user-prompt"],
        "response": ["text"],
        "empty": [],
    }
    messages: list[dict[str, Any]] = [
        {
            "kind": "response" if shape == "response" else "request",
            "parts": [
                {"part_kind": kind, "n": f"{index}.{place}"} for place, kind in enumerate(parts[shape])
            ],
        }
        for index, shape in enumerate(shapes)
    ]
    grouped = group_tool_returns(messages)
    assert [p for m in grouped for p in m["parts"]] == [p for m in messages for p in m["parts"]]
    only = [
        [{p["part_kind"] for p in m["parts"]} == {"tool-return"} for m in pair]
        for pair in itertools.pairwise(grouped)
    ]
    assert [True, True] not in only


def test_the_user_view_holds_all_but_summaries() -> None:
    done = CompactionComplete(job="j", outcome="success", trigger="manual", summary="s")
    rows = [
        (record(1, SessionStart(cwd="/", model="m")), None),
        (record(2, UserMessage(text="a")), "A"),
        (record(3, done), "S"),
        (record(4, AssistantMessage(text="b")), "B"),
    ]
    assert user_view_messages(rows) == ["A", "B"]


def test_secrets_are_masked_in_values_but_ids_and_signatures_stay() -> None:
    signature = "eyJ" + "a" * 20 + ".eyJ" + "b" * 20 + "." + "c" * 20
    history: list[ModelMessage] = [
        ModelRequest([UserPromptPart(f"my key is {KEY}")]),
        ModelResponse([
            ThinkingPart("hm", signature=signature, provider_name="anthropic"),
            ToolCallPart("login", {"password": "tulip", "max_tokens": 5}, KEY),
            ToolCallPart("login", '{"api_key": "tulip-9", "n": 1}', "c2"),
        ]),
    ]  # fmt: skip
    texts = [as_json(message) for message in history]
    masked = export_pydantic_ai(texts)
    assert "tulip" not in masked
    assert masked.count(KEY) == 1
    response = ModelMessagesTypeAdapter.validate_json(masked)[1]
    assert isinstance(response.parts[0], ThinkingPart)
    assert response.parts[0].signature == signature
    assert isinstance(response.parts[1], ToolCallPart)
    assert response.parts[1].args == {"password": MASK, "max_tokens": 5}
    assert isinstance(response.parts[2], ToolCallPart)
    assert response.parts[2].args_as_dict(raise_if_invalid=True) == {"api_key": MASK, "n": 1}
    assert ModelMessagesTypeAdapter.validate_json(export_pydantic_ai(texts, mask=False)) == history


def test_markdown_shows_the_conversation_and_its_compaction() -> None:
    done = CompactionComplete(
        job="j", outcome="success", trigger="manual", summary="They asked.", tokens_before=91_500,
        tokens_after=6_200, messages_before=140, messages_after=9, retention=0.94,
    )  # fmt: skip
    failed = CompactionComplete(job="k", outcome="failed", trigger="manual", reason="The summary was empty.")
    text = export_markdown(
        [
            record(1, SessionStart(cwd="/", model="m", imported_from="claude-code")),
            record(2, UserMessage(text="Fix *it*\n# now", attachments=("image/png",))),
            record(3, AssistantMessage(text="**Sure**", thinking="hm", model="gpt-x", interrupted=True)),
            record(4, ToolCall(tool_call_id="c", name="grep", args='{"q":1}')),
            record(5, ToolResult(tool_call_id="c", name="grep", text="3 hits", outcome="error")),
            record(6, done),
            record(7, failed),
            record(8, CompactionUndone(compaction=6)),
            record(9, UsageInfo(usage={"source": "x", "total": 3})),
            record(10, Error(kind="network", message="No route.")),
        ],
        title="Shop",
    )
    assert text.startswith("# Shop\n")
    assert "> Fix *it*\n> # now\n>\n> [image/png]" in text
    assert "## #3 Answer of `gpt-x` (interrupted)" in text
    assert "**Sure**" in text
    assert '```json\n{"q":1}\n```' in text
    assert "## #5 Result of `grep` (error)" in text
    assert "91,500 → 6,200 tokens · 140 → 9 messages · 94% of the facts kept by weight" in text
    assert "> They asked." in text
    assert "## #7 Compaction failed" in text
    assert "## #8 Compaction #6 undone" in text
    assert "#9" not in text
    assert "Error: No route." in text


@given(st.text(alphabet="`~ab\n ", max_size=60))
def test_a_fence_is_longer_than_any_inside(inside: str) -> None:
    text = export_markdown([record(2, ToolResult(tool_call_id="c", name="f", text=inside))], title="t")
    fences = [line for line in text.split("\n") if re.fullmatch(r"`{3,}", line)]
    outer = max(fences, key=len)
    assert text.rstrip("\n").endswith(outer)
    assert fences.count(outer) == 2


def test_an_answer_cannot_swallow_what_follows() -> None:
    answers = ["```python\nprint(1)", "<!-- open", "~~~~\n```", "  <script>"]
    texts = [
        export_markdown([record(2, AssistantMessage(text=a)), record(3, UserMessage(text="x"))], title="t")
        for a in answers
    ]
    assert "print(1)\n```\n\n## #3 You" in texts[0]
    assert "\\<!-- open" in texts[1]
    assert "~~~~\n```\n~~~~\n\n## #3 You" in texts[2]
    assert "  \\<script>" in texts[3]


def test_no_control_character_reaches_the_document() -> None:
    evil = "a\x1b[31mb\x1b]0;title\x07c\x00d\x07e\x9bf\u202eg\ud800h\r\ni"
    text = export_markdown(
        [
            record(2, UserMessage(text=evil)),
            record(3, AssistantMessage(text=evil, thinking=evil, model=evil)),
            record(4, ToolCall(tool_call_id="c", name=evil, args=evil)),
            record(5, Error(kind="tool", message=evil)),
        ],
        title=evil,
    )
    assert text.startswith("# abcdefgh i\n")
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    text.encode()


def test_markdown_masks_secrets_unless_told_otherwise() -> None:
    records = [record(2, UserMessage(text=f"use {KEY}")), record(3, Error(kind="auth", message=f"bad {KEY}"))]
    assert KEY not in export_markdown(records, title=KEY)
    assert export_markdown(records, title="t", mask=False).count(KEY) == 2


def test_every_event_can_be_exported() -> None:
    samples = {"str": "x", "int": 1, "float": 1.0, "bool": True}
    records = []
    stored = [payload for payload in PAYLOADS if payload.STORED]
    for seq, payload in enumerate(stored, 1):
        needed = {name: f for name, f in payload.__dataclass_fields__.items()}
        values = {
            name: samples.get(getattr(f.type, "__name__", ""), "success")
            for name, f in needed.items()
            if f.default is f.default_factory  # both MISSING: the field has no default
        }
        if payload is UsageInfo:
            values = {"usage": {"source": "x"}}
        records.append(record(seq, payload(**values)))
    assert "#1 Session began" in export_markdown(records, title="all")


def test_imports_and_exports_do_not_load_pydantic_ai() -> None:
    rooms = ("importers", "importers.claude_code", "exports.export")
    modules = ", ".join(f"tui_app.session.{room}" for room in rooms)
    code = f"import sys, {modules}; sys.exit('pydantic_ai' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
