"""Settings, or the keys of actions, as a list: what is in force, where it comes from, what is allowed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input

from tui_app.context.policy import Policy
from tui_app.conversation.policies import choose_policy, policy_names
from tui_app.conversation.work import AcceptPlan, ChangeEffort, ChangePolicy
from tui_app.modes import ABOUT, MODES, mode_named
from tui_app.records import frozen
from tui_app.session.stats import is_over
from tui_app.settings import SettingsError
from tui_app.settings.edit import SettingsFile
from tui_app.settings.rules import Effect, Table
from tui_app.settings.spec import EFFORTS, SETTINGS, shown_store
from tui_app.settings.values import Entry, entries, key_entries, table_lines
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import DetailsScreen, EditDialog, Wishes
from tui_app.ui.dialogs.filter import ChoiceDialog, FilterDialog, ThemePicker
from tui_app.ui.keys import place_bindings, place_hints, textual_keymap
from tui_app.ui.text import one_line, padded, tokens, window_text
from tui_app.ui.themes import own_themes
from tui_app.usage import ContextUsage

if TYPE_CHECKING:
    from tui_app.ui.host import Host

_SECTION_CELLS, _KEY_CELLS, _SOURCE_CELLS = 10, 24, 20
_UNITS = {"_s": " s", "_mb": " MB", "retries": " time", "max_steps": " request", "window": " tokens"}
"""What is written behind a number, by the end of its name."""
_ZEROS = {"bell_after_s": "never", "retries": "never", "_mb": "no limit"}
"""What the number 0 means, where it is not none of them."""


@frozen
class Wish:
    """What a user wants of a setting: change it, or have the built-in value back."""

    entry: Entry
    reset: bool = False


def value_text(entry: Entry) -> str:
    """What is in force, with its unit."""
    if entry.is_unset:
        return entry.otherwise or entry.value
    if entry.is_flag:
        return "on" if entry.value == "true" else "off"
    if entry.value in ("0", "0.0") and (zero := _named_by(entry.key, _ZEROS)):
        return zero
    if unit := _named_by(entry.key, _UNITS):
        number = float(entry.value)
        if unit == " tokens":
            return f"{window_text(int(number))}{unit}"
        many = "s" if unit in (" time", " request") and number != 1 else ""
        return f"{number:,g}{unit}{many}" + (" a turn" if unit == " request" else "")
    if entry.key.endswith("_threshold"):
        return f"{round(float(entry.value) * 100)}%"
    return entry.value


def _named_by(key: str, words: Mapping[str, str]) -> str:
    return next((word for end, word in words.items() if key.endswith(end)), "")


def entry_line(entry: Entry, width: int, section: str = "") -> Content:
    """One row: its section at the first of it, name, value, and where a value that is yours comes from."""
    left = padded(section, _SECTION_CELLS) if width >= 60 and entry.section else ""
    key_cells = min(_KEY_CELLS, width // 2)
    changed = entry.origin.kind != "default"
    source = f"  {one_line(entry.source, _SOURCE_CELLS)}" if width >= 60 and changed else ""
    room = max(4, width - len(left) - key_cells - (_SOURCE_CELLS + 2 if source else 0))
    name, value = (
        one_line(entry.key.removeprefix("keymap."), key_cells - 1),
        one_line(value_text(entry), room),
    )
    gap = " " * (room - Content(value).cell_length) if source else ""
    return Content.assemble(
        (left, "bold"),
        (padded(name, key_cells), "$text-muted"),
        (value, "bold $text-accent" if changed else ""),
        gap,
        (source, "$text-muted"),
    )


def entry_note(entry: Entry) -> str:
    """What the marked setting is for, what it may be, and when a change counts."""
    first = one_line(entry.help, 200)
    if entry.origin.is_forced:
        second = f"{entry.origin.name} sets it and overrides the file: change it there."
    else:
        second = f"Takes effect {entry.takes_effect.value}."
    return "\n".join(part for part in (first, f"Allowed: {entry.allowed}", second) if part)


class SettingsScreen(FilterDialog[Entry, None]):
    """Tells what is wanted through ``wanted``; what is shown is given to it."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/settings.tcss"]
    BINDINGS = place_bindings("settings")
    HINTS = place_hints("settings")
    NAME = "settings"
    EMPTY = "No matching setting."
    PLACEHOLDER = "filter by name, value, source or purpose"
    CLASSES_OF_BOX = "dialog -full"

    def __init__(self, title: str, entries: Sequence[Entry], words: str = "") -> None:
        """List settings.

        Args:
            title: First row.
            entries: The settings as they stand.
            words: What to filter by at first.
        """
        super().__init__()
        self._title, self._words = title, words
        self.offer(entries)
        self._marked = ""
        """Key of the marked setting."""
        self._heads: set[str] = set()
        """Keys of the settings that begin a section."""
        self._said = ""
        """What came of the last wish; shown until another setting is marked."""
        self._wishes = Wishes[Wish]()

    async def wanted(self) -> Wish | None:
        """Wait for what the user wants next; None when the screen was closed."""
        return await self._wishes.next()

    def show(self, entries: Sequence[Entry], said: str) -> None:
        """Show the settings anew, the same row marked, and say what has happened."""
        self._said = said
        self.offer(entries)
        if self.is_open:
            self.narrow(self.query_one(Input).value)

    @property
    def title_text(self) -> str:
        return f"{one_line(self._title, 200)}{self.narrowed}"

    def on_mount(self) -> None:
        self.query_one(Input).value = self._words

    def text_of(self, row: Entry) -> str:
        return f"{row.key} {row.value} {row.source} {row.help}"

    def section_of(self, row: Entry) -> str:
        return row.section

    def list_rows(self, rows: Sequence[Entry]) -> None:
        """List settings, each section named at its first row."""
        before = ["", *(row.section for row in rows)]
        self._heads = {row.key for row, section in zip(rows, before, strict=False) if row.section != section}
        super().list_rows(rows)

    def line(self, row: Entry, width: int) -> Content:
        return entry_line(row, width, row.section if row.key in self._heads else "")

    def first(self) -> int:
        keys = [entry.key for entry in self.shown]
        return keys.index(self._marked) if self._marked in keys else 0

    def explain(self, row: Entry) -> None:
        if row.key != self._marked:
            self._marked, self._said = row.key, ""
        self.note(self._said or entry_note(row))

    def use(self, row: Entry) -> None:
        self._wishes.ask(Wish(row))

    def action_reset(self) -> None:
        if (row := self.marked) is not None:
            self._wishes.ask(Wish(row, reset=True))

    def action_close(self) -> None:
        self._wishes.close()
        super().action_close()


