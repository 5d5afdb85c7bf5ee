"""Passages: the texts of a session with author, message, and the call they belong to."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    CompactionPart,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)

from tui_app.context.ledger.ledger import prompt_texts, result_text
from tui_app.context.ledger.tools import (
    TASK_TOOLS,
    argument_texts,
    asks_user,
    command_line,
    name_parts,
    target_path,
    task_update,
)
from tui_app.context.message_marks import is_program_part, is_shell_part, shell_command, shell_result
from tui_app.context.user_text import typed_text
from tui_app.context.views.view import Item
from tui_app.events import NOT_IN_LOG
from tui_app.records import frozen
from tui_app.text import words

Voice = Literal["user", "assistant", "call", "result", "program"]
LONGEST = 400_000
"""Characters of one text that are read; a longer text is data."""


@frozen
class Passage:
    """One text."""

    key: int
    voice: Voice
    text: str
    unit: int = 0
    """Log number of the call that it belongs to, or of the message itself."""
    path: str = ""
    """The file that its call is about."""
    report: bool = False
    """Whether it is the report of another agent instead of raw output."""
    tool: str = ""
    """Name of the called tool."""


_AGENTS = words("task agent subagent delegate dispatch explore research")


def passages(items: Iterable[Item]) -> Iterator[Passage]:
    """Yield the texts of messages in order; a call and its result have the same unit."""
    waiting: dict[str, deque[Passage]] = defaultdict(deque)
    for item in items:
        for part in item.message.parts:
            match part:
                case UserPromptPart():
                    yield from _prompt(part, item.key)
                case TextPart():
                    yield Passage(item.key, "assistant", part.content[:LONGEST], item.key)
                case BaseToolCallPart():
                    args = part.args_as_dict()
                    path = "" if command_line(args) else target_path(args)
                    named, texts = name_parts(part.tool_name), argument_texts(args)
                    if named & TASK_TOOLS and (update := task_update(named, args)):
                        texts = (entry.text for entry in update.entries)  # a state is not a name
                    text = "\n".join([part.tool_name, *texts])[:LONGEST]
                    agent = bool(named & _AGENTS)
                    call = Passage(item.key, "call", text, item.key, path, agent, part.tool_name)
                    if (before := waiting[part.tool_call_id]) and before[0].key != item.key:
                        before.clear()  # never answered: the id is another call's now
                    before.append(call)
                    yield call
                case BaseToolReturnPart() | RetryPromptPart():
                    calls = waiting.get(part.tool_call_id)
                    call = calls.popleft() if calls else Passage(item.key, "call", "", item.key)
                    voice: Voice = "user" if asks_user(call.tool) else "result"
                    yield Passage(
                        item.key, voice, result_text(part)[:LONGEST], call.unit, call.path, call.report
                    )
                case CompactionPart(content=str(text)) | SystemPromptPart(content=text):
                    # What an earlier summary invented does not count as said.
                    lines = (line for line in text[:LONGEST].splitlines() if NOT_IN_LOG not in line)
                    yield Passage(item.key, "program", "\n".join(lines), item.key)
                case _:
                    pass


def _prompt(part: UserPromptPart, key: int) -> Iterator[Passage]:
    if is_shell_part(part):
        yield Passage(key, "call", shell_command(part), key)
        yield Passage(key, "result", shell_result(part)[:LONGEST], key)
        return
    given = is_program_part(part)
    for text in prompt_texts(part):
        typed = "" if given else typed_text(text)
        if typed:
            yield Passage(key, "user", typed[:LONGEST], key)
        if len(typed) < len(text):
            yield Passage(key, "program", text[:LONGEST], key)
