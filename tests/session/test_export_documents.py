"""Exports as OpenAI messages, HTML and events: what they hold, and that nothing breaks out or leaks."""

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser

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
    AssistantMessage,
    CompactionComplete,
    Payload,
    Record,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.session.exports.export import export_jsonl, export_openai
from tui_app.session.exports.html import export_html

KEY = "sk-" + "ant-api03-" + "Ab3" * 12


def dumped(messages: Sequence[ModelMessage]) -> list[str]:
    return [ModelMessagesTypeAdapter.dump_json([message])[1:-1].decode() for message in messages]


def record(seq: int, data: Payload) -> Record:
    return Record(seq=seq, time=1_700_000_000.0, session="s", data=data)


class Page(HTMLParser):
    """What a browser would make of a page: its elements, their attributes, its text."""

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
