"""Repeated calls: a call the model has already made, but can no longer see, is answered with a reminder."""

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities import WrapToolExecuteHandler as Handler
from pydantic_ai.messages import BaseToolReturnPart, ToolCallPart, ToolReturnPart

from tui_app.agent.approvals.guards import only_looks
from tui_app.agent.approvals.reach import kinds_of
from tui_app.agent.step_watch import NOT_RUN
from tui_app.agent.tool_failures import rewrite_failure
from tui_app.agent.tools.tasks import BackgroundTasks
from tui_app.context.ledger.ledger import result_text
from tui_app.context.ledger.outcomes import outcome_of
from tui_app.context.ledger.repeats import Knowledge, Past, Repeat, repeat_of
from tui_app.context.ledger.tools import (
    FILE_ARGUMENTS,
    NEW_TEXT_ARGUMENTS,
    OLD_TEXT_ARGUMENTS,
    Command,
    first_text,
    operations,
    target_path,
)
from tui_app.context.shell_line import simple_commands
from tui_app.conversation.consent.questions import ANSWERED, LATER, NO_ANSWER, NOBODY
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.memory.recall import SessionSearch
from tui_app.events import CallRepeated, ModelChange
from tui_app.records import like
from tui_app.session.stores.store import SessionNotFound
from tui_app.settings.spec import RepeatManner

FROM_LOG = "this is its result from the log, call it again to have it done"
_MOST_ENTRIES = 50_000
"""Maximum files and folders examined."""
_MOST_FILE = 4 << 20
"""Bytes of the largest file examined for an earlier edit."""
_CACHES = frozenset({".git", "__pycache__"})
_CACHE_TAG = "CACHEDIR.TAG"
"""File by which programs mark a folder that only caches data."""


@dataclass
class Repeats(AbstractCapability[Any]):
    """Compares each call with the ledger before it runs, if part of the history is out of the model's view.

    That is so after a compaction, in a resumed or handed-over session, and after a model change.
    """

    history: SessionHistory
    folders: Sequence[Path]
    """Where commands run and files are changed."""
    manner: RepeatManner = "tell"
    tasks: BackgroundTasks | None = None
    told: dict[str, str] = field(default_factory=dict)
    """By call id, the reminder for a call that has not ended."""
    _opened: int = 0
    _ancestors: "list[Past] | None" = None

    def __post_init__(self) -> None:
        self._opened = self.history.view.last

    def about(self, call: str) -> str:
        """The earlier call that a call repeats, as text; empty for none."""
        return self.told.get(call, "")

    async def wrap_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, args: dict[str, Any], handler: Handler, **_: Any
    ) -> Any:
        """Run the tool, with the reminder before its result.

        Raises:
            Exception: what the tool raises, with the same reminder.
        """
        found = None if self.manner == "off" else await self._found(call)
        if found is None:
            return await handler(args)
        stored = self._stored(found) if self.manner == "answer" and found.sure and found.exact else ""
        id, tool = call.tool_call_id, call.tool_name
        event = like(CallRepeated, found, tool_call_id=id, tool=tool, source=found.key, answered=bool(stored))
        if stored:
            self.history.report(event)
            return f"[{found.text}; {FROM_LOG}]\n{stored}"
        self.told[id] = found.text
        try:
            result = await handler(args)
        except NOT_RUN:
            raise
        except Exception as error:
            rewrite_failure(error, partial(_with_line, f"[{found.text}]"))
            self.history.report(event)
            raise
        finally:
            del self.told[id]
        self.history.report(replace(event, again=_again(found, call, result)))
        return _with_line(f"[{found.text}]", result)

    async def _found(self, call: ToolCallPart) -> Repeat | None:
        if not (pasts := self._pasts()):
            return None
        running = {task.id for task in self.tasks.running} if self.tasks is not None else ()
        unrun = self._answered()
        known = Knowledge(only_looks=only_looks, kinds=kinds_of, answer=_answer, running=running, unrun=unrun)
        found = repeat_of(call.tool_name, call.args_as_dict(), pasts, known, call.tool_call_id)
        match found:
            case Repeat(kind="command"):
                store, session = self.history.store, found.session or self.history.session
                record = store.record(session, found.key)
                since = record.time if record is not None else 0.0
                line = next(each.line for each in _commands(call))
                unchanged = await asyncio.to_thread(is_unchanged, self.folders, line, since)
                if unchanged is False or (unchanged is None and not found.sure):
                    return None
                return replace(found, text=f"{found.text}; nothing changed since")
            case Repeat(kind="edit"):
                stands = await asyncio.to_thread(is_already_written, self.folders[0], call.args_as_dict())
                return found if stands else None
            case _:
                return found

    def _pasts(self) -> Sequence[Past]:
        """The history to compare with; empty if all of it is in the model's view."""
        if self._ancestors is None:
            earlier = handed_over(self.history)
            self._ancestors = [Past(each.ledger(), session=each.session) for each in earlier]
        history = self.history
        changed = next(iter(history.store.newest(history.session, (ModelChange.TYPE,))), None)
        before = max(self._opened, changed.seq if changed is not None else 0)
        seen = {head.seq for head in history.view.visible() if head.seq > before}
        if not self._ancestors and all(head.seq in seen for head in history.view.held_originals()):
            return ()
        return [Past(history.ledger(), lambda key: key not in seen), *self._ancestors]

    def _answered(self) -> frozenset[str]:
        """Ids of calls that were answered from the log."""
        heads = self.history.store.newest(self.history.session, (CallRepeated.TYPE,))
        return frozenset(id for head in heads if head.state == "answered" for id in head.ids)

    def _stored(self, found: Repeat) -> str:
        """The logged result of the earlier call; empty if there is none."""
        text = self.history.store.message(found.session or self.history.session, found.key)
        message = self.history.message(found.key) if not found.session and text else None
        for part in message.parts if message is not None else ():
            if isinstance(part, BaseToolReturnPart) and part.tool_call_id == found.call:
                return result_text(part)
        return ""


