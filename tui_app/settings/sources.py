"""Sources of settings: file, environment, flags. Each is read and checked separately.

They are kept apart until the end, so that the source of an effective value is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from tui_app.paths import Paths
from tui_app.records import frozen
from tui_app.settings.rules import Choice, FileOnly, Refused, Rule, closest, parse_toml, read_text, show
from tui_app.settings.spec import OLD_NAMES, SETTINGS, STORE, STORE_VARIABLE

ENV_PREFIX = "PLIMSOLL_"
NOT_SETTINGS = frozenset({"PLIMSOLL_HOME", "PLIMSOLL_COMMAND", "PLIMSOLL_TRUST", "PLIMSOLL_FOLDER"})
"""Variables with the prefix that are not settings: places, and how the program was called."""
SWITCHES = {"NO_COLOR": "color", "NO_ANIMATION": "animations"}
"""Conventions shared by many terminal programs; any non-empty value switches the setting off."""
_ANYWHERE = tuple(key for key, each in SETTINGS.items() if not isinstance(each.rule, FileOnly))
"""Settings allowed in the file, the environment and flags."""

Kind = Literal["default", "file", "environment", "flag"]


class SettingsError(Exception):
    """A setting is unknown or wrong. The message names its source, the key, the value and what is allowed.

    Args:
        told: The message.
        key: The key, including that in its table; empty if there is none.
        missing: Whether a required key is missing.
    """

    def __init__(self, message: str = "", key: str = "", *, missing: bool = False) -> None:
        super().__init__(message)
        self.key, self.missing = key, missing


class WrongFile(SettingsError):
    """Something in the settings file is wrong; without a key the file as a whole."""

    others: Sequence["WrongFile"] = ()
    """Errors in other settings of the file."""

    @property
    def next_step(self) -> str:
        """What the user can do, as a sentence."""
        if not self.key:
            return "Fix it in an editor, or move the file away to use the defaults."
        from shlex import quote

        if self.missing:
            table = quote(self.key.rpartition(".")[0])
            return f"Add it there, or remove the whole: plimsoll config unset {table}"
        return f"Change it there, or remove it: plimsoll config unset {quote(self.key)}"


class WrongFlag(SettingsError):
    """The wrong setting was given on the command line."""


@frozen
class Origin:
    """Source of an effective value."""

    kind: Kind = "default"
    name: str = ""
    """The variable or flag with the value; empty for the file and for defaults."""

    @property
    def is_forced(self) -> bool:
        """Whether it takes precedence over the settings file, so that a change there would have no effect."""
        return self.kind in ("environment", "flag")


@frozen
class Source:
    """Settings from one source."""

    kind: Kind
    place: str
    """For messages: the file's path, ``environment`` or ``command line``."""
    values: Mapping[str, Any]
    """Checked values by setting."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The source's names of settings, if different from the setting's own."""

    def refusal(self, key: str, refused: Refused) -> SettingsError:
        """Return the error for a value of this source that is only wrong in combination."""
        error = refusal(self.place, self.names.get(key, key), refused)
        kinds: dict[Kind, type[SettingsError]] = {"flag": WrongFlag, "file": WrongFile}
        return kinds.get(self.kind, SettingsError)(str(error), error.key, missing=error.missing)


def read_sources(
    paths: Paths, env: Mapping[str, str], overrides: Mapping[str, object], file_text: str | None = None
) -> tuple[Source, ...]:
    """Read all sources, in order of increasing precedence.

    Args:
        paths: Where the settings file is; it need not exist.
        env: The environment.
        overrides: Flags by setting; None for a flag that was not given.
        file_text: Content to assume for the file; None reads it.

    Raises:
        SettingsError: if a key or a value is not allowed, or the file cannot be read.
    """
    path = paths.config_file
    text = read_file(path) if file_text is None else file_text
    place, values, names = "command line", dict[str, Any](), dict[str, str]()
    for key, value in overrides.items():
        flag = f"--{key.replace('_', '-')}"
        if key not in _ANYWHERE:
            raise unknown(place, flag, [f"--{known.replace('_', '-')}" for known in _ANYWHERE])
        if value is not None:
            values[key], names[key] = _checked(place, flag, SETTINGS[key].rule, value), flag
    return (from_file(path, text), *_from_env(env), Source("flag", place, values, names))


def read_file(path: Path) -> str:
    """Read the settings file, keeping line ends; empty if there is none.

    Raises:
        SettingsError: if it cannot be read or is not text.
    """
    try:
        return path.read_bytes().decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError:
        raise WrongFile(f"{path}: not valid TOML: the file is not UTF-8 text.") from None
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None


def parsed(path: Path, text: str) -> dict[str, Any]:
    """Parse a settings file's text. Raises ``WrongFile``."""
    try:
        return parse_toml(text)
    except ValueError as error:
        raise WrongFile(f"{path}: not valid TOML: {error}.") from None


