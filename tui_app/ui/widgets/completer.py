"""What the prompt offers for what is typed, and what a choice puts in its place."""

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from tui_app.ui.commands import SlashCommand, UnknownCommand, complete, is_command, parse
from tui_app.ui.custom_commands import CustomCommand, named
from tui_app.ui.file_finder import FileFinder
from tui_app.ui.mentions import Mention, mention_at, written
from tui_app.ui.safe_text import one_line
from tui_app.ui.widgets.offer_list import Offer, OfferList


class AtCursor(NamedTuple):
    """The prompt as it stands in the editor, chips folded, and where its cursor is."""

    text: str
    line: str
    """The cursor's line."""
    column: int

    @property
    def mention(self) -> Mention | None:
        """The path that is being written."""
        return mention_at(self.line, self.column)

    @property
    def is_command(self) -> bool:
        """Whether it is, or becomes, one of the slash commands."""
        return is_command(self.text) and "\n" not in self.text


@dataclass(frozen=True, slots=True)
class Fill:
    """Text to put between two columns of the cursor's line; without them in place of everything."""

    text: str
    span: tuple[int, int] | None = None
    back: int = 0
    """Signs by which the cursor then stands before the end of the text."""


@dataclass(frozen=True, slots=True)
class Send:
    """The prompt is complete."""

    text: str


class Completer:
    """Lists commands at the start of a prompt and files behind an ``@``.

    Args:
        shown: Where they are listed.
        finder: Looks for files.
    """

    def __init__(self, shown: OfferList, finder: FileFinder) -> None:
        self._shown, self._finder = shown, finder
        self.custom: tuple[CustomCommand, ...] = ()
        """Commands that are not built in."""
        self._commands: list[SlashCommand | CustomCommand] = []
        self._paths: list[str] = []
        self._mention: Mention | None = None
        self._chosen_for: str | None = None
        self._said_about: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is a list or a sentence to close."""
        return self._shown.is_open

    @property
    def is_listing(self) -> bool:
        """Whether there is something to choose from."""
        return bool(self._shown.offers)

    def follow(self, typed: AtCursor) -> None:
        """List what fits a prompt that has just changed."""
        # A change is reported after the Enter that came with it in one write: keep what Enter said.
        if typed.text == self._said_about and self._shown.message:
            return
        mention = None if typed.is_command else typed.mention
        if mention is not None:
            if mention != self._mention or not self.is_listing:
                self._mention = mention
                self._shown.look(partial(self._look, mention))
            return
        self._forget_files()
        self._commands = self._fitting(typed.text.strip()) if typed.is_command else []
        self._shown.show([_command_offer(command) for command in self._commands])

    def leave(self, typed: AtCursor) -> None:
        """Close the list of files once the cursor stands elsewhere."""
        if self._mention is not None and typed.mention != self._mention and not typed.is_command:
            self.close()

    def move(self, step: int, typed: AtCursor) -> None:
        """Mark another row: a visible choice."""
        self._shown.move(step)
        self._chosen_for = typed.text

    def close(self) -> None:
        """Take the list away; the text stays."""
        self._forget_files()
        self._shown.close()

    def choice(self, typed: AtCursor) -> Fill | None:
        """What the marked row would write."""
        if not self.is_listing:
            return None
        if self._mention is None:
            return _command_fill(self._commands[self._shown.marked])
        return self._file(self._mention) if self._mention == typed.mention else None

    def entered(self, typed: AtCursor, draft: str) -> Fill | Send | None:
        """What Enter does: an inexact command or path is completed or named, never sent as something else.

        Args:
            typed: The prompt as it is shown.
            draft: The same with chips expanded.
        """
        if is_command(draft):
            parsed = parse(draft)
            if named(self.custom, draft) is not None:
                return Send(draft)
            if isinstance(parsed, UnknownCommand):
                return self._inexact(parsed, typed)
            if not parsed.refusal:
                return Send(draft)
            self._refuse(parsed.refusal, typed)
            return None
        if self._mention is not None and not self._is_exact:
            return self.choice(typed) or Send(draft)
        return Send(draft)

    @property
    def _is_exact(self) -> bool:
        """Whether the path is written out already that the list has marked."""
        return (
            self._mention is not None
            and self.is_listing
            and self._paths[self._shown.marked] == self._mention.wanted
        )

    def _inexact(self, unknown: UnknownCommand, typed: AtCursor) -> Fill | Send | None:
        found = self._fitting(typed.text.strip())
        if not found:
            self._refuse(unknown.message, typed)
            return None
        marked = self._commands[self._shown.marked] if self.is_listing and self._mention is None else None
        if marked is None or self._chosen_for != typed.text:
            return _command_fill(found[0])
        # Arrow keys are a visible choice of one command, unlike the row that happened to be first.
        return _command_fill(marked) if marked.argument else Send(f"/{marked.name}")

    def _refuse(self, why: str, typed: AtCursor) -> None:
        self._said_about = typed.text
        self._forget_files()
        self._shown.say(why)

    def _fitting(self, prefix: str) -> list[SlashCommand | CustomCommand]:
        """What begins as it is typed: built-in commands, then the others."""
        wanted = prefix.removeprefix("/").lower()
        return [*complete(prefix), *(each for each in self.custom if each.name.startswith(wanted))]

    async def _look(self, mention: Mention) -> None:
        paths = await self._finder.find(mention.wanted)
        if self._mention == mention:
            self._paths = paths
            self._shown.show([Offer(path) for path in paths])

    def _file(self, mention: Mention) -> Fill:
        path = self._paths[self._shown.marked]
        text, span = written(path), (mention.start, mention.end)
        if path.endswith("/"):  # What is in the folder comes next; a quoted path is written on inside.
            return Fill(text, span, back=int(text.endswith('"')))
        return Fill(f"{text} ", span)

    def _forget_files(self) -> None:
        if self._mention is not None:
            self._mention = None
            self._shown.look_no_more()
            self._finder.stop()


def _command_offer(command: SlashCommand | CustomCommand) -> Offer:
    if isinstance(command, CustomCommand):
        return Offer(
            one_line(f"/{command.name} {command.argument}".rstrip(), 40), one_line(command.summary, 60)
        )
    aliases = "".join(f" /{alias}" for alias in command.aliases)
    name = f"/{command.name} {command.argument}".rstrip()
    return Offer(name, command.summary, f"={aliases}" if aliases else "")


def _command_fill(command: SlashCommand | CustomCommand) -> Fill:
    return Fill(f"/{command.name} " if command.argument else f"/{command.name}")
