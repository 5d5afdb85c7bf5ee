"""Completion in the prompt: slash commands at its start, and files of the workspace after an ``@``."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from heapq import nsmallest
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui_app.records import frozen
from tui_app.references import Mention, is_writable, mention_at, written
from tui_app.ui.keyboard.type_ahead import Flow
from tui_app.ui.slash import CustomCommand, SlashCommand, UnknownCommand, complete, is_command, named, parse
from tui_app.ui.widgets.hint_row import TellsFailures
from tui_app.ui.words.glyphs import UNICODE
from tui_app.ui.words.text import cut_cells, one_line, padded

MAX_ROWS = 8
_GROUP = "offers"


class Offer(NamedTuple):
    """One row that can be chosen; its texts must be clean."""

    label: str
    summary: str = ""
    aside: str = ""
    """Shown after the summary if it fits."""
    text: str = ""
    """Text that choosing it writes; a trailing space is for an argument."""
    back: int = 0
    """Number of characters between the cursor and the end of the text."""


class OfferList(TellsFailures, Widget):
    """The list above the prompt with a marked row, or a message; the prompt controls it."""

    offers: reactive[tuple[Offer, ...]] = reactive((), layout=True)
    marked: reactive[int] = reactive(0)
    message: reactive[str] = reactive("", layout=True)
    """Shown instead of offers: ``No command /foo. Closest: /compact``."""

    @property
    def is_open(self) -> bool:
        """Whether offers or a message are visible."""
        return bool(self.offers or self.message)

    def offer(self, offers: Sequence[Offer]) -> None:
        """Show offers with the first one marked; an empty list closes it."""
        if tuple(offers) != self.offers:
            self.offers = tuple(offers)
            self.marked = 0
        self.message = ""

    def show_message(self, message: str) -> None:
        """Show a message instead of offers."""
        self.offers = ()
        self.message = message

    def hide(self) -> None:
        self.offers, self.message = (), ""

    def move(self, step: int) -> None:
        """Mark the next or previous offer, cyclically."""
        if self.offers:
            self.marked = (self.marked + step) % len(self.offers)

    def watch_offers(self) -> None:
        self.set_class(self.is_open, "-open")

    watch_message = watch_offers

    def render(self) -> Content:
        """Draw one row per offer: mark, label, summary; the last row shows the range if there are more."""
        if not self.offers:
            return Content.styled(one_line(self.message, max(20, self.size.width)), "$text-warning")
        total, rows = len(self.offers), min(MAX_ROWS, self.size.height or MAX_ROWS)
        room = rows if total <= rows else max(1, rows - 1)
        first = max(0, min(self.marked - room + 1, total - room))
        lines = []
        for index, offer in enumerate(self.offers[first : first + room], start=first):
            marked = index == self.marked
            words = f"{padded(offer.label, 23)} {offer.summary}" if offer.summary else offer.label
            text = f"{UNICODE.prompt if marked else ' '} {words}"
            if offer.aside and cell_len(f"{text}  {offer.aside}") <= self.size.width:
                text = f"{text}  {offer.aside}"
            style = "bold $text-accent" if marked else ""
            lines.append(Content.styled(cut_cells(text, max(1, self.size.width)), style))
        if room < rows:
            where = f"  {first + 1}-{first + room} of {total}   up/down shows the others"
            lines.append(Content.styled(cut_cells(where, max(1, self.size.width)), "$text-muted"))
        return Content("\n").join(lines)

    def get_content_height(self, *_: object) -> int:
        return min(MAX_ROWS, max(1, len(self.offers)))


KEPT_S = 10.0
"""Seconds for which the list of files is cached."""
SCAN_S = 5.0
"""Maximum seconds of a walk; files not seen by then are not offered."""
SHOWN = 50
"""Maximum number of paths offered."""


class FileFinder:
    """Finds files and folders of a workspace, as its tools see them. Belongs to one event loop.

    Args:
        root: The workspace.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.resources: Callable[[], Awaitable[Sequence[str]]] | None = None
        """Lists the resources of MCP servers; None if there are none."""
        self._walk: asyncio.Task[tuple[str, ...]] | None = None
        self._stop = threading.Event()
        self._walked_at = 0.0

    async def find(self, query: str) -> list[str]:
        """Return the matching paths, best first, with a slash after folders."""
        named = tuple(await self.resources()) if self.resources is not None else ()
        return await asyncio.to_thread(rank, (*named, *await self._paths()), query)

    def end_walk(self) -> None:
        if self._walk is not None and not self._walk.done():
            self._stop.set()
            self._walk = None

    async def _paths(self) -> tuple[str, ...]:
        if self._walk is None or (self._walk.done() and monotonic() - self._walked_at > KEPT_S):
            self._stop, self._walked_at = threading.Event(), monotonic()
            self._walk = asyncio.create_task(asyncio.to_thread(scan, self.root, self._stop), name="files")
        # Later searches wait for the same walk.
        return await asyncio.shield(self._walk)


