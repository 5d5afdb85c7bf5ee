"""Files of a session written anew from its log."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ToolCallPart

from tui_app.context.tool_results.results import file_text, result_text, results_of, sha256_of
from tui_app.context.view import Item
from tui_app.conversation.session_history import SessionHistory
from tui_app.events import CompactionComplete, Record
from tui_app.session.agent_view import STAGES
from tui_app.session.workspace import TOOL_OUTPUTS

_HISTORY = re.compile(r"(\d{3,})-before-compaction\.(?:md|json)")
_CHECKPOINT = re.compile(r"(\d{3,})-.+\.md")
_NEAR = 400
"""Characters behind a file's name in which its checksum stands."""
_DIGEST = re.compile(r"sha256 ([0-9a-f]{8,64})")


@dataclass(frozen=True, slots=True)
class Restoring:
    """Writes what can be made from the log of one session.

    Attributes:
        history: The session, loaded.
    """

    history: SessionHistory

    def write(self, name: str) -> bool:
        """Write a file of that name.

        Args:
            name: As the view or the index has it, without folders.

        Returns:
            Whether the log holds what belongs in it.

        Raises:
            OSError: if the disk refuses.
            sqlite3.Error: if the log cannot be read.
        """
        archive = self.history.archive
        if name == "index.md":
            archive.folder.write_index(archive.standing(self.history.view.compactions))
            return True
        if match := _HISTORY.fullmatch(name):
            return self._history(int(match[1]))
        if match := _CHECKPOINT.fullmatch(name):
            return self._checkpoint(int(match[1]), name)
        return self._tool_output(name)

    def _history(self, number: int) -> bool:
        """The view as it was in front of a compaction."""
        now = self.history
        record = now.store.record(now.session, now.archive.event_of(number))
        # Of a compaction that another program did there never was one.
        if record is None or not isinstance(record.data, CompactionComplete) or not record.data.history_path:
            return False
        then = SessionHistory(
            store=now.store,
            session=now.session,
            archive=now.archive,
            counter=now.counter,
            publish=_nobody,
            model=now.model,
        )
        for head in self.history.store.heads(self.history.session):
            if head.seq >= record.seq:
                break
            then.view.apply(head)
        readable = self.history.archive.write_history(number, then.items())
        for path in (readable, readable.with_suffix(".json")):
            # As old as it was: the oldest go first where room is short.
            os.utime(path, (record.time, record.time))
        return True

    def _checkpoint(self, number: int, name: str) -> bool:
        store, archive = self.history.store, self.history.archive
        record = store.record(self.history.session, archive.event_of(number))
        if record is None or not isinstance(record.data, CompactionComplete):
            return False
        archive.folder.write_checkpoint_file(name, number, record.data.title, record.data.summary)
        return True

    def _tool_output(self, name: str) -> bool:
        store, session = self.history.store, self.history.session
        for head in store.heads(session):
            forms = (store.message(session, head.seq) or "") if head.type in STAGES else ""
            if name not in forms:
                continue
            places = [place for place, form in enumerate(json.loads(forms)) if name in json.dumps(form)]
            if places and places[0] < len(head.changes):
                said = store.message(session, head.changes[places[0]][0]) or "null"
                behind = forms[forms.index(name) :][:_NEAR]
                text = _body(ModelMessagesTypeAdapter.validate_json(f"[{said}]")[0], behind)
                self.history.archive.folder.write_tool_output(f"{TOOL_OUTPUTS}/{name}", text)
                return True
        return False


def _nobody(_record: Record) -> None:
    """Nobody watches what is only read again."""


def _body(message: ModelMessage, behind: str) -> str:
    """What a file held: the text with the checksum that stands beside its name, else the result itself."""
    bodies = list(_texts(message))
    digest = _DIGEST.search(behind)
    fitting = [body for body in bodies if digest and sha256_of(body).startswith(digest[1])]
    return [*fitting, *bodies, ""][0]


def _texts(message: ModelMessage) -> Iterator[str]:
    """Results, and the texts that calls were given."""
    for _, part in results_of(Item(0, message)):
        if (text := result_text(part)) is not None:
            yield file_text(part, text)
    if isinstance(message, ModelResponse):
        for call in message.parts:
            if isinstance(call, ToolCallPart):
                yield from (value for value in call.args_as_dict().values() if isinstance(value, str))
