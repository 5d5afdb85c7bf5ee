"""Imports of the formats that only map names, each from its made-up sample."""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.session.importing import foreign, mapped_samples
from tests.session.importing.foreign import messages_of, strict, zstd
from tests.session.importing.test_discovery import read_only
from tui_app.events import AssistantMessage, CompactionComplete, ToolCall, ToolResult, UserMessage
from tui_app.session.importers.discovery import find_transcripts
from tui_app.session.importers.formats import Imported, ImportFormatError, import_file

Json = dict[str, Any]
FILES = dict(foreign.FILES)
SHOP = "/home/ann/shop"
TABLE = [
    # name, messages, title, model, folder, outcomes, thinking, seconds of the last, what is counted
    ("amp", 4, "The till", "claude-opus-4-6", "", ["success", "denied"], "hm", 1.0, []),
    ("anthropic-api", 5, "Fix the till", "claude-opus-4-6", "", ["success", "error"], "hm", None, []),
    ("ai-sdk", 4, "Fix the till", "gpt-5", "", ["success", "error"], "hm", 2.0, []),
    ("atif", 4, "Fix the till", "glm-5", "", ["success"], "hm", 1.0, []),
    ("chatgpt", 4, "The till", "gpt-5", "", ["success"], "Look\nhm", 7.0, ["abandoned", "further", "notes"]),
    ("claude-ai", 5, "The till", "", "", ["success"], "hm", 4.0, ["abandoned"]),
    ("cline", 6, "Fix the till", "claude-opus-4-6", "", ["denied", "success"], "", None, ["notes"]),
    ("continue", 4, "The till", "qwen3", SHOP, ["success"], "", None, []),
    ("cursor", 4, "Fix the till", "", "", ["success"], "hm", None, ["held notes"]),
    ("factory", 4, "The till", "", SHOP, ["error"], "", 4.0, ["about the chat"]),
    ("gemini-api", 5, "Fix the till", "", "", ["success"], "hm", None, ["notes"]),
    ("goose", 4, "The till", "", SHOP, ["error"], "", 4.0, ["about the chat", "notes"]),
    ("grok", 5, "Fix the till", "grok-4.5", "", ["success"], "hm", None, []),
    ("kimi", 5, "Fix the till", "", "", ["success"], "hm", None, ["about the chat"]),
    ("librechat", 5, "The till", "gpt-5", "", ["success"], "hm", 4.0, ["abandoned"]),
    ("open-webui", 4, "The till", "llama3", "", ["success"], "hm", 3.0, ["abandoned"]),
    ("qwen-code", 4, "The till", "qwen3-coder", SHOP, ["error"], "hm", 5.0, ["abandoned", "about the chat"]),
    ("vibe", 5, "The till", "devstral-2", SHOP, ["success"], "", None, []),
    ("zed", 4, "The till", "claude-opus-4-6", "", ["error"], "hm", None, ["about the chat"]),
]


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_a_sample(tmp_path: Path, row: tuple[Any, ...]) -> None:
    name, count, title, model, cwd, outcomes, thinking, second, counted = row
    path = tmp_path / "file"
    path.write_bytes(FILES[name])
    imported = import_file(path)
    assert (imported.format, messages_of(imported), imported.title) == (name, count, title)
    assert (imported.model, imported.cwd, imported.skipped) == (model, cwd, ())
    data = [event.data for event in imported.events]
    calls = [each.tool_call_id for each in data if isinstance(each, ToolCall)]
    results = [each for each in data if isinstance(each, ToolResult)]
    assert ([each.tool_call_id for each in results], [each.outcome for each in results]) == (calls, outcomes)
    assert all("No result" not in each.text for each in results)
    assert [each.text for each in data if isinstance(each, UserMessage)] == ["Fix the till"]
    answers = [each for each in data if isinstance(each, AssistantMessage)]
    assert answers[-1].text == "Fixed."
    assert "\n\n".join(filter(None, (each.thinking for each in answers))) == thinking
    if second is not None:
        assert imported.events[-1].time == mapped_samples.SECONDS + second
    for words in counted:
        assert any(words in note for note in imported.notes), imported.notes
    assert len(imported.notes) <= len(counted) + 1
    strict(imported)


def sent(imported: Imported) -> str:
    return "\n".join(event.message for event in imported.events if event.message)


