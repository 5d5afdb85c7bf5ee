"""Which files a prompt names, and which of its words only look as if they did."""

import re
from collections.abc import Collection

from tui_app.mentioned import AFTER, MENTION, mentions

_MAX_BARE = 2
"""Paths without an ``@`` that are looked at."""
_FILE = re.compile(r"(?:[\w.-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,7}")
_LIKE_FILE = re.compile(r"[^\s()]*\.[A-Za-z]\w{0,4}")
"""How a file that was not attached must look: ``@x.setter`` and ``@app.get(`` are code."""
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+\S*")


def mentioned_files(text: str, attached: Collection[str] = ()) -> tuple[str, ...]:
    """The files that a prompt mentions or brings along; a decorator such as ``@property`` is none."""
    named = [
        path
        for quoted, bare in MENTION.findall(text)
        if (path := quoted or bare.rstrip(AFTER)) in attached or quoted or _LIKE_FILE.fullmatch(path)
    ]
    return tuple(dict.fromkeys([*named, *attached]))


def bare_files(text: str) -> tuple[str, ...]:
    """The files that a prompt names without an ``@``."""
    return tuple(dict.fromkeys(_FILE.findall(_ADDRESS.sub(" ", MENTION.sub(" ", text)))))[:_MAX_BARE]


def without_mentions(text: str, paths: Collection[str]) -> str:
    """The text without the mentions of these paths."""

    def rest(found: re.Match[str]) -> str:
        return " " if (found[1] or found[2].rstrip(AFTER)) in paths else found[0]

    return MENTION.sub(rest, text)


def plain_path(word: str) -> str:
    """The path that one word of a command means, be it mentioned or quoted."""
    return next(iter(mentions(word)), word.strip("`'\""))
