"""The chapter on policies names every policy and every key of one's own."""

import re

from tests.docs.pages import DOCS, load_script, page, section
from tui_app.settings.tables import POLICIES, policy_keys


def first_cells() -> list[str]:
    text = section(page("docs/settings.md"), "Policies")
    rows = re.findall(r"^\| (`.+?) \|", text, re.MULTILINE)
    return [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]


def test_policies_and_keys_are_described_in_their_order() -> None:
    assert first_cells() == [*POLICIES, *policy_keys().keys]


def test_table_of_keys_is_fresh() -> None:
    script = load_script(DOCS / "make_policies.py")
    text = page("docs/settings.md")
    assert script.filled(text) == text, "run: python docs/make_policies.py"
