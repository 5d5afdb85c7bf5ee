"""The generated parts of the documentation, and every setting and policy with its default."""

import json
import re
from dataclasses import asdict

from tests.docs.pages import DOCS, load_script, page
from tui_app.context.policy import PRESETS
from tui_app.settings import Settings
from tui_app.settings.entries import entries, key_entries

_MARKS = re.compile(r"<!-- (?:end of )?[\w ]+ -->")


def tables() -> str:
    """All tables, one section each."""
    chapters = {"Keys and slash commands": _generated("keys"), "Events": _generated("events")}
    chapters |= {"Settings": _settings(), "Policies": _policies()}
    return "\n".join(f"# {name}\n\n{text}\n" for name, text in chapters.items())


def _generated(name: str) -> str:
    """The part of a page that its script writes; the rest may be reworded at any time."""
    marks = "\n".join(_MARKS.findall(page(f"docs/{name}.md")))
    filled: str = load_script(DOCS / f"make_{name}.py").filled(marks)
    return filled


def _settings() -> str:
    rows = []
    for entry in (*entries(Settings(), ()), *key_entries(Settings(), ())):
        rows += [
            f"{entry.key} = {entry.value}",
            f"  {entry.help or '-'}",
            f"  {entry.allowed} · {entry.takes_effect.value}",
        ]
    return "\n".join(rows)


def _policies() -> str:
    return "\n".join(
        f"{name}: {json.dumps(asdict(each), indent=1, default=str, sort_keys=True)}"
        for name, each in PRESETS.items()
    )