def stored_at(paths: Paths, env: Mapping[str, str]) -> str:
    """Return where sessions are stored, even if other settings are wrong; empty for this machine's file.

    Raises:
        SettingsError: if it is not an address, or the settings file cannot be read.
    """
    if given := env.get(STORE_VARIABLE):
        return str(_checked("environment", STORE_VARIABLE, STORE, given))
    path = paths.config_file
    return str(_checked(str(path), "store", STORE, parsed(path, read_file(path)).get("store", "")))


def from_file(path: Path, text: str) -> Source:
    """Check a settings file's text. Raises ``SettingsError``."""
    raw = parsed(path, text)
    values: dict[str, Any] = {}
    wrong: list[WrongFile] = []
    # Old names first: if both are there, the current name wins.
    for key in sorted(raw, key=lambda key: key not in OLD_NAMES):
        try:
            name, value = _entry(str(path), key, raw[key])
        except SettingsError as error:
            wrong.append(WrongFile(str(error), error.key or key, missing=error.missing))
        else:
            values[name] = value
    if wrong:
        wrong[0].others = wrong[1:]
        raise wrong[0]
    return Source("file", str(path), values)


def _entry(place: str, key: str, value: object) -> tuple[str, Any]:
    """Check one line of the file; return the setting's current name and value."""
    if key not in SETTINGS and key not in OLD_NAMES:
        raise unknown(place, key)
    name, rule, meaning = _known(key)
    checked = _checked(place, key, rule, value)
    return name, meaning[checked] if meaning else checked


def _known(key: str) -> tuple[str, Rule, Mapping[object, object]]:
    """Return a setting's current name, its rule, and the meaning of old values; empty if unchanged."""
    return OLD_NAMES.get(key) or (key, SETTINGS[key].rule, {})


def _from_env(env: Mapping[str, str]) -> tuple[Source, Source]:
    """Read the switches, then our own variables, which take precedence."""
    place, values, names = "environment", dict[str, Any](), dict[str, str]()
    ours = {
        name: name.removeprefix(ENV_PREFIX).lower() for name in sorted(env) if name.startswith(ENV_PREFIX)
    }
    # If a setting is there under two names, the current one wins.
    for name in sorted(ours, key=lambda name: ours[name] not in OLD_NAMES):
        if name in NOT_SETTINGS or not env[name]:
            continue
        if ours[name] not in SETTINGS.keys() | OLD_NAMES.keys() or name != name.upper():
            raise unknown(place, name, [f"{ENV_PREFIX}{known.upper()}" for known in _ANYWHERE])
        key, rule, meaning = _known(ours[name])
        value = _checked(place, name, rule, env[name], as_text=True)
        values[key], names[key] = meaning[value] if meaning else value, name
    on = {key: name for name, key in SWITCHES.items() if env.get(name)}
    switches = Source("environment", place, dict.fromkeys(on, False), on)
    return switches, Source("environment", place, values, names)


def merged(sources: Sequence[Source]) -> dict[str, Any]:
    """Merge values, later ones winning; tables are merged entry by entry, so no endpoint hides another."""
    values: dict[str, Any] = {}
    for source in sources:
        for key, value in source.values.items():
            values[key] = {**values.get(key, {}), **value} if isinstance(value, dict) else value
    return values


def giver(sources: Sequence[Source], key: str, inner: str = "") -> Source | None:
    """Return the source of an effective value; None for a default.

    Args:
        sources: From ``read_sources``.
        key: A setting.
        inner: A key of its table; empty for the setting as a whole.
    """
    for source in reversed(sources):
        if key in source.values and (not inner or inner in source.values[key]):
            return source
    return None


def origin(sources: Sequence[Source], key: str, inner: str = "") -> Origin:
    """Return the origin of an effective value; see ``giver``."""
    source = giver(sources, key, inner)
    return Origin(source.kind, source.names.get(key, "")) if source else Origin()


def unknown(source: str, key: str, known: Sequence[str] = tuple(SETTINGS)) -> SettingsError:
    """Return the error for an unknown key, with its current name, or the closest existing one."""
    if key in OLD_NAMES:
        name = OLD_NAMES[key][0]
        rule = SETTINGS[name].rule
        words = f": {', '.join(rule.words)}" if isinstance(rule, Choice) else ""
        return SettingsError(f"{source}: {show(key)} is called {name} now{words}.")
    close = closest(key, known)
    meant = f"Did you mean {close}?" if close else f"Allowed: {', '.join(known)}."
    return SettingsError(f"{source}: unknown setting {show(key)}. {meant}")


def refusal(source: str, key: str, refused: Refused) -> SettingsError:
    where = f"{key}.{refused.inner_key}" if refused.inner_key else key
    return SettingsError(
        f"{source}: {where} is {refused.shown}; allowed: {refused.allowed}.", where, missing=refused.missing
    )


def _checked(source: str, key: str, rule: Rule, value: object, *, as_text: bool = False) -> Any:
    try:
        return read_text(rule, str(value)) if as_text else rule.check(value)
    except Refused as refused:
        raise refusal(source, key, refused) from None