def scan(root: Path, cancelled: threading.Event) -> tuple[str, ...]:
    """Walk a folder; blocks.

    Args:
        root: Where to start. Links are not followed, so nothing outside is seen.
        cancelled: Ends the walk when set.

    Returns:
        Files and folders relative to it, with a slash after folders.
    """
    # Not needed for the first frame.
    from tui_app.agent.tools.commands import Cancelled, Stop
    from tui_app.agent.tools.files import Walk

    root, files = root.resolve(), list[str]()
    try:
        stop = Stop(cancelled, monotonic() + SCAN_S)
        files.extend(path.relative_to(root).as_posix() for path in Walk(root, stop).files())
    except Cancelled:
        return ()
    folders = {f"{folder}/" for path in files for folder in PurePosixPath(path).parents if folder.name}
    return tuple(path for path in (*sorted(folders), *files) if is_writable(path))


def rank(paths: Sequence[str], query: str) -> list[str]:
    """Return the paths that match a text, best first.

    Exact paths come first, then paths and names that start with it, names and paths that contain it, and last
    those that contain its letters in order; ties by depth, then by length.
    """
    low = query.lower().removeprefix("./")
    fitting = ((fit, path) for path in paths if (fit := _fit(path, low)) is not None)
    return [path for _, path in nsmallest(SHOWN, fitting)]


def _fit(path: str, query: str) -> tuple[int, int, int] | None:
    """Return the sort key of a matching path; None for others."""
    low = path.lower().rstrip("/")
    name, bare, rest = low.rpartition("/")[2], query.rstrip("/"), iter(path.lower())
    fits = (
        low == bare and query, path.lower().startswith(query), name.startswith(query), query in name,
        query in path.lower(), all(letter in rest for letter in query),
    )  # fmt: skip
    return next(((place, low.count("/"), len(path)) for place, each in enumerate(fits) if each), None)


class AtCursor(NamedTuple):
    """The prompt as shown, with its chips, and the cursor."""

    text: str
    line: str
    """The cursor's line."""
    column: int

    @property
    def mention(self) -> Mention | None:
        return mention_at(self.line, self.column)

    @property
    def is_command(self) -> bool:
        """Whether the prompt is, or could become, a slash command."""
        return is_command(self.text) and "\n" not in self.text


@frozen
class Fill:
    """Text to insert between two columns of the cursor's line, or without columns to replace everything."""

    text: str
    span: tuple[int, int] | None = None
    back: int = 0
    """Number of characters between the cursor and the end of the text."""


