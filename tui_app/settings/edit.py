"""Edits of the settings file: one checked value at a time, with everything else unchanged.

Nothing is written that the program would refuse to start with.
"""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tui_app.files import write_atomic
from tui_app.paths import Paths
from tui_app.records import frozen
from tui_app.settings.rules import FileOnly, Group, Refused, Rule, Table, read_text
from tui_app.settings.sources import (
    Origin,
    SettingsError,
    Source,
    WrongFile,
    origin,
    parsed,
    read_file,
    read_sources,
    refusal,
)
from tui_app.settings.sources import unknown as unknown_setting
from tui_app.settings.spec import SETTINGS, Settings
from tui_app.settings.tables import OwnPolicy
from tui_app.settings.values import build_settings


class Unchangeable(ValueError):
    """The text cannot be changed without changing something else as well."""


def edited(text: str, path: tuple[str, ...], value: object) -> str:
    """Change one value in the text of a TOML file; comments, order and spacing of the rest are kept.

    Args:
        text: Valid TOML.
        path: Place of the value, table by table.
        value: The new value; None removes it.

    Raises:
        tomllib.TOMLDecodeError: if the text is not TOML.
        Unchangeable: if the result would not have exactly the intended values.
    """
    expected, value = tomllib.loads(text), _plain(value)
    line_end = "\r\n" if "\r\n" in text and "\n" not in text.replace("\r\n", "") else "\n"
    # Loaded with the first change only: reading settings must cost almost nothing.
    from tomlkit.exceptions import TOMLKitError

    _put(expected, path, value, dict)
    try:
        after = _changed(text.replace(line_end, "\n"), path, value).replace("\n", line_end)
        if _filled(tomllib.loads(after)) == _filled(expected):
            return after
    except (TOMLKitError, tomllib.TOMLDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unchangeable(str(error)) from error
    raise Unchangeable("something else would change")


def _changed(text: str, path: tuple[str, ...], value: object) -> str:
    """Change the value in the section where it is, or belongs."""
    from tomlkit import document, dumps, parse, table

    sections = list(_sections(text if text.endswith("\n") or not text else f"{text}\n"))
    documents = [parse(section.body) for section in sections]
    holding = [at for at, each in enumerate(documents) if _holds(each, path)]
    # If a table is spread over several sections, the first one gets all.
    for at in holding if value is None else holding[1:]:
        is_whole = sections[at].place[: len(path)] == path
        documents[at] = document() if is_whole else documents[at]
        _put(documents[at], path, None, table)
    home, end = next(iter(holding), 0), ""
    if not holding:
        around = (at for at, each in enumerate(sections) if path[: len(each.place)] == each.place)
        home = max(around, key=lambda at: len(sections[at].place))
    if value is not None:
        is_table = len(path) > 1 or isinstance(value, Mapping)
        is_new = is_table and not sections[home].place and path[0] not in documents[home]
        target = document() if is_new else documents[home]
        _put(target, path, value, table)
        end = f"{chr(10) if text else ''}{dumps(target)}" if is_new else ""
    texts = (dumps(each) + section.tail for each, section in zip(documents, sections, strict=True))
    return "".join(texts) + end


class _Section(NamedTuple):
    """A table with its values, or what precedes all tables."""

    place: tuple[str, ...]
    body: str
    tail: str
    """The blank line after its last value and the comments below that, which introduce the next table."""


def _sections(text: str) -> Iterator[_Section]:
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if _is_table(lines, at, line)]
    for start, end in pairwise([0, *heads, len(lines)]):
        last = end
        while last > start and (not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")):
            last -= 1
        while last < end and lines[last].strip():
            last += 1
        place, inside = list[str](), tomllib.loads(lines[start]) if start in heads and end > start else {}
        while isinstance(inside, dict) and inside:
            place += inside
            inside = inside[place[-1]]
        yield _Section(tuple(place), "".join(lines[start:last]), "".join(lines[last:end]))


def _is_table(lines: list[str], at: int, line: str) -> bool:
    """Whether a line opens a table, and is not inside a longer value."""
    if not line.lstrip().startswith("["):
        return False
    try:
        tomllib.loads("".join(lines[:at]))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _plain(value: object) -> object:
    """Convert tuples to lists for TOML, also in tables; checked values may have tuples."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _filled(values: Any) -> Any:
    """Remove empty tables, which mean nothing."""
    if not isinstance(values, dict):
        return values
    inside = {name: _filled(value) for name, value in values.items()}
    return {name: value for name, value in inside.items() if value != {}}


def _holds(container: Any, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(container, Mapping) or name not in container:
            return False
        container = container[name]
    return True


def _put(container: Any, path: tuple[str, ...], value: object, new_table: Any) -> None:
    """Set or remove a value in nested tables, plain ones or ones with their layout."""
    *parents, last = path
    for name in parents:
        if name not in container:
            if value is None:
                return
            container[name] = new_table()
        container = container[name]
    if value is None:
        container.pop(last, None)
    elif last in container and isinstance(value, Mapping) and isinstance(container[last], Mapping):
        # Entry by entry, so that comments on the remaining ones are kept.
        inside = container[last]
        for name in {*inside} - {*value}:
            inside.pop(name)
        for name, item in value.items():
            if name not in inside or inside[name] != item:
                _put(inside, (name,), item, new_table)
    elif last in container and isinstance(value, list) and isinstance(container[last], list):
        _replace_items(container[last], value)
    else:
        container[last] = deepcopy(value)


def _replace_items(items: list[Any], values: Sequence[object]) -> None:
    """Change a list entry by entry, so that comments on the remaining ones are kept."""
    kept = [each for each in items if each in values]
    if list(values[: len(kept)]) != kept:
        # With another order or duplicates nothing can be kept apart.
        kept = []
    for at in reversed(range(len(items))):
        if items[at] not in kept:
            del items[at]
    for value in values[len(kept) :]:
        items.append(deepcopy(value))


class RefusedChange(SettingsError):
    """The key or the value of a change is wrong: without it the settings are valid."""


class StillWrong(WrongFile):
    """The value to be removed is no longer in the file, but something else there is wrong as well."""


@frozen
class SettingsFile:
    """The settings file with the sources that take precedence over it."""

    paths: Paths
    env: Mapping[str, str] = field(repr=False)
    flags: Mapping[str, object] = field(default_factory=dict)
    """Settings given on the command line; None for one that was not."""

    def sources(self, text: str | None = None) -> tuple[Source, ...]:
        """Return all sources of settings; ``text`` replaces the file's content. See ``read_sources``."""
        return read_sources(self.paths, self.env, self.flags, text)

    def settings(self, text: str | None = None) -> Settings:
        """Return the effective settings. Raises ``SettingsError``."""
        return build_settings(self.sources(text), self.paths.config_file)

    def origin(self, key: str) -> Origin:
        """Return the source of the effective value of a dotted key. Raises ``SettingsError``."""
        setting, *inner = locate(self.paths.config_file, key)[0]
        return origin(self.sources(), setting, inner[0] if inner else "")

    def set(self, key: str, text: str) -> Settings:
        """Write a value to the file.

        Args:
            key: A setting, or with dots one of its table: ``theme``, ``keymap.chat.compact``.
            text: The value as in an environment variable; tables are inline tables of TOML.

        Returns:
            The effective settings.

        Raises:
            SettingsError: if key, value or the settings as a whole would be wrong, or the file is not TOML.
            OSError: if the file cannot be written.
        """
        path, rule = locate(self.paths.config_file, key)
        try:
            value = read_text(rule, text)
        except Refused as refused:
            raise RefusedChange(str(refusal(str(self.paths.config_file), key, refused))) from None
        return self._change(key, path, value)

    def unset(self, key: str) -> Settings:
        """Remove a value from the file, so that the default applies; see ``set``.

        Unknown keys can be removed as well, and one of several wrong values.

        Raises:
            StillWrong: if it is removed, and the file is wrong without it too.
        """
        file = self.paths.config_file
        return self._change(key, _place_in(file, key) or locate(file, key)[0], None)

    def put(self, path: tuple[str, ...], value: object) -> Settings:
        """Write one entry of a table that no command may write as text, such as ``("mcp", "files")``.

        Args:
            path: The setting, the entry, and optionally a key of the entry.
            value: As in TOML; None removes it.

        Raises:
            SettingsError: if value or the settings as a whole would be wrong, or the file is not TOML.
            OSError: if the file cannot be written.
        """
        return self._change(".".join(path), path, value)

    def _change(self, key: str, path: tuple[str, ...], value: object) -> Settings:
        file = self.paths.config_file
        before = read_file(file)
        parsed(file, before)
        try:
            after = edited(before, path, value)
        except Unchangeable:
            why = "cannot be changed here without changing something else. Change it by hand."
            raise SettingsError(f"{file}: {key} {why}") from None
        try:
            settings = self.settings(after)
        except SettingsError as error:
            if self._is_in_order(before):
                raise RefusedChange(str(error)) from None
            if value is not None or after == before:
                raise
            write_atomic(file.resolve(), after)
            raise StillWrong(str(error), error.key) from None
        if after != before:
            # A link is kept: some users keep their settings in a repository.
            write_atomic(file.resolve(), after)
        return settings

    def _is_in_order(self, text: str) -> bool:
        """Whether the program would start with this text in the file."""
        try:
            self.settings(text)
        except SettingsError:
            return False
        return True


def _place_in(file: Path, key: str) -> tuple[str, ...]:
    """Return the place of a dotted key in the file, allowed or not; empty if it is not there."""

    def found(table: Mapping[str, object], rest: str) -> tuple[str, ...]:
        if rest in table:
            return (rest,)
        for name, inner in table.items():
            below = rest.removeprefix(f"{name}.")
            if isinstance(inner, Mapping) and below != rest and (path := found(inner, below)):
                return (name, *path)
        return ()

    return found(parsed(file, read_file(file)), key)


def locate(file: Path, key: str) -> tuple[tuple[str, ...], Rule]:
    """Return the place of a dotted key in the file, and its rule; names may contain dots themselves.

    Raises:
        RefusedChange: if there is no such setting, or its table has no such key.
    """
    setting, _, rest = key.partition(".")
    if setting not in SETTINGS:
        raise RefusedChange(str(unknown_setting(str(file), key)))
    rule, path = SETTINGS[setting].rule, tuple[str, ...]((rest,))
    rule = rule.rule if isinstance(rule, FileOnly) and rule.by_command else rule
    if not rest:
        return (setting,), rule
    match rule:
        case Group():
            inner = rule.keys.get(rest)
            allowed = f"{rule.called}s {', '.join(rule.keys)}"
            head, _, name = rest.partition(".")
            if name and isinstance(table := rule.keys.get(head), Table):
                below, inner, allowed = _in_table(table, name)
                path = (head, *below)
        case Table():
            path, inner, allowed = _in_table(rule, rest)
        case _:
            inner, allowed = None, "it has no keys of its own"
    if inner is None:
        raise RefusedChange(str(refusal(str(file), key, Refused("unknown", allowed))))
    return (setting, *path), inner


def _in_table(rule: Table, rest: str) -> tuple[tuple[str, ...], Rule | None, str]:
    values = rule.values.keys if isinstance(rule.values, OwnPolicy) else rule.values
    name, _, last = rest.rpartition(".")
    path: tuple[str, ...] = (rest,)
    inner: Rule | None = rule.values
    if name and isinstance(values, Group) and last in values.keys:
        path, inner = (name, last), values.keys[last]
    try:
        rule.names.check(path[0])
    except Refused as refused:
        return path, None, refused.allowed
    return path, inner, ""
