"""Writes the table of policy keys in ``settings.md`` from the policy: ``python docs/make_policies.py``."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.tables import fill  # noqa: E402
from tui_app.context.policy import policy_keys  # noqa: E402
from tui_app.events.schema import docstrings  # noqa: E402

PAGE = HERE / "settings.md"


def keys_table() -> str:
    """Every key of a policy of the user's own; keys without words of their own share the row of the next."""
    lines = ["| `base` | Required: the built-in policy it is made from. |"]
    names = []
    _base, *keys = policy_keys().values()
    for key in keys:
        names.append(f"`{key.name}`")
        if text := docstrings(key.owner).members.get(key.field):
            lines.append(f"| {', '.join(names)} | {text} |")
            names.clear()
    return "\n".join(["| Key | What it is |", "|---|---|", *lines])


def filled(page: str) -> str:
    """The page with a fresh table between its marks.

    Raises:
        ValueError: if a mark is missing.
    """
    return fill(page, {"policy keys": keys_table()})


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
