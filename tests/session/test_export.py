"""Exports: JSON that pydantic-ai reads, Markdown that its content cannot break, and masked secrets."""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tui_app.events import (
    PAYLOADS,
    AssistantMessage,
    CompactionComplete,
    CompactionUndone,
    Error,
    Payload,
    Record,
    SessionStart,
    SystemMessage,
    ToolCall,
    ToolResult,
    UsageInfo,
    UserMessage,
)
from tui_app.session.exports.export import FORMATS, export_openai, export_session
from tui_app.session.exports.html import export_html
from tui_app.session.exports.markdown import export_markdown
from tui_app.session.exports.message_json import (
    answered,
    export_jsonl,
    export_pydantic_ai,
    group_tool_returns,
    user_view_messages,
)
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.system.secrets import MASK

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


def test_every_call_is_answered_right_behind_its_response() -> None:
    """Including sessions that were killed during a call, or are still running one."""
    for cut in (2, 3, 4):
        texts = answered([as_json(message) for message in HISTORY[:cut] + HISTORY[4:][: cut - 2]])
        loaded = ModelMessagesTypeAdapter.validate_json(export_pydantic_ai(texts))
        spelled = json.loads(export_openai(texts))
        (answers,) = [each.parts for each in loaded if isinstance(each.parts[0], ToolReturnPart)]
        assert [part.tool_call_id for part in answers if isinstance(part, ToolReturnPart)] == ["c1", "c2"]
        at = next(place for place, each in enumerate(spelled) if "tool_calls" in each)
        assert [each.get("tool_call_id") for each in spelled[at + 1 : at + 3]] == ["c1", "c2"]
        assert all(each["role"] != "tool" for each in spelled[at + 3 :])


def test_a_page_shows_that_a_call_has_no_result(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "sessions.db")) as store:
        session = store.create(SessionStart(cwd="/p", model="a:b", title="T"), time=1.0)
        call = ToolCall(tool_call_id="c1", name="read_file", args='{"path": "a.txt"}')
        response = as_json(ModelResponse([ToolCallPart("read_file", '{"path": "a.txt"}', "c1")]))
        store.append(session, AssistantMessage(text="", call_ids=("c1",)), response, time=2.0)
        store.append(session, call, None, time=2.0)
        for format in FORMATS[:4]:
            text = export_session(store, session, format=format, view="agent")
            assert text.count("had not ended when this was exported") == 1, format


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


def test_a_message_without_parts_stays_as_it_is() -> None:
    messages = [{"kind": "request"}, {"kind": "response", "parts": None}]
    assert group_tool_returns(messages) == messages


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
        values = {
            f.name: samples.get(getattr(f.type, "__name__", ""), "success")
            for f in fields(payload)
            if f.default is f.default_factory  # both MISSING: the field has no default
        }
        if payload is UsageInfo:
            values = {"usage": {"source": "x"}}
        records.append(record(seq, payload(**values)))
    assert "#1 Session began" in export_markdown(records, title="all")


def test_imports_and_exports_do_not_load_pydantic_ai() -> None:
    rooms = ("importers", "importers.formats", "exports.export")
    modules = ", ".join(f"tui_app.session.{room}" for room in rooms)
    code = f"import sys, {modules}; sys.exit('pydantic_ai' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Exports as OpenAI messages, HTML and events: their content, and that nothing escapes or leaks.


def dumped(messages: Sequence[ModelMessage]) -> list[str]:
    return [ModelMessagesTypeAdapter.dump_json([message])[1:-1].decode() for message in messages]


