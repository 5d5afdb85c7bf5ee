"""Validation of the keys that a user assigns to actions."""

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
"""Characters whose Textual name differs from the Unicode name."""

_NAMED_KEYS = (
    "enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown",
    "up", "down", "left", "right",
)  # fmt: skip

_WRITING = frozenset({"space", "enter", "tab", "backspace", "delete", "up", "down", "left", "right"})
"""Keys needed for writing in the prompt, besides letters and punctuation."""

_PROMPT_KEYS = frozenset({"enter", "tab", "up", "down"})
"""Keys among them that the prompt itself may use for something else."""

_EMPTY_PROMPT = "prompt.help"
"""Acts only on an empty prompt, so that its key can be typed all the same."""


class Clash(NamedTuple):
    """An action that was given a key of another one."""

    action: str
    key: str
    owner: str
    """The action that has the key already."""


def find_clash(keymap: Mapping[str, str]) -> Clash | None:
    """Find two actions with the same key, of which only one could ever be used.

    Two actions that share a default key, because they never act at the same time, may keep sharing.

    Args:
        keymap: Keys of the actions with changed keys.
    """
    owners = {action: _split(keys) for action, keys in {**ACTION_KEYS, **keymap}.items()}
    for action in reversed(list(keymap)):
        for owner, keys in owners.items():
            shared = [key for key in owners[action] if key in keys]
            # Actions that share a default key never act at the same time.
            apart = set(_split(ACTION_KEYS[action])).isdisjoint(_split(ACTION_KEYS[owner]))
            if owner != action and shared and apart:
                return Clash(action, shared[0], owner)
    return None


def find_writing_key(keymap: Mapping[str, str]) -> tuple[str, str] | None:
    """Find an action with a key needed for writing: one of both would never work.

    Args:
        keymap: Keys of the actions with changed keys.

    Returns:
        The action and the key, or None.
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
    """Split the keys given to an action into its default keys and new ones."""
    built_in = _split(ACTION_KEYS[action])
    given = keys.split(",")
    return (
        [key for key in given if _long_form(key) in built_in],
        [key for key in given if _long_form(key) not in built_in],
    )


def _split(keys: str) -> list[str]:
    return [_long_form(key) for key in keys.split(",")]


def key_pattern() -> str:
    """Return a pattern of a key: a character or its name, a named key, ``f1`` to ``f24``, with modifiers."""
    names = "|".join((*_NAMED_KEYS, *sorted(_SIGN_NAMES)))
    return rf"(?:(?:{_MODIFIERS})\+)*(?:[^\s,]|f(?:[1-9]|1\d|2[0-4])|{names})"


def _long_form(key: str) -> str:
    """Replace a character by its name, so that ``?`` and ``question_mark`` are the same key."""
    if len(key) != 1 or key.isalnum():
        return key
    name = unicodedata.name(key, key).lower().replace("-", "_").replace(" ", "_")
    return _SHORT_NAMES.get(name, name)


_SIGN_NAMES = frozenset(map(_long_form, string.punctuation))
"""Punctuation characters, by their names in Textual."""
