"""The tools of a conversation: those that change something, and finding again what was said."""

import re
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import Any

from tui_app.agent.tools.commands import ProcessRunner
from tui_app.agent.tools.history import HistoryHit
from tui_app.agent.tools.toolset import CommandTool, FileTools, Notes, NoteTools
from tui_app.agent.tools.web import WebTool
from tui_app.agent.tools.workspace import Workspace
from tui_app.conversation.approvals import Approvals, command_line_rules
from tui_app.conversation.file_snapshots import FileKeeper
from tui_app.conversation.hooks import without_keys
from tui_app.conversation.open_request import Opening
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import (
    ApprovalDecided,
    AssistantMessage,
    CompactionComplete,
    Payload,
    Record,
    ToolCall,
    ToolOutput,
    ToolResult,
    UserMessage,
)
from tui_app.paths import Paths
from tui_app.session.store import SessionStore
from tui_app.session.word_index import WORD, is_joined
from tui_app.session.workspace import KeptFiles, SessionFolder
from tui_app.settings.tables import rules_of
from tui_app.tool_specs import FILE_LOOKERS, SEARCH_HISTORY

MOST_DECISIONS = 500
"""So many of the newest are shown."""


@dataclass(frozen=True, slots=True)
class Tooling:
    """The tools of one conversation that change something, and who is asked before."""

    approvals: Approvals
    files: FileKeeper
    working: tuple[Callable[..., Any], ...]
    """The tools themselves; none in read-only mode."""
    asking: frozenset[str] = frozenset()
    """Names of the built-in tools that ask for themselves, those that look at files among them."""
    cut_short: MutableMapping[str, str] = field(default_factory=dict)
    """By the id of its call, what a command had printed that was stopped."""

    def decisions(self) -> list[Record]:
        """What was decided about calls in this session, the newest first."""
        store, session = self.files.history.store, self.files.history.session
        newest = islice(store.newest(session, (ApprovalDecided.TYPE,)), MOST_DECISIONS)
        found = (store.record(session, head.seq) for head in newest)
        return [record for record in found if record is not None]


def make_tooling(opening: Opening, history: SessionHistory, folder: SessionFolder) -> Tooling:
    """Make the tools that the settings allow."""
    settings = opening.settings
    approvals = Approvals(
        history.append,
        rules=(*rules_of(settings.approvals), *command_line_rules(opening.allow)),
        read_only=settings.read_only,
        attended=opening.attended,
        yes=opening.yes,
    )
    workspace = Workspace(opening.cwd, closed=own_folders(opening.paths))
    files = FileKeeper(history, KeptFiles(folder.kept_files), workspace)
    if settings.read_only:
        return Tooling(approvals, files, (), FILE_LOOKERS)

    def show(call: str, text: str) -> None:
        history.append(ToolOutput(tool_call_id=call, text=text))

    cut_short: dict[str, str] = {}
    writing = FileTools(workspace, approvals, files)
    named = [endpoint.key_env for endpoint in settings.endpoints.values()]
    command = CommandTool(
        ProcessRunner(opening.cwd, without_keys(opening.env, named)),
        approvals,
        show,
        settings.command_timeout_s,
        cut_short,
    )
    working: list[Callable[..., Any]] = [writing.write_file, writing.edit_file, command.run_command]
    if settings.web_fetch != "off":
        working.append(WebTool(approvals, private=settings.web_fetch == "any").web_fetch)
    asking = frozenset(tool.__name__ for tool in working) | FILE_LOOKERS
    notes = NoteTools(Notes(folder.plan_file, folder.todo_file))
    return Tooling(approvals, files, (*working, notes.todo, notes.plan), asking, cut_short)


def own_folders(paths: Paths) -> tuple[Path, ...]:
    """Folders of the program's own: a tool that wrote there could allow itself anything."""
    return (paths.config, paths.data, paths.state, paths.cache)


# Finding what was said, also long after it left the model's context.

_WORD = re.compile(rf"(?:\w|{WORD.pattern})+")
_MAX_WORDS = 16
_MAX_PAIRS = 48
"""Pairs of letters, of questions in scripts without spaces."""
_BEFORE, _AFTER = 200, 400
"""Characters that belong to one place in a long message."""
_MAX_PLACES = 200
"""Places of one word that are looked at."""


