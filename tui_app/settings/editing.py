"""Changing the settings file: one value at a time, checked first, everything else left as it was written.

Nothing is written that the program would refuse to start with.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui_app.atomic import write_atomic
from tui_app.paths import Paths
from tui_app.settings.approvals import ApprovalTable
from tui_app.settings.policies import OwnPolicy
from tui_app.settings.rules import Group, Refused, Rule, Table
from tui_app.settings.schema import RULES
from tui_app.settings.sources import (
    Origin,
    SettingsError,
    Source,
    WrongFile,
    origin,
    read_file,
    read_sources,
    refusal,
)
from tui_app.settings.sources import unknown as unknown_setting
from tui_app.settings.toml import Unchangeable, edited
from tui_app.settings.values import Settings, build_settings


class RefusedChange(SettingsError):
    """The key or the value of a change is what is wrong: without it the settings are in order."""


class StillWrong(WrongFile):
    """What was to be taken out is no longer in the file; something else there is wrong as well."""


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The settings file with what ranks above it."""

    paths: Paths
    env: Mapping[str, str] = field(repr=False)
    flags: Mapping[str, object] = field(default_factory=dict)
    """Settings given on the command line; None stands for one that was not."""

    def sources(self, text: str | None = None) -> tuple[Source, ...]:
        """All places settings come from; ``text`` stands in for the file's content. See ``read_sources``."""
        return read_sources(self.paths, self.env, self.flags, text)

    def settings(self, text: str | None = None) -> Settings:
        """What is in force. Raises ``SettingsError``."""
        return build_settings(self.sources(text), self.paths.config_file)

    def origin(self, key: str) -> Origin:
        """Where the value in force of a dotted key comes from. Raises ``SettingsError``."""
        setting, *inner = locate(self.paths.config_file, key).path
        return origin(self.sources(), setting, inner[0] if inner else "")

    def set(self, key: str, text: str) -> Settings:
        """Write a value to the file.

        Args:
            key: A setting, or with dots one of its table: ``theme``, ``keymap.chat.compact``.
            text: The value as an environment variable would say it; tables are inline tables of TOML.

        Returns:
            The settings then in force.

        Raises:
            SettingsError: if key, value or the settings as a whole would be wrong, or the file is not TOML.
            OSError: if the file cannot be written.
        """
        spot = locate(self.paths.config_file, key)
        try:
            value = spot.rule.read(text)
        except Refused as refused:
            raise RefusedChange(str(refusal(str(self.paths.config_file), key, refused))) from None
        return self._change(key, spot.path, value)

    def unset(self, key: str) -> Settings:
        """Take a value out of the file, so that the built-in one counts; see ``set``.

        What the file should not hold at all can be taken out as well, and one wrong value beside another.

        Raises:
            StillWrong: if it is taken out, and the file is wrong without it too.
        """
        file = self.paths.config_file
        return self._change(key, _standing(read_file(file), key) or locate(file, key).path, None)

    def _change(self, key: str, path: tuple[str, ...], value: object) -> Settings:
        file = self.paths.config_file
        before = read_file(file)
        after = _edited(file, before, key, path, value)
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
            # A link is kept: some people hold their settings in a repository.
            write_atomic(file.resolve(), after)
        return settings

    def _is_in_order(self, text: str) -> bool:
        """Whether the program would start with this text in the file."""
        try:
            self.settings(text)
        except SettingsError:
            return False
        return True


def _standing(text: str, key: str) -> tuple[str, ...]:
    """Where a dotted key stands in the file, whether it may or not; empty where it does not."""

    def found(table: Mapping[str, object], rest: str) -> tuple[str, ...]:
        if rest in table:
            return (rest,)
        for name, inner in table.items():
            below = rest.removeprefix(f"{name}.")
            if isinstance(inner, Mapping) and below != rest and (path := found(inner, below)):
                return (name, *path)
        return ()

    try:
        return found(tomllib.loads(text), key)
    except tomllib.TOMLDecodeError:
        return ()


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a dotted key stands in the file, and what it may be."""

    path: tuple[str, ...]
    rule: Rule


def locate(file: Path, key: str) -> Spot:
    """Find the place of a dotted key; names of actions, servers and policies may hold dots themselves.

    Raises:
        RefusedChange: if there is no such setting, or its table has no such key.
    """
    setting, _, rest = key.partition(".")
    if setting not in RULES:
        raise RefusedChange(str(unknown_setting(str(file), key, list(RULES))))
    rule, path = RULES[setting], tuple[str, ...]((rest,))
    rule = rule.group if isinstance(rule, ApprovalTable) else rule
    if not rest:
        return Spot((setting,), rule)
    match rule:
        case Group():
            inner = rule.keys.get(rest)
            allowed = f"{rule.called}s {', '.join(rule.keys)}"
        case Table():
            path, inner, allowed = _in_table(rule, rest)
        case _:
            inner, allowed = None, "it has no keys of its own"
    if inner is None:
        raise RefusedChange(str(refusal(str(file), key, Refused("unknown", allowed))))
    return Spot((setting, *path), inner)


def _in_table(rule: Table, rest: str) -> tuple[tuple[str, ...], Rule | None, str]:
    """An entry of a table, or one key of it."""
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


def _edited(file: Path, text: str, key: str, path: tuple[str, ...], value: object) -> str:
    """The file's text with one value changed. Raises ``SettingsError``."""
    try:
        return edited(text, path, value)
    except tomllib.TOMLDecodeError as error:
        raise WrongFile(f"{file}: not valid TOML: {error}.") from None
    except Unchangeable:
        why = "cannot be changed here without changing something else. Change it by hand."
        raise SettingsError(f"{file}: {key} {why}") from None
