"""The chapter on policies names every policy and every key of one's own."""

import re

from tests.docs.pages import page, section
from tui_app.settings.policies import POLICIES, POLICY_KEYS


def first_cells() -> list[str]:
    text = section(page("docs/settings.md"), "Policies")
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]


def test_policies_and_keys_are_described_in_their_order() -> None:
    assert first_cells() == [*POLICIES, *POLICY_KEYS]
