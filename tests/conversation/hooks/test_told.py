"""What a hook is told: the event as its schema says, and no keys, neither in text nor in the environment."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.context.schema_check import problems
from tests.conversation.driving import Desk
from tests.fake_keyring import FakeKeyring
from tui_app.api_keys import ApiKeys
from tui_app.conversation.assembly import open_session
from tui_app.conversation.hooks import RESULT_CHARS, keys_in, stdin_of, without_keys
from tui_app.events import CompactionStart, Record, ToolCall, ToolResult
from tui_app.events.schema import event_schema

KEY = "sk-fake-0123456789"


def record(payload: CompactionStart | ToolCall | ToolResult) -> Record:
    return Record(seq=0, time=1.5, session="abc", data=payload)


def test_the_event_with_hook_and_trigger() -> None:
    start = CompactionStart(job="1-1", trigger="manual", tokens_before=9, messages_before=4, model="a:b")
    told = json.loads(stdin_of("preCompact", "manual", record(start), ()))
    assert (told.pop("hook"), told.pop("trigger")) == ("preCompact", "manual")
    assert told == record(start).to_json()
    assert problems(told, event_schema("session.compaction_start")) == []


def test_a_long_result_is_cut_and_says_so() -> None:
    result = ToolResult(tool_call_id="1", name="grep", text="a" * 400_000)
    told = json.loads(stdin_of("postTool", "grep", record(result), ()))
    assert len(told["data"]["text"]) < RESULT_CHARS + 100
    assert "characters left out" in told["data"]["text"]


@given(st.text(), st.text(st.characters(codec="utf-8"), min_size=8))
def test_whatever_is_said_is_one_line_of_json_without_keys(text: str, key: str) -> None:
    call = ToolCall(tool_call_id="1", name="read_file", args=json.dumps({"path": f"{text}{key}"}))
    told = stdin_of("preTool", "read_file", record(call), (KEY,))
    assert told.count(b"\n") == 1
    assert json.loads(told)["data"]["args"] == call.args
    secret = ToolResult(tool_call_id="1", name="read_file", text=f'{text} {KEY}"\\ {key}')
    masked = json.loads(stdin_of("postTool", "read_file", record(secret), (KEY, '"\\ ' + key)))
    assert KEY not in masked["data"]["text"]
    assert "[secret removed]" in masked["data"]["text"]


def test_an_environment_without_keys() -> None:
    kept = {
        "PATH": "/bin",
        "HOME": "/h",
        "KEYBOARD": "de",
        "SSH_AUTH_SOCK": "/s",
        "TOKENIZERS": "1",
        "EMPTY": "",
    }
    keys = {
        "OPENAI_API_KEY": KEY, "HF_TOKEN": "hf-0123456789", "GOOGLE_API_KEY": "", "MY_SECRET": "hidden-one",
        "AWS_ACCESS_KEY_ID": "AKIA0123456789", "harbour": "named-in-settings", "db_password": "hunter2!",
        "COPY_OF_IT": KEY, "WRAPPED": f"Bearer {KEY}", "OPENAI_KEY_2": "second-0123456789",
        "GH_PAT": "pat-0123",
        "DATABASE_URL": "postgres://pilot:p4ssw0rd-of-it@harbour/ferries",
    }  # fmt: skip
    env = {**kept, **keys}
    assert without_keys(env, ["harbour"]) == kept
    assert keys_in(env, ["harbour", ""]) == {value for value in keys.values() if value}


async def test_a_key_that_a_model_was_made_with_is_known_to_the_hooks(desk: Desk) -> None:
    opening = desk.opening()
    ring = FakeKeyring()
    ApiKeys(opening.env, opening.paths, ring).store("OPENAI_API_KEY", KEY)
    opening = replace(opening, keys=ApiKeys(opening.env, opening.paths, ring))
    opened = open_session(opening)
    try:
        # As a model does that is made with it.
        assert opened.conversation.models.shelf.env["OPENAI_API_KEY"] == KEY
        assert KEY in opened.hooks.keys
    finally:
        await opened.close()