class Page(HTMLParser):
    """A page as a browser parses it: its elements, their attributes, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.words.append(data)


ELEMENTS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "article", "header", "span", "time",
    "div", "p", "pre", "details", "summary", "footer",
}  # fmt: skip
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'&]]><!--</pre></style>\n```\n</details>"


def test_openai_messages() -> None:
    image = BinaryContent(b"\xff\xfe>?", media_type="image/png")
    history: list[ModelMessage] = [
        ModelRequest([SystemPromptPart("Be kind."), UserPromptPart(["Look", image])]),
        ModelResponse([ThinkingPart("hm"), TextPart("Looking"), ToolCallPart("f", {"a": 1}, "c1")]),
        ModelRequest([ToolReturnPart("f", {"b": 2}, "c1")]),
        ModelResponse([TextPart("Done.")]),
    ]
    retry = {"part_kind": "retry-prompt", "tool_name": "f", "tool_call_id": "c2", "content": "again"}
    texts = [*dumped(history), json.dumps({"kind": "request", "parts": [retry]})]
    spelled = json.loads(export_openai(texts))
    roles = ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert [each["role"] for each in spelled] == roles
    assert spelled[1]["content"][1]["image_url"]["url"] == "data:image/png;base64,//4+Pw=="
    assert spelled[2]["reasoning_content"] == "hm"
    assert spelled[2]["tool_calls"][0]["function"] == {"name": "f", "arguments": '{"a": 1}'}
    assert json.loads(spelled[3]["content"]) == {"b": 2}
    assert export_openai([]) == "[]\n"


@pytest.mark.parametrize("kind", ["openai", "jsonl", "html"])
def test_secrets_are_masked_unless_told_otherwise(kind: str) -> None:
    message = dumped([ModelRequest([UserPromptPart(f"my key is {KEY}")])])[0]
    rows = [(record(2, UserMessage(text=f"my key is {KEY}")), message)]

    def written(*, mask: bool) -> str:
        if kind == "openai":
            return export_openai([message], mask=mask)
        if kind == "jsonl":
            return "".join(export_jsonl(rows, mask=mask))
        return export_html([each for each, _ in rows], title=KEY, mask=mask)

    assert KEY not in written(mask=True)
    assert KEY in written(mask=False)


def test_html_holds_everything_and_marks_compactions() -> None:
    done = CompactionComplete(job="j", outcome="success", trigger="manual", summary="They fixed it.",
                              tokens_before=900, tokens_after=90)  # fmt: skip
    records = [
        record(2, SystemMessage(text="Be kind.")),
        record(3, UserMessage(text="Fix it\n```py\nx = 1\n```\nnow", attachments=("image/png",))),
        record(4, AssistantMessage(text="Looking", thinking="hm", model="m", interrupted=True)),
        record(5, ToolCall(tool_call_id="c", name="read", args='{"a": 1}')),
        record(6, ToolResult(tool_call_id="c", name="read", text="line\nline", outcome="error")),
        record(7, done),
    ]
    html = export_html(records, title="The till")
    page = Page(html)
    text = "\n".join(page.words)
    for words in ("Be kind.", "x = 1", "[image/png]", "Looking", "hm", '{"a": 1}', "line\nline",
                  "They fixed it.", "900 → 90 tokens", "Answer of m (interrupted)", "Result of read (error)",
                  "2 lines, 9 characters"):  # fmt: skip
        assert words in text, words
    assert '<article class="compaction"' in html
    assert html.count("<details>") == 5
    assert "```" not in html
    shown = export_html(records, title="", shown={6: "cut"})
    assert "cut" in shown
    assert "line\nline" not in shown


@given(st.text(max_size=200) | st.just(HOSTILE), st.text(max_size=30) | st.just(HOSTILE))
def test_nothing_that_was_said_becomes_part_of_the_page(text: str, name: str) -> None:
    records = [
        record(2, UserMessage(text=text, attachments=(name,))),
        record(3, AssistantMessage(text=f"{name}\n```{text}\n{text}", thinking=text, model=name)),
        record(4, ToolCall(tool_call_id="c", name=name, args=text)),
        record(5, ToolResult(tool_call_id="c", name=name, text=text)),
        record(6, SystemMessage(text=text)),
    ]
    html = export_html(records, title=name)
    page = Page(html)
    assert set(page.tags) <= ELEMENTS
    assert {key for key, _ in page.attributes} <= {
        "lang", "charset", "http-equiv", "content", "name", "class", "id", "datetime",
    }  # fmt: skip
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    html.encode()


def test_html_loads_nothing_and_follows_the_reader() -> None:
    html = export_html([], title="x")
    assert "default-src 'none'; style-src 'sha256-" in html
    assert "unsafe-inline" not in html
    assert "prefers-color-scheme: dark" in html
    assert not re.search(r"(src|href|url\()", html.replace("default-src", "").replace("style-src", ""))
