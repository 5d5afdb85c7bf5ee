"""Where each kind of message is visible, and the messages of a category."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import (
    CompactionPart,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)

from tests.conversation.logged import answer, opened, result, say
from tui_app.context.compaction.replacement import acknowledging_response
from tui_app.context.history import Proposal
from tui_app.context.policy import PLIMSOLL, Archive, Stages
from tui_app.context.tool_results.stages import StageHost, StageRunner
from tui_app.context.views.rewrites import Change, Rewrite
from tui_app.context.views.view import to_messages
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.message_actions import Share, on_scale
from tui_app.events import (
    AssistantMessage,
    CompactionComplete,
    PolicyChange,
    SystemMessage,
    ToolArchived,
    ToolCall,
    ToolResult,
)
from tui_app.session.event_rows import MessageKind
from tui_app.session.exports.export import export_session
from tui_app.session.stores.sqlite_store import SqliteStore
from tui_app.session.views.user_view import fold_user_view
from tui_app.usage import Breakdown

# Where each kind of message is visible: counted, sent, exported and on the screen.


SYSTEM, HIDDEN, PROMPT, ANSWER = "Be kind to fish.", "the hidden prompt", "look for fish", "there are fish"
OLD, NEW, NOTES, SEEN = "old-herring " * 300, "new-plaice " * 20, "the notes", "I have read them."


@pytest.fixture
async def mixed(history: SessionHistory) -> SessionHistory:
    """A history with every kind of message, including an acknowledged summary and an archived result."""
    system = ModelRequest(parts=[SystemPromptPart(SYSTEM)])
    history.append(SystemMessage(text=SYSTEM, tokens=history.counter.message(system).nonzero()), system)
    say(history, HIDDEN)
    answer(history, "a hidden answer")
    message = ModelRequest(parts=[CompactionPart(NOTES)])
    done = CompactionComplete(job="j", outcome="success", trigger="manual", summary=NOTES, removed=((3, 4),))
    left = frozenset({3, 4})
    history.commit(
        Proposal(complete=done, message=message, left=left, acknowledgement=acknowledging_response(SEEN))
    )
    say(history, PROMPT)
    for name, text in (("c1", OLD), ("c2", NEW)):
        answer(history, ANSWER, call=name)
        history.append(ToolCall(tool_call_id=name, name="ls", args="{}"))
        result(history, name, text)
    policy = replace(PLIMSOLL, stages=Stages(archive=Archive(cutoff=1)))
    around = StageHost()
    await StageRunner(policy=policy, history=history, count=history.counter.text, around=around).make_room()
    return history


@pytest.mark.parametrize(
    ("kind", "words", "agent", "user"),
    [
        ("system", SYSTEM, True, True),
        ("user", PROMPT, True, True),
        ("user", HIDDEN, False, True),
        ("assistant", ANSWER, True, True),
        ("tool_result", NEW.strip(), True, True),
        ("tool_result_archived", OLD.strip(), False, True),
        ("tool_result_archived", "[Result archived", True, False),
        ("tool_summary", "Notes of the program on tool results", True, False),
        ("summary", NOTES, True, False),
        ("acknowledgement", SEEN, True, False),
    ],
)
async def test_who_sees_a_message(
    mixed: SessionHistory, kind: MessageKind, words: str, agent: bool, user: bool
) -> None:
    store, session = mixed.store, mixed.session
    sent = ModelMessagesTypeAdapter.dump_json(to_messages(mixed.items())).decode()
    assert (words in sent) == agent
    assert (words in export_session(store, session, format="pydantic-ai", view="agent")) == agent
    document = export_session(store, session, format="markdown", view="agent")
    assert (words in document.partition("\n")[2]) == agent, "its heading is the first prompt"
    assert (words in export_session(store, session, format="pydantic-ai", view="user")) == user
    ModelMessagesTypeAdapter.validate_json(export_session(store, session, format="pydantic-ai", view="user"))
    assert any(each.kind == kind for each in mixed.view.newest_first())


async def test_what_is_counted_is_what_the_agent_sees(mixed: SessionHistory) -> None:
    messages = [*mixed.view.newest_first()][::-1]
    assert [each.head for each in messages if each.agent] == mixed.view.visible()
    assert [(each.kind, each.agent, each.user) for each in messages] == [
        ("system", True, True),
        ("summary", True, False),
        ("acknowledgement", True, False),
        ("user", False, True),
        ("assistant", False, True),
        ("user", True, True),
        ("assistant", True, True),
        ("tool_result_archived", True, True),
        ("tool_summary", True, False),
        ("assistant", True, True),
        ("tool_result", True, True),
    ]
    counted = sum(sum(each.head.tokens.values()) for each in messages if each.agent)
    assert mixed.usage().total == counted + 300
    assert mixed.usage().messages == sum(each.agent for each in messages)


async def test_the_screen_shows_what_is_for_people(mixed: SessionHistory) -> None:
    """A summary or digest has a row stating what was done, which does not show its text."""
    entries = fold_user_view(mixed.store.heads(mixed.session)).entries
    told = [entry.seq for entry in entries] + [entry.result_seq for entry in entries if entry.result_seq]
    assert {each.head.seq for each in mixed.view.newest_first() if each.user} <= set(told)
    by_hand = next(each.head.seq for each in mixed.view.newest_first() if each.kind == "acknowledgement")
    assert by_hand not in told
    rows = {entry.kind: entry.title for entry in entries}
    assert rows["rewrite"].startswith("1 old result archived")
    assert NOTES not in rows["compaction"]


async def test_taking_an_archive_back_makes_it_a_result_again(mixed: SessionHistory) -> None:
    mixed.restore(mixed.view.rewrites[-1])
    assert {each.kind for each in mixed.view.newest_first()} & {
        "tool_result_archived",
        "tool_summary",
    } == set()


def test_the_agent_view_in_markdown_points_where_the_model_is_shown_a_pointer(
    history: SessionHistory, store: SqliteStore, tmp_path: Path
) -> None:
    say(history, "Write it.")
    args = {"path": "a.py", "content": "print('all of it')\n" * 40}
    message = ModelResponse(parts=[TextPart("Writing."), ToolCallPart("write_file", args, "w1")])
    history.append(AssistantMessage(text="Writing.", call_ids=("w1",), model="a:b"), message)
    history.append(ToolCall(tool_call_id="w1", name="write_file", args=json.dumps(args)))
    done = ModelRequest(parts=[ToolReturnPart("write_file", "ok", "w1")])
    history.append(ToolResult(tool_call_id="w1", name="write_file", text="ok"), done)
    key = history.items()[1].key
    pointed = ToolCallPart("write_file", {**args, "content": "[Not repeated here: in a.py…]"}, "w1")
    change = Change(key=key, message=replace(message, parts=[TextPart("Writing."), pointed]), note="a.py")
    before = export_session(store, history.session, format="markdown", view="agent")
    assert "all of it" in before
    history.rewrite(Rewrite(stage="pointers", changes=(change,)))
    shown = export_session(store, history.session, format="markdown", view="agent")
    assert "[Not repeated here: in a.py…]" in shown
    assert "all of it" not in shown
    assert "Writing." in shown
    assert "all of it" in export_session(store, history.session, format="markdown", view="user")
    again = opened(store, history.session, [], tmp_path)
    again.restore(again.view.rewrites[-1])
    assert export_session(store, history.session, format="markdown", view="agent") == before


async def test_what_was_done_to_the_context_has_rows_in_the_user_view(mixed: SessionHistory) -> None:
    mixed.append(PolicyChange(old="plimsoll", new="reserve"))
    archive = mixed.view.rewrites[-1]
    mixed.restore(archive)
    text = export_session(mixed.store, mixed.session, format="markdown", view="user")
    assert "Policy changed: `plimsoll` → `reserve`" in text
    assert "In the model's context: 1 old result archived" in text
    assert f"Undone: #{archive}" in text
    assert any(isinstance(record.data, ToolArchived) for record, _ in mixed.store.records(mixed.session))


# The messages of a category, on the scale of the figures above them.


SIZES = st.lists(st.integers(1, 5_000), min_size=1, max_size=8)


@given(SIZES, SIZES, st.integers(1, 60_000), st.integers(0, 60_000))
def test_tools_add_up_to_the_token_and_memory_is_on_the_same_scale(
    tools: list[int], files: list[int], whole: int, memory: int
) -> None:
    shares = [Share("tools", f"server {size}", size) for size in tools]
    shares += [Share("memory", f"file {size}", size) for size in files]
    scaled = on_scale(shares, Breakdown(tools=whole, memory=memory))
    assert [share.name for share in scaled] == [share.name for share in shares]
    assert sum(share.tokens for share in scaled if share.category == "tools") == whole
    for size, share in zip(files, scaled[len(tools) :], strict=True):
        assert share.tokens == min(memory, round(size * whole / sum(tools)))
    exact = on_scale(shares, Breakdown(tools=sum(tools), memory=sum(files)))
    assert exact == tuple(shares)


def test_without_tools_there_is_no_scale() -> None:
    shares = (Share("memory", "AGENTS.md", 12),)
    assert on_scale(shares, Breakdown(memory=40)) == shares
    assert on_scale((), Breakdown()) == ()