# The settings as the running program has them: shown, changed in the file, and put into effect at once.


class SettingsDesk:
    """Changes settings of an application that runs.

    Args:
        app: The application; sessions begun from now on get what is changed here.
    """

    def __init__(self, app: "Host") -> None:
        launch = app.launch
        self._app = app
        self._file = SettingsFile(launch.paths, launch.env, launch.flags)

    @property
    def place(self) -> str:
        return str(self._file.paths.config_file)

    def entries(self) -> list[Entry]:
        """Every setting as it stands now. Raises ``SettingsError``."""
        return entries(self._file.settings(), self._file.sources())

    def entry(self, key: str) -> Entry:
        """One setting as it stands now. Raises ``SettingsError``."""
        return next(entry for entry in self.entries() if entry.key == key)

    def key_entries(self) -> list[Entry]:
        """Every action with its keys. Raises ``SettingsError``."""
        return key_entries(self._file.settings(), self._file.sources())

    def table(self, key: str) -> list[str]:
        """A table in full, as lines. Raises ``SettingsError``."""
        assert key in SETTINGS
        return table_lines(getattr(self._file.settings(), key))

    def change(self, key: str, text: str | None) -> str:
        """Write a value to the file and use it.

        Args:
            key: A setting, or with a dot one of its table.
            text: The value as a user writes it; None goes back to what is built in.

        Returns:
            Why it was not possible, in words; empty when it is done.
        """
        try:
            settings = self._file.unset(key) if text is None else self._file.set(key, text)
        except SettingsError as error:
            # Whoever has just written the value knows where it comes from.
            told = str(error).removeprefix(f"{self.place}, environment or command line: ")
            return told.removeprefix(f"{self.place}: ")
        except OSError as error:
            return f"{self.place} cannot be written: {error.strerror or error}. Nothing was changed."
        app, before = self._app, self._app.launch.settings
        # Sessions of two stores do not belong into one list: another one is for the next start.
        app.launch = replace(app.launch, settings=replace(settings, store=before.store))
        for theme in own_themes(settings.themes):
            app.register_theme(theme)
        if settings.theme != before.theme:
            app.theme = settings.theme
        still = settings.plain or not settings.animations
        app.animation_level = "none" if still else "full"
        app.terminal_title.bell_after_s = settings.bell_after_s
        app.terminal_title.notify = settings.notify
        if settings.review != before.review and app.chat.is_ready:
            app.chat.session.ask_about(settings.review)
        pane = app.chat.pane
        if settings.timeline != before.timeline:
            pane.set_class(settings.timeline, "-timeline")
        pane.prompt.editor.vim_keys = settings.vim_keys
        if settings.keymap != before.keymap:
            app.set_keymap(textual_keymap(settings.keymap))
            pane.use_keymap(settings.keymap)
        return ""


