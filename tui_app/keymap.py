"""Keys that a user gives to actions, and which of them clash."""

import string
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple

from tui_app.chat_keys import ACTION_KEYS

_MODIFIERS = "ctrl|shift|alt|super|hyper|meta"

_SHORT_NAMES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
"""Signs that Textual names otherwise than Unicode."""

_NAMED_KEYS = (
    "enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown",
    "up", "down", "left", "right",
)  # fmt: skip

_WRITING = frozenset({"space", "enter", "tab", "backspace", "delete", "up", "down", "left", "right"})
"""Keys that writing in the prompt needs, besides letters and signs."""

_PROMPT_KEYS = frozenset({"enter", "tab", "up", "down"})
"""Those of them that the prompt itself may use for something else."""

_EMPTY_PROMPT = "prompt.help"
"""Acts on an empty prompt only, so that its key can be typed all the same."""


class Clash(NamedTuple):
    """An action that was given a key of another one."""

    action: str
    key: str
    owner: str
    """The action that has the key already."""


def find_clash(keymap: Mapping[str, str]) -> Clash | None:
    """Look for two actions under one key, of which only one would ever be reached.

    Two actions that share a key as built in, because they never act at the same moment, may go on doing so.

    Args:
        keymap: Keys of the actions that have others than the built-in ones.
    """
    owners = {action: _split(keys) for action, keys in {**ACTION_KEYS, **keymap}.items()}
    for action in reversed(list(keymap)):
        for owner, keys in owners.items():
            shared = [key for key in owners[action] if key in keys]
            # Those that share one as built in never answer at once.
            apart = set(_split(ACTION_KEYS[action])).isdisjoint(_split(ACTION_KEYS[owner]))
            if owner != action and shared and apart:
                return Clash(action, shared[0], owner)
    return None


def find_writing_key(keymap: Mapping[str, str]) -> tuple[str, str] | None:
    """Look for an action under a key that is needed for writing, which would never be reached or never type.

    Args:
        keymap: Keys of the actions that have others than the built-in ones.

    Returns:
        The action and the key, or nothing.
    """
    for action, keys in keymap.items():
        for key in keys.split(","):
            if _is_for_writing(key, action) and _long_form(key) not in _split(ACTION_KEYS[action]):
                return action, key
    return None


def _is_for_writing(key: str, action: str) -> bool:
    bare = key.removeprefix("shift+")
    if len(bare) == 1 or bare in _SIGN_NAMES:
        return action != _EMPTY_PROMPT
    return key in _WRITING and not (action.startswith("prompt.") and key in _PROMPT_KEYS)


def own_keys(action: str, keys: str) -> tuple[list[str], list[str]]:
    """The keys that an action has been given, parted: those it has as built in, and those that are new."""
    built_in = _split(ACTION_KEYS[action])
    given = keys.split(",")
    return (
        [key for key in given if _long_form(key) in built_in],
        [key for key in given if _long_form(key) not in built_in],
    )


def _split(keys: str) -> list[str]:
    return [_long_form(key) for key in keys.split(",")]


def key_pattern() -> str:
    """A pattern of one key's name: a sign or its name, a named key, ``f1`` to ``f24``, with modifiers."""
    names = "|".join((*_NAMED_KEYS, *sorted(_SIGN_NAMES)))
    return rf"(?:(?:{_MODIFIERS})\+)*(?:[^\s,]|f(?:[1-9]|1\d|2[0-4])|{names})"


def _long_form(key: str) -> str:
    """A sign by its name, so that ``?`` and ``question_mark`` are the same key."""
    if len(key) != 1 or key.isalnum():
        return key
    name = unicodedata.name(key, key).lower().replace("-", "_").replace(" ", "_")
    return _SHORT_NAMES.get(name, name)


_SIGN_NAMES = frozenset(map(_long_form, string.punctuation))
"""Signs of a keyboard, as Textual names them."""
