"""Questions of MCP servers: everything is visible before the user can answer."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from textual import events

from tui_app.events import Record, ServerAsked
from tui_app.text import plain_text
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.questions import ChoiceDialog, EditDialog, Way
from tui_app.ui.widgets.long_text import wrapped
from tui_app.ui.words.text import clean, one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Chat, Host

DECLINE = "Decline"

_ABOUT = "Esc declines. Never type a password or a key here: a program asks, not Plimsoll."

_MOST_FIELDS, _MOST_CHOICES = 12, 20

_TITLE_CELLS = 60

_WIDTH, _EDGES = 76, 7
"""Maximum width of a dialog, and the rows and columns around its text."""


class Declined(Exception):
    """Raised if the user declines, or with the reason if the question cannot be shown completely."""


class ServerEditDialog(EditDialog):
    """Shows a server's complete question, and ignores keys of a user who is still typing a prompt."""

    ASKED = ".dialog > Static, Input"

    def __init__(self, title: str, about: str, text: str, refused: str = "") -> None:
        super().__init__(title, about, text, refused, verb="answer")
        # A question asked again has been read.
        self._is_read = bool(refused)

    def holds_back(self, event: events.Key | events.Paste) -> bool:
        """Return whether a key or a paste was not meant for the answer."""
        self._is_read = self._is_read or self.stray.is_over
        if self._is_read:
            return super().holds_back(event)
        if isinstance(event, events.Paste):
            self.stray.write(event.text)
            return True
        return self.stray.catch(event)


def follow_servers(chat: "Chat", record: Record) -> None:
    """Ask a server's question; further questions wait for the answer."""
    if isinstance(record.data, ServerAsked):
        chat.app.terminal_title.ask(chat.session.state)
        chat.work(_ask(chat.app, chat.session, record.data), group="questions", exclusive=False)


async def _ask(app: "Host", session: ChatSession, asked: ServerAsked) -> None:
    """Ask the user and pass the answer on; esc at any value declines."""
    values = None
    try:
        async with session.asking:
            values = await _values(app, asked)
    except Declined as declined:
        session.reply(f"Declined what {asked.server} asks{declined}.")
    await session.ask(lambda opened: opened.extras.answer(asked.id, values))


async def _values(app: "Host", asked: ServerAsked) -> dict[str, Any]:
    try:
        schema = json.loads(asked.schema)
        fields = schema.get("properties") or {}
        required = set(schema.get("required") or ())
    except (ValueError, AttributeError, TypeError):
        raise Declined from None
    if not isinstance(fields, dict) or len(fields) > _MOST_FIELDS:
        raise Declined
    head = f"{asked.server} asks: {asked.message}"
    if not fields:
        await _chosen(app, head, "", ["Accept"], "says yes")
    values: dict[str, Any] = {}
    for name, described in fields.items():
        field = described if isinstance(described, dict) else {}
        value = await _value(app, head, str(name), field, needed=name in required)
        if value is not None:
            values[str(name)] = value
    return values


async def _value(app: "Host", head: str, name: str, field: Mapping[str, Any], *, needed: bool) -> Any:
    """Ask for one value; None if it was left out."""
    title = _label(field.get("title") or name)
    about = plain_text(str(field.get("description") or ""))
    is_yes_or_no = field.get("type") == "boolean"
    choices = [True, False] if is_yes_or_no else field.get("enum")
    if isinstance(choices, list) and choices:
        if len(choices) > _MOST_CHOICES:
            raise Declined(f": it has {len(choices)} choices")
        names = ["yes", "no"] if is_yes_or_no else [_label(each) for each in choices]
        return choices[await _chosen(app, f"{head} · {title}", about, names)]
    refused, text = "", str(field.get("default", ""))
    note = "\n".join(filter(None, (_ABOUT, head, about)))
    _check_room(app, note, 3)
    while True:
        typed = await app.push_screen_wait(ServerEditDialog(title, note, text, refused))
        if typed is None:
            raise Declined
        if not typed and not needed:
            return None
        try:
            return read_value(typed, field)
        except ValueError as error:
            refused, text = str(error), typed


def _label(given: object) -> str:
    """Return a server's name that fits in a row. Raises ``Declined``."""
    label = one_line(plain_text(str(given)), 10 * _TITLE_CELLS)
    if len(label) > _TITLE_CELLS:
        raise Declined(": one of its names is too long to be shown")
    return label


async def _chosen(app: "Host", head: str, about: str, names: Sequence[str], what: str = "") -> int:
    """Return the index of the chosen name."""
    if len({*names, DECLINE}) <= len(names):
        # The answer must not be ambiguous: equal names are numbered.
        names = [f"{at}. {name}" for at, name in enumerate(names, 1)]
    ways = [*(Way(name, what, at) for at, name in enumerate(names)), Way(DECLINE, "says no")]
    note = "\n".join(filter(None, (about, _ABOUT)))
    _check_room(app, f"{head}\n{note}", len(ways))
    if (at := await app.push_screen_wait(ChoiceDialog(head, ways, clean(note)))) is None:
        raise Declined
    return int(at)


def _check_room(app: "Host", text: str, rows: int) -> None:
    """Check that a dialog can show all of a text and a number of rows. Raises ``Declined``."""
    lines = wrapped(clean(text), max(1, min(_WIDTH, app.size.width) - _EDGES)).starts
    if len(lines) + rows + _EDGES > app.size.height:
        raise Declined(": this window is too small to show all of it")


def read_value(typed: str, field: Mapping[str, Any]) -> Any:
    """Convert the typed text as the field's schema requires.

    Raises:
        ValueError: If it does not fit; the message is a sentence.
    """
    kind = field.get("type", "string")
    if kind in ("integer", "number"):
        try:
            return int(typed) if kind == "integer" else float(typed)
        except ValueError:
            what = "whole number" if kind == "integer" else "number"
            raise ValueError(f"That is not a {what}.") from None
    if not typed:
        raise ValueError("This field is required.")
    least, most = field.get("minLength"), field.get("maxLength")
    if isinstance(least, int) and len(typed) < least:
        raise ValueError(f"At least {least} characters.")
    if isinstance(most, int) and len(typed) > most:
        raise ValueError(f"At most {most} characters.")
    return typed