# Showing and changing settings, one after the other, until the user closes the list.

_CANCELLED = "Nothing was changed."


async def show_settings(app: "Host", words: str) -> None:
    """List all settings and change what is asked for.

    Args:
        app: Shows the screens.
        words: What to filter the list by at first.
    """
    desk = SettingsDesk(app)
    try:
        await _list(app, desk, f"Settings · {desk.place}", desk.entries, words)
    except SettingsError as error:
        await _tell_of_file(app, error)


async def choose_theme(app: "Host", session: "ChatSession", name: str) -> None:
    """Let the user pick a theme, or take the one named; it is written to the settings.

    Args:
        app: Shows the picker.
        session: Says what came of it.
        name: A theme; empty opens the picker.
    """
    desk = SettingsDesk(app)
    try:
        entry = desk.entry("theme")
        chosen: str | None = name
        if not chosen:
            chosen = await app.push_screen_wait(ThemePicker(entry.choices, entry.value, app.theme))
        if not chosen:
            return
        if not entry.origin.is_forced:
            session.say(desk.change("theme", chosen) or f"Theme {chosen}, saved for the next start.")
        elif chosen in entry.choices:
            app.theme = chosen
            session.say(f"Theme {chosen} for now: {entry.origin.name} gives another one at the next start.")
        else:
            session.say(f"No theme {chosen}. Allowed: {entry.allowed}")
    except SettingsError as error:
        session.report(str(error))


async def _list(
    app: "Host", desk: SettingsDesk, title: str, entries: Callable[[], list[Entry]], words: str = ""
) -> None:
    screen = SettingsScreen(title, entries(), words)
    app.push_screen(screen)
    while wish := await screen.wanted():
        try:
            said, listed = await _grant(app, desk, wish), entries()
        except SettingsError as error:
            await _tell_of_file(app, error)
            continue
        screen.show(listed, said)
        if not screen.is_current:  # closed meanwhile
            app.chat.session.say(said)


async def _tell_of_file(app: "Host", error: SettingsError) -> None:
    """Show that the file, changed by hand meanwhile, is wrong."""
    await app.push_screen_wait(DetailsScreen("The settings file is wrong", str(error)))


async def _grant(app: "Host", desk: SettingsDesk, wish: Wish) -> str:
    """Change a setting as the user wants, and return what to say about it."""
    entry = wish.entry
    if entry.origin.is_forced and not entry.is_table:
        return f"{entry.key}: {entry.origin.name} sets it and overrides the file. Change it there."
    if wish.reset:
        return desk.change(entry.key, None) or _built_in(desk, entry)
    if entry.is_table:
        await _show_table(app, desk, entry)
        return ""
    if entry.is_flag:
        return _change(desk, entry, "false" if entry.value == "true" else "true")
    if entry.choices:
        dialog = (
            ThemePicker(entry.choices, entry.value, app.theme)
            if entry.key == "theme"
            else ChoiceDialog(entry.key, entry.choices, entry.value)
        )
        chosen = await app.push_screen_wait(dialog)
        return _change(desk, entry, chosen) if chosen else _CANCELLED
    # Ask for a value until it is allowed or the user gives up; an empty one is the built-in value.
    text, refused = "" if entry.is_unset else entry.value, ""
    while True:
        typed = await app.push_screen_wait(EditDialog(entry.key, entry_note(entry), text, refused))
        if typed is None:
            return _CANCELLED
        if entry.key == "store" and typed == entry.value:
            return _CANCELLED  # what is shown lacks the password
        refused = desk.change(entry.key, typed or None)
        if not refused:
            shown = shown_store(typed) if entry.key == "store" else typed
            return _done(desk, entry, f"is {shown}") if typed else _built_in(desk, entry)
        text = typed


def _change(desk: SettingsDesk, entry: Entry, text: str) -> str:
    return desk.change(entry.key, text) or _done(desk, entry, f"is {text}")