def handed_over(history: SessionHistory) -> Iterator[SessionHistory]:
    """The sessions handed over to this one, the newest first, as far as they still exist."""
    store = history.store
    for session in SessionSearch(store, history.session).ancestors():
        earlier = SessionHistory(store, session, history.archive, history.counter, print, "")
        try:
            earlier.view = store.agent_view(session)
        except SessionNotFound:
            return
        yield earlier


def _commands(call: ToolCallPart) -> Iterator[Command]:
    return (each for each in operations(call.tool_name, call.args_as_dict()) if isinstance(each, Command))


def _answer(result: str) -> str:
    """The user's answer within the result of a question."""
    start = ANSWERED.partition("{")[0]
    return "" if result.endswith((NO_ANSWER, NOBODY, LATER)) else result.partition(start)[2] or result


def _again(found: Repeat, call: ToolCallPart, result: Any) -> str:
    if found.kind != "command" or not isinstance(result, str):
        return ""
    outcome = outcome_of(next(_commands(call)), result, "success").describe()
    return "the same" if outcome == found.told else outcome


def _with_line(line: str, result: Any) -> Any:
    """Put a line before a result. Results without text and denials are unchanged."""
    match result:
        case str():
            return f"{line}\n{result}"
        case ToolReturn(return_value=str(text)):
            return replace(result, return_value=f"{line}\n{text}")
        case ToolReturnPart(content=str(text)):
            return replace(result, content=f"{line}\n{text}")
        case list():
            return [line, *result]
        case _:
            return result


def is_unchanged(folders: Sequence[Path], line: str, since: float) -> bool | None:
    """Whether no file in the folders, or named by the command, is newer than the end of its last run.

    Caches are left out: their content is derived from the rest.

    Returns:
        None if there are too many files to tell.
    """
    named = (word for each in simple_commands(line) for word in (*each.words, *each.reads))
    if any(_is_newer(_whole(folders[0], word), since) for word in named if "/" in word):
        return False
    left = _MOST_ENTRIES
    for folder in folders:
        for place, inner, files in os.walk(folder):
            here = Path(place)
            caches = {name for name in inner if name in _CACHES or (here / name / _CACHE_TAG).exists()}
            # A folder is newer if a name in it was added or removed, possibly only that of a cache.
            if not any(_is_newer(here / name, since) for name in caches) and _is_newer(here, since):
                return False
            left -= len(inner) + len(files)
            if left < 0:
                return None
            inner[:] = [name for name in inner if name not in caches]
            links = (name for name in inner if (here / name).is_symlink())
            if any(_is_newer(here / name, since) for name in (*files, *links)):
                return False
    return True


def _whole(folder: Path, word: str) -> Path:
    try:
        return folder / Path(word).expanduser()
    except RuntimeError:  # no such user
        return folder


def _is_newer(path: Path, since: float) -> bool:
    try:
        found = path.lstat()
    except (OSError, ValueError):
        return False
    return max(found.st_mtime, found.st_ctime) > since


def is_already_written(folder: Path, args: Mapping[str, Any]) -> bool:
    """Whether a file already has the content a call would write into it."""
    path = folder / target_path(args)
    try:
        if path.stat().st_size > _MOST_FILE:
            return False
        text = path.read_text("utf-8")
    except (OSError, ValueError):
        return False
    if whole := first_text(args, FILE_ARGUMENTS):
        return text.strip() == whole
    old, new = first_text(args, OLD_TEXT_ARGUMENTS), first_text(args, NEW_TEXT_ARGUMENTS)
    return new in text and (not old or old in new or old not in text)
