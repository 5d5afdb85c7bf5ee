"""Writes the tables about policies from the policies themselves: ``python docs/make_policies.py``."""

import sys
from dataclasses import fields
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.tables import fill  # noqa: E402
from tui_app.context.policy import PRESETS, Policy, policy_keys  # noqa: E402
from tui_app.events.schema import docstrings  # noqa: E402

PAGES = tuple(HERE / name for name in ("settings.md", "context-package.md"))
_STANDS_IN = {"heuristic": "an extract", "marker": "a marker", "none": "nothing changes"}


def policies_table() -> str:
    """Every policy that is built in."""
    lines = ["| Policy | What it does | Stages | When the model fails |", "|---|---|---|---|"]
    for policy in PRESETS.values():
        stages = [field.name for field in fields(policy.stages) if getattr(policy.stages, field.name)]
        told = ", ".join(stages) or "none"
        lines.append(f"| `{policy.name}` | {policy.about} | {told} | {_STANDS_IN[policy.fallback]} |")
    return "\n".join(lines)


def keys_table(*, fields_alone: bool = False) -> str:
    """Every key of a policy of the user's own; keys without words of their own share the row of the next.

    Args:
        fields_alone: Whether only fields of the policy itself are listed, with what is allowed and defaults.
    """
    lines = [] if fields_alone else ["| `base` | Required: the built-in policy it is made from. |"]
    names, allowed, defaults = [], [], []
    _base, *keys = policy_keys().values()
    for key in keys:
        if fields_alone and key.owner is not Policy:
            continue
        names.append(f"`{key.field if fields_alone else key.name}`")
        words = " or ".join(f"`{word}`" for word in key.words)
        bounds = key.bounds.allowed if key.bounds else "a text" if key.longest else "true or false"
        allowed.append(words or bounds)
        defaults.append(f"{getattr(Policy(), key.field, '')!s}".lower())
        if text := docstrings(key.owner).members.get(key.field):
            values = f" {allowed[0]} | {', '.join(defaults)} |" if fields_alone else ""
            lines.append(f"| {', '.join(names)} |{values} {text} |")
            names.clear()
            allowed.clear()
            defaults.clear()
    head = ["| Field | Allowed | Default | What it is |", "|---|---|---|---|"]
    return "\n".join([*(head if fields_alone else ["| Key | What it is |", "|---|---|"]), *lines])


def filled(page: str) -> str:
    """The page with fresh tables between its marks."""
    tables = {
        "policies": policies_table(),
        "policy keys": keys_table(),
        "policy fields": keys_table(fields_alone=True),
    }
    return fill(page, {name: table for name, table in tables.items() if f"<!-- {name} -->" in page})


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