async def _show_table(app: "Host", desk: SettingsDesk, entry: Entry) -> None:
    if entry.key == "keymap":
        await _list(app, desk, f"Keys · {desk.place}", desk.key_entries)
        return
    lines = desk.table(entry.key) or ["None yet."]
    named = isinstance(SETTINGS[entry.key].rule, Table)
    how = f"Written in {desk.place}, below [{entry.key}{'.NAME' if named else ''}]."
    if entry.key == "hooks":
        how = f"Written in {desk.place} and nowhere else, below [[hooks.EVENT]]."
    text = "\n".join([entry.help, how, "docs/settings.md has all keys.", "", *lines])
    await app.push_screen_wait(DetailsScreen(entry.key, text))


def _done(desk: SettingsDesk, entry: Entry, what: str) -> str:
    return f"{entry.key} {what}{_when(entry)}. Written to {desk.place}"


def _built_in(desk: SettingsDesk, entry: Entry) -> str:
    return f"{entry.key} has its built-in value{_when(entry)}. Nothing in {desk.place} sets it."


def _when(entry: Entry) -> str:
    return "" if entry.takes_effect is Effect.NOW else f", {entry.takes_effect.value}"


# Choosing the policy, how much the model thinks, and the mode of the session.


async def change_policy(app: "Host", session: ChatSession, name: str) -> None:
    """Go on under the policy of a name, or under one that the user picks; unknown names change nothing."""
    settings, current = session.launch.settings, session.state.policy
    names = policy_names(settings)
    about = {each: policy_outlook(choose_policy(settings, each), session.state.usage) for each in names}
    chosen = name or await app.push_screen_wait(ChoiceDialog("Policy", names, current, about))
    if chosen and chosen not in names:
        session.say(f"No policy {one_line(chosen, 20)}. Choose one of {', '.join(names)}.")
    elif chosen and (name or chosen != current):
        session.submit(ChangePolicy(chosen))


def policy_outlook(policy: Policy, usage: ContextUsage | None) -> str:
    """What a policy does, and when it would compact the conversation at hand."""
    if usage is None or not policy.automatic:
        return f"{policy.about}."
    mark = policy.background_mark(usage.window)
    here = f"compacts from {tokens(mark)} tokens on, now {tokens(usage.total)}"
    if policy.pressure(usage) != "none":
        here = "compacts with the next request"
    elif policy.limit is not None:
        here = "compacts nothing yet"
    return f"{policy.about}.\nHere: {here}."


_EFFORTS = {
    "default": "the model's default",
    "off": "not at all, or as little as the model can",
    "minimal": "barely",
    "low": "little: quick and cheap",
    "medium": "what most work needs",
    "high": "much: for hard problems",
    "xhigh": "more than that, where the model can",
    "max": "as much as the model can",
}


async def change_effort(app: "Host", session: ChatSession, name: str) -> None:
    """Think as much as a level says, or one that the user picks; unknown levels change nothing."""
    current = session.state.effort or session.launch.settings.thinking
    about = {level: f"{what[0].upper()}{what[1:]}." for level, what in _EFFORTS.items()}
    dialog = ChoiceDialog("Effort, from the next request on", EFFORTS, current, about)
    chosen = (name or await app.push_screen_wait(dialog) or "").strip().lower()
    if chosen and chosen not in EFFORTS:
        session.say(f"No effort {one_line(name, 20)}. Choose one of {', '.join(EFFORTS)}.")
    elif chosen and (name or chosen != current):
        session.submit(ChangeEffort(chosen))


async def change_mode(app: "Host", session: ChatSession, name: str) -> None:
    """Go on in the mode of a name, or in one that the user picks."""
    about: dict[str, str] = {each: f"{what}." for each, what in ABOUT.items()}
    chosen = name or await app.push_screen_wait(ChoiceDialog("Mode", MODES, session.state.mode, about))
    if not chosen:
        return
    mode = mode_named(chosen)
    if mode is None:
        session.say(f"No mode {one_line(chosen, 20)}. Choose one of {', '.join(MODES)}.")
    elif mode == session.state.mode:
        session.say(f"The mode is already {mode}.")
    else:
        session.change_mode(mode)


def accept_plan(session: ChatSession, argument: str) -> None:
    """Have the plan carried out, in the mode that is named or was left for planning."""
    state, mode = session.state, mode_named(argument) if argument else session.state.worked
    if mode is None or mode == "plan":
        session.say("/accept takes ask or edit: the mode in which the plan is carried out.")
    elif is_over(session.launch.settings.budget, session.state.costs.usd):
        session.say("The budget of this session is used up: leave plan mode with /mode, then say go.")
    elif state.mode != "plan":
        session.say(f"No plan to accept: this is {state.mode} mode. /mode plan asks the model for one.")
    else:
        session.submit(AcceptPlan(mode))