@pytest.mark.parametrize("name", ["claude-ai", "continue", "zed"])
def test_a_file_beside_a_prompt_is_read_and_not_said(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(FILES[name])
    assert "print('pier')" in sent(import_file(path))


def test_a_tree_that_is_written_as_one_is_read_like_a_list(tmp_path: Path) -> None:
    document = mapped_samples.librechat()
    first, wrong, answer, last = document.pop("messages")
    tree = [first | {"children": [wrong, answer | {"children": [last]}]}]
    path = tmp_path / "file"
    path.write_bytes(FILES["librechat"])
    listed = import_file(path)
    path.write_text(json.dumps(document | {"messagesTree": tree}))
    assert import_file(path).events == listed.events


def test_what_cursor_prints_while_it_runs(tmp_path: Path) -> None:
    def call(subtype: str, **fields: Any) -> foreign.Json:
        made = {"readToolCall": {"args": {"path": "till.py"}} | fields}
        return {"type": "tool_call", "subtype": subtype, "call_id": "c1", "tool_call": made}

    said = [{"type": "text", "text": "Fix the till"}]
    records = [
        {"type": "system", "subtype": "init", "cwd": SHOP, "model": "gpt-5"},
        {"type": "user", "message": {"role": "user", "content": said}},
        call("started"),
        call("completed", result={"error": {"message": "no such file"}}),
        {
            "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": "Fixed."}]},
        },
        {"type": "result", "subtype": "success", "result": "Fixed."},
    ]
    path = tmp_path / "file"
    path.write_bytes(foreign.jsonl(records))
    imported = import_file(path)
    assert (imported.format, messages_of(imported), imported.cwd, imported.model) == (
        "cursor",
        4,
        SHOP,
        "gpt-5",
    )
    (result,) = [each.data for each in imported.events if isinstance(each.data, ToolResult)]
    assert (result.name, result.outcome, imported.skipped) == ("read", "error", ())


def test_a_result_that_stands_twice_counts_once(tmp_path: Path) -> None:
    document = mapped_samples.continue_()
    told = {"role": "tool", "toolCallId": "c1", "content": "print()"}
    document["history"].insert(2, {"message": told})
    document["history"].insert(3, {"message": told | {"content": "another"}})
    path = tmp_path / "file"
    path.write_text(json.dumps(document))
    imported = import_file(path)
    assert (imported.tool_results, [each.line for each in imported.skipped]) == (1, [4])
    assert "1 duplicate results count once." in imported.notes


def test_a_call_of_cline_is_known_by_the_id_that_its_result_names(tmp_path: Path) -> None:
    messages = json.loads(json.dumps(foreign.DOCUMENTS["cline"]))
    block = {"type": "tool_use", "id": "t9", "call_id": "fc_9", "name": "read_file", "input": {}}
    messages.append({"role": "assistant", "content": [block]})
    messages.append({"role": "user", "content": [mapped_samples.answered("t9", content="print()")]})
    path = tmp_path / "file"
    path.write_text(json.dumps(messages))
    imported = import_file(path)
    result = imported.events[-1].data
    assert isinstance(result, ToolResult)
    assert (imported.format, result.text, imported.skipped) == ("cline", "print()", ())


def test_what_kimi_says_of_an_earlier_context_is_nobodys_prompt(tmp_path: Path) -> None:
    told = "<system>Previous context has been compacted. Here is the output:</system>\nThe till is fixed."
    records = [{"role": "user", "content": told}, *foreign.LINES["kimi"]]
    path = tmp_path / "file"
    path.write_bytes(foreign.jsonl(records))
    data = [event.data for event in import_file(path).events]
    assert [each.text for each in data if isinstance(each, UserMessage)] == ["Fix the till"]
    assert told in [each.text for each in data if isinstance(each, AssistantMessage)]


def test_a_summary_of_goose_stands_for_what_the_model_sees_no_more(tmp_path: Path) -> None:
    def message(role: str, text: str, *, user: bool = True, agent: bool = True) -> Json:
        shown = {"userVisible": user, "agentVisible": agent}
        return {"role": role, "created": 1, "content": [mapped_samples.said(text)], "metadata": shown}

    talk = [
        message("user", "Fix the till", agent=False), message("assistant", "Fixed.", agent=False),
        message("user", "The till is fixed.", user=False), message("assistant", "I go on.", user=False),
        message("user", "And the pier?"), message("assistant", "Open."),
        message("user", "A result in short.", user=False),
    ]  # fmt: skip
    path = tmp_path / "file"
    path.write_text(json.dumps({"working_dir": SHOP, "message_count": 7, "conversation": talk}))
    data = [event.data for event in import_file(path).events]
    assert [each.text for each in data if isinstance(each, UserMessage)] == ["Fix the till", "And the pier?"]
    assert [each.text for each in data if isinstance(each, AssistantMessage)] == ["Fixed.", "Open."]
    (made,) = [each for each in data if isinstance(each, CompactionComplete)]
    assert (made.summary, made.removed) == ("The till is fixed.", ((2, 3),))


