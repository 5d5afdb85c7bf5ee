"""Checks of the terminal that the screen would be shown in."""

import shutil
import sys
from collections.abc import Mapping

from tui_app.cli.doctor.report import Check, ok, warn
from tui_app.tmux import tmux_option

_MIN_COLUMNS, _MIN_LINES = 40, 12
"""Below this only a request for more room can be shown."""


def check_terminal(env: Mapping[str, str]) -> Check:
    """Type and size."""
    name, kind = "terminal", env.get("TERM", "")
    if not sys.stdout.isatty():
        return ok(name, "output does not go to a terminal: its size is not checked")
    columns, lines = shutil.get_terminal_size()
    text = f"{kind or 'TERM is not set'}, {columns} columns, {lines} lines"
    if kind in ("", "dumb", "unknown"):
        return warn(name, text, "Set TERM to what the terminal is, for example xterm-256color.")
    if columns < _MIN_COLUMNS or lines < _MIN_LINES:
        return warn(name, text, f"Make it at least {_MIN_COLUMNS} columns by {_MIN_LINES} lines.")
    return ok(name, text)


def check_encoding(env: Mapping[str, str]) -> Check:
    """Whether text beyond ASCII arrives."""
    encoding = (sys.stdout.encoding or "unknown").lower()
    if encoding.replace("-", "").startswith("utf8"):
        return ok("encoding", encoding)
    locale = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or "no locale"
    return warn("encoding", f"{encoding} ({locale})", "Set LANG=C.UTF-8, or start with --plain.")


def check_tmux(env: Mapping[str, str]) -> Check:
    """Whether tmux passes keys on as it should; fine without tmux."""
    if not env.get("TMUX"):
        return ok("tmux", "not used")
    keys, delay = tmux_option("extended-keys"), tmux_option("escape-time")
    hints = []
    if keys == "off":
        hints.append("set -s extended-keys on (for keys such as ctrl+enter)")
    if delay.isdigit() and int(delay) > 50:
        hints.append("set -s escape-time 10 (escape arrives late otherwise)")
    text = f"extended-keys {keys or 'unknown'}, escape-time {delay or 'unknown'}"
    return warn("tmux", text, f"In tmux.conf: {'; '.join(hints)}.") if hints else ok("tmux", text)