@dataclass(frozen=True, slots=True)
class SessionSearch:
    """Searches the log of one session."""

    store: SessionStore
    session: str

    def search(self, words: str, limit: int = 8) -> Sequence[HistoryHit]:
        """Messages that hold most of the words, the newest first among equals.

        Only the first words of a long question count, and the log's index of words picks the candidates, so
        the length of the conversation hardly matters.
        """
        said = [word.lower() for word in _WORD.findall(words) if len(word) > 1 or is_joined(word)]
        wanted = set(list(dict.fromkeys(said))[:_MAX_WORDS])
        # A whole question is one run there: what it asks for stands somewhere inside of it.
        pairs = (word[at : at + 2] for word in said if is_joined(word) for at in range(len(word) - 1))
        wanted.update(islice(pairs, _MAX_PAIRS))
        scored: list[tuple[int, int, HistoryHit]] = []
        for seq, payload in self.store.matching(self.session, wanted):
            hit = hit_of(seq, payload)
            # What was searched for before repeats what is elsewhere in the log.
            searched = isinstance(payload, ToolCall | ToolResult) and payload.name == SEARCH_HISTORY.name
            if hit is None or searched:
                continue
            text = hit.text.lower()
            score = sum(word in text for word in wanted)
            if score:
                scored.append((score, seq, hit))
        scored.sort(key=lambda row: (-row[0], -row[1]))
        phrase = words.strip().strip('"')
        return [_around(hit, phrase, wanted) for _, _, hit in scored[:limit]]

    def fetch(self, seq: int) -> HistoryHit | None:
        record = self.store.record(self.session, seq)
        hit = hit_of(seq, record.data) if record is not None else None
        if record is None or not isinstance(record.data, AssistantMessage) or not record.data.call_ids:
            return hit
        # Its calls stand behind it, and in the view it is one message with them.
        calls, wanted = [hit.text] if hit is not None else [], set(record.data.call_ids)
        for behind in count(seq + 1):
            record = self.store.record(self.session, behind)
            if record is None or not wanted or isinstance(record.data, AssistantMessage | UserMessage):
                break
            if isinstance(record.data, ToolCall) and record.data.tool_call_id in wanted:
                wanted.discard(record.data.tool_call_id)
                calls.append(record.data.said)
        return HistoryHit(seq, "assistant", "\n\n".join(calls)) if calls else hit


def hit_of(seq: int, payload: Payload) -> HistoryHit | None:
    """What a message says and who said it; None for events that say nothing."""
    match payload:
        case UserMessage(text=text):
            return HistoryHit(seq, "user", text)
        case AssistantMessage(text=text) if text:
            return HistoryHit(seq, "assistant", text)
        case ToolCall(name=name):
            return HistoryHit(seq, name or "tool", payload.said)
        case ToolResult(text=text, name=name):
            return HistoryHit(seq, name or "tool", text)
        case CompactionComplete(summary=text) if text:
            return HistoryHit(seq, "summary", text)
        case _:
            return None


def _around(hit: HistoryHit, phrase: str, words: set[str]) -> HistoryHit:
    """The stretch of a long message that fits the words best, with the number of its line."""
    place = _best_place(_lower(hit.text), _lower(phrase), words)
    start = max(0, place - _BEFORE)
    if start == 0:
        return hit
    line = hit.text.count("\n", 0, place) + 1
    lines = hit.text.rstrip("\n").count("\n") + 1
    return HistoryHit(hit.seq, hit.role, f"… {hit.text[start:]}", line, lines)


def _best_place(text: str, phrase: str, words: set[str]) -> int:
    """Where the phrase is as it was typed, else where the rarest word has most of the others near it."""
    exact = text.find(phrase)
    if exact >= 0:
        return exact
    counted = [(count, word) for word in words if (count := text.count(word))]
    if not counted:
        return 0
    rarest = re.finditer(re.escape(min(counted)[1]), text)
    places = [match.start() for match in islice(rarest, _MAX_PLACES)]

    def near(place: int) -> int:
        stretch = text[max(0, place - _BEFORE) : place + _AFTER]
        return sum(word in stretch for word in words)

    return max(places, key=near)


def _lower(text: str) -> str:
    """Lower case in which every character keeps its place."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := char.lower()) == 1 else char for char in text)