def test_a_picture_of_goose_is_taken_over(tmp_path: Path) -> None:
    records = mapped_samples.goose()
    records[1]["content"].append({"type": "image", "data": "QUJD", "mimeType": "image/png"})
    path = tmp_path / "file"
    path.write_bytes(foreign.jsonl(records))
    prompt = next(each.data for each in import_file(path).events if isinstance(each.data, UserMessage))
    assert prompt.attachments == ("image/png",)


def test_tokens_are_those_of_the_file(tmp_path: Path) -> None:
    for name in ("atif", "qwen-code"):
        path = tmp_path / name
        path.write_bytes(FILES[name])
        answers = [each.data for each in import_file(path).events if isinstance(each.data, AssistantMessage)]
        assert (90, 5, 40) in [(a.input_tokens, a.output_tokens, a.cache_read_tokens) for a in answers]


def test_one_conversation_of_several_is_named_behind_the_file(tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(FILES["chatgpt"])
    assert import_file(path).title == "The till"
    assert import_file(path.with_name("conversations.json#old")).title == "Old"
    with pytest.raises(ImportFormatError, match="has no conversation"):
        import_file(path.with_name("conversations.json#nobody"))


def test_vibe_is_told_by_the_file_beside_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_bytes(foreign.jsonl(mapped_samples.vibe_lines()))
    assert import_file(path).format == "openai-chat"
    environment = {"working_directory": SHOP}
    path.with_name("meta.json").write_text(json.dumps({"title": "The till", "environment": environment}))
    imported = import_file(path)
    assert (imported.format, imported.title, imported.cwd) == ("vibe", "The till", SHOP)
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (5, 1, 1)


@pytest.mark.parametrize(
    ("program", "model", "cwd"),
    [("goose", "glm-5", SHOP), ("zed", "claude-opus-4-6", SHOP), ("cursor", "claude-opus-4-6", "")],
)
def test_a_store(tmp_path: Path, program: str, model: str, cwd: str) -> None:
    path = mapped_samples.write_store(tmp_path / "store.db", program)
    before = path.read_bytes()
    imported = import_file(path)
    assert (imported.format, imported.title, imported.model, imported.cwd) == (
        program,
        "The till",
        model,
        cwd,
    )
    assert (messages_of(imported), imported.tool_calls, imported.tool_results) == (4, 1, 1)
    assert imported.skipped == ()
    assert (path.read_bytes(), [each.name for each in tmp_path.iterdir()]) == (before, ["store.db"])


def test_a_session_of_a_store_is_named_behind_it(tmp_path: Path) -> None:
    path = mapped_samples.write_store(tmp_path / "sessions.db", "goose")
    assert import_file(path.with_name("sessions.db#s1")).title == "The till"
    with pytest.raises(ImportFormatError, match="has no conversation"):
        import_file(path.with_name("sessions.db#old"))


def test_a_thread_is_unpacked_and_one_that_cannot_be_says_so(tmp_path: Path) -> None:
    path = mapped_samples.write_store(tmp_path / "threads.db", "zed")
    before = import_file(path)
    with closing(sqlite3.connect(path)) as database, database:
        ((data,),) = database.execute("SELECT data FROM threads WHERE id = 't1'").fetchall()
        packed = zstd(data if isinstance(data, bytes) else data.encode())
        database.execute("UPDATE threads SET data_type = 'zstd', data = ?", (packed,))
    assert [each.data for each in import_file(path).events] == [each.data for each in before.events]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE threads SET data = x'28b52ffd00'")
    with pytest.raises(ImportFormatError, match="is damaged"):
        import_file(path)


def test_a_view_in_a_store_makes_no_rows(tmp_path: Path) -> None:
    path = mapped_samples.write_store(tmp_path / "sessions.db", "goose")
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(
            "ALTER TABLE messages RENAME TO kept;"
            "CREATE VIEW messages AS SELECT a.* FROM kept a, kept b, kept c, kept d, kept e;"
        )
    with pytest.raises(ImportFormatError):
        import_file(path)


def test_a_root_of_cursor_that_lists_one_message_again_and_again_stays_small(tmp_path: Path) -> None:
    path = mapped_samples.write_store(tmp_path / "store.db", "cursor")
    with closing(sqlite3.connect(path)) as database, database:
        root = (b"\x0a\x20" + bytes(32)) * 5_000
        database.execute("UPDATE blobs SET data = ? WHERE id = 'ff'", (root,))
    assert len(import_file(path).events) <= 50


VS_CODE = ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json"
PLACES = [
    ("amp", ".local/share/amp/threads/T-1.json", "The till"),
    ("cline", VS_CODE, "Fix the till"),
    ("continue", ".continue/sessions/a-b.json", "The till"),
    ("cursor", ".cursor/projects/shop/agent-transcripts/a/a.jsonl", "Fix the till"),
    ("factory", ".factory/sessions/shop/a.jsonl", "The till"),
    ("gemini-api", ".gemini/tmp/a/checkpoint-one.json", "Fix the till"),
    ("goose", ".local/share/goose/sessions/1.jsonl", "The till"),
    ("grok", ".grok/sessions/shop/a/chat_history.jsonl", "Fix the till"),
    ("kimi", ".kimi/sessions/shop/a/context.jsonl", "Fix the till"),
    ("qwen-code", ".qwen/projects/shop/chats/a.jsonl", "The till"),
]


@pytest.mark.parametrize(("program", "place", "title"), PLACES)
def test_a_transcript_is_found_where_its_program_keeps_it(
    tmp_path: Path, program: str, place: str, title: str
) -> None:
    path = tmp_path / "home" / place
    path.parent.mkdir(parents=True)
    path.write_bytes(FILES[program])
    (found,) = find_transcripts({}, home=tmp_path / "home", cwd=tmp_path)
    assert (found.program, found.title, found.path) == (program, title, path)
    imported = import_file(found.path)
    assert (imported.format, imported.title, imported.cwd) == (program, title, found.cwd or imported.cwd)


@pytest.mark.parametrize(
    ("program", "place", "moment"),
    [
        ("goose", ".local/share/goose/sessions/sessions.db", mapped_samples.SECONDS),
        ("zed", ".local/share/zed/threads/threads.db", mapped_samples.SECONDS + 9),
        ("cursor", ".cursor/chats/a/b/store.db", mapped_samples.SECONDS),
    ],
)
def test_the_sessions_of_a_store_are_found(tmp_path: Path, program: str, place: str, moment: float) -> None:
    mapped_samples.write_store(tmp_path / place, program)
    found = find_transcripts({}, home=tmp_path, cwd=tmp_path)[0]
    assert (found.program, found.title, found.time) == (program, "The till", moment)
    assert import_file(found.path).title == "The till"


def test_the_conversations_of_exports_in_the_folder_are_listed(tmp_path: Path) -> None:
    for name, program in (("conversations.json", "chatgpt"), ("chat-export-1.json", "open-webui")):
        (tmp_path / name).write_bytes(FILES[program])
    found = find_transcripts({}, home=tmp_path / "home", cwd=tmp_path)
    assert [(each.program, each.title, each.path.name) for each in found] == [
        ("open-webui", "The till", "chat-export-1.json#c1"),
        ("chatgpt", "The till", "conversations.json#new"),
        ("chatgpt", "Old", "conversations.json#old"),
    ]
    assert [import_file(each.path).title for each in found] == ["The till", "The till", "Old"]
    (tmp_path / "conversations.json").write_bytes(FILES["claude-ai"])
    assert find_transcripts({}, home=tmp_path, cwd=tmp_path)[0].program == "claude-ai"


@pytest.mark.parametrize("program", ["goose", "zed", "cursor"])
def test_a_store_is_read_where_nothing_may_be_written(program: str) -> None:
    with TemporaryDirectory() as made:
        Path(made).chmod(0o755)
        path = mapped_samples.write_store(Path(made) / "store" / "store.db", program)
        with read_only(path.parent):
            assert messages_of(import_file(path)) == 4


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cline", "<read_file>"), ("cline", "<task>"), ("cursor", "<user_query>"),
        ("open-webui", '<details type="reasoning" done="true">'),
    ],
)  # fmt: skip
def test_a_text_of_nothing_but_openings_takes_no_time(tmp_path: Path, name: str, text: str) -> None:
    answer = {"role": "assistant", "content": text * 60_000}
    samples = {
        "cline": [{"role": role, "content": [mapped_samples.said(text * 60_000)], "modelInfo": {}}
                  for role in ("user", "assistant")],
        "cursor": [{"role": "user", "message": {"content": text * 60_000}}, {}],
        "open-webui": {"chat": {"history": {}, "messages": [answer]}},
    }  # fmt: skip
    path = tmp_path / "file"
    path.write_text(json.dumps(samples[name]))
    began = time.perf_counter()
    assert import_file(path).format == name
    assert time.perf_counter() - began < 5