class Completer:
    """Offers commands at the start of a prompt and files after an ``@``.

    Args:
        shown: Shows the offers.
        finder: Finds files.
    """

    def __init__(self, shown: OfferList, finder: FileFinder) -> None:
        self._shown, self.finder = shown, finder
        self.custom: tuple[CustomCommand, ...] = ()
        """Commands that are not built in."""
        self._mention: Mention | None = None
        self._chosen_for: str | None = None
        self._said_about: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a list or a message to close."""
        return self._shown.is_open

    @property
    def is_listing(self) -> bool:
        return bool(self._shown.offers)

    def follow(self, typed: AtCursor) -> None:
        """Update the offers for a changed prompt."""
        # The change event arrives after an enter from the same read, so the message of that enter is kept.
        if typed.text == self._said_about and self._shown.message:
            return
        mention = None if typed.is_command else typed.mention
        if mention is not None:
            if mention != self._mention or not self.is_listing:
                self._mention = mention
                # A function that makes the coroutine: the next letter may cancel the worker before it starts.
                look: Flow = partial(self._look, mention)
                self._shown.run_worker(look, group=_GROUP, exclusive=True)
            return
        self._forget_files()
        self._shown.offer(self._fitting(typed.text) if typed.is_command else [])

    def leave(self, typed: AtCursor) -> None:
        """Close the list of files once the cursor has left the path."""
        if self._mention is not None and typed.mention != self._mention and not typed.is_command:
            self.dismiss()

    def move(self, step: int, typed: AtCursor) -> None:
        """Mark another row, which counts as a choice."""
        self._shown.move(step)
        self._chosen_for = typed.text

    def dismiss(self) -> None:
        """Close the list; the text is unchanged."""
        self._forget_files()
        self._shown.hide()

    def choice(self, typed: AtCursor) -> Fill | None:
        """Return what the marked row would write."""
        mention, offer = self._mention, self._marked
        if offer is None or mention not in (None, typed.mention):
            return None
        return Fill(offer.text, None if mention is None else (mention.start, mention.end), offer.back)

    @property
    def _marked(self) -> Offer | None:
        return self._shown.offers[self._shown.marked] if self.is_listing else None

    def entered(self, typed: AtCursor, draft: str) -> Fill | str | None:
        """Return what enter inserts or sends; an inexact command or path is completed, or explained.

        Args:
            typed: The prompt as shown.
            draft: The same with chips expanded.
        """
        if is_command(draft):
            parsed = parse(draft)
            if named(self.custom, draft) is not None:
                return draft
            if isinstance(parsed, UnknownCommand):
                return self._correct(parsed, typed)
            if not parsed.refusal:
                return draft
            self._refuse(parsed.refusal, typed)
            return None
        is_whole = self._mention is not None and self._marked and self._marked.label == self._mention.wanted
        return draft if self._mention is None or is_whole else self.choice(typed) or draft

    def _correct(self, unknown: UnknownCommand, typed: AtCursor) -> Fill | str | None:
        """Complete an unknown command, or show that there is none."""
        found, marked = self._fitting(typed.text), self._marked
        if not found:
            self._refuse(unknown.message, typed)
            return None
        if marked is None or self._mention is not None or self._chosen_for != typed.text:
            return Fill(found[0].text)
        # Moving with the arrow keys is a visible choice of a command, unlike the row marked by default.
        return Fill(marked.text) if marked.text.endswith(" ") else marked.text

    def _refuse(self, why: str, typed: AtCursor) -> None:
        self._said_about = typed.text
        self._forget_files()
        self._shown.show_message(why)

    def _fitting(self, typed: str) -> list[Offer]:
        """Return the commands that start with a text: built-in ones, then custom ones."""
        prefix = typed.strip()
        custom = (each for each in self.custom if each.name.startswith(prefix.removeprefix("/").lower()))
        return [*map(_command_offer, complete(prefix)), *map(_command_offer, custom)]

    async def _look(self, mention: Mention) -> None:
        paths = await self.finder.find(mention.wanted)
        if self._mention == mention:
            self._shown.offer([_file_offer(path) for path in paths])

    def _forget_files(self) -> None:
        if self._mention is not None:
            self._mention = None
            self._shown.workers.cancel_group(self._shown, _GROUP)
            self.finder.end_walk()


def _file_offer(path: str) -> Offer:
    text = written(path)
    # A folder's content is typed next; in a quoted path that is inside the quotes.
    is_folder = path.endswith("/")
    return Offer(path, text=text if is_folder else f"{text} ", back=is_folder and text.endswith('"'))


def _command_offer(command: SlashCommand | CustomCommand) -> Offer:
    text = f"/{command.name} " if command.argument else f"/{command.name}"
    if isinstance(command, CustomCommand):
        return Offer(one_line(command.synopsis, 40), one_line(command.summary, 60), text=text)
    aliases = "".join(f" /{alias}" for alias in command.aliases)
    return Offer(command.synopsis, command.summary, f"={aliases}" if aliases else "", text)
