"""Each screen has a page and a picture, which the program draws identically."""

import importlib
import inspect
import pkgutil
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from textual.screen import Screen

import tui_app.ui.dialogs
from tests.docs.pages import DOCS, LINK, ROOT, load_script, read
from tests.ui.kit import unpainted

SCREENS = DOCS / "screens"
PAGES = {
    "ApprovalsScreen": ("approvals", "approvals"),
    "ChangesScreen": ("approvals", ""),
    "ChatScreen": ("chat", "chat"),
    "CheckpointsScreen": ("timeline", "checkpoints"),
    "CompactionDetail": ("timeline", "compaction"),
    "ContextScreen": ("context", "context"),
    "HelpScreen": ("help", "help"),
    "ImportProgressDialog": ("import", ""),
    "ImportedDialog": ("import", ""),
    "ImportScreen": ("import", "import"),
    "MemoryScreen": ("memory", "memory"),
    "MessageScreen": ("message", "message"),
    "McpScreen": ("context", "mcp"),
    "ModelPicker": ("models", "models"),
    "PaletteScreen": ("help", "palette"),
    "PinsScreen": ("message", "pins"),
    "ExcludeScreen": ("message", ""),
    "PromptPicker": ("rewind", "rewind"),
    "PromptsScreen": ("editor", "prompts"),
    "QueueScreen": ("editor", "queue"),
    "ReadAlongScreen": ("review", ""),
    "ReviewScreen": ("review", "review"),
    "FilesDialog": ("rewind", "files"),
    "SearchScreen": ("sessions", "search"),
    "SessionsScreen": ("sessions", "sessions"),
    "SettingsScreen": ("settings", "settings"),
    "AgentsScreen": ("context", ""),
    "SkillsScreen": ("context", "skills"),
    "StatsScreen": ("stats", "stats"),
    "SummaryEditor": ("timeline", "summary"),
    "KeyDialog": ("models", "key"),
    "SwitchDialog": ("models", "switch"),
    "TaskScreen": ("editor", ""),
    "TasksScreen": ("editor", ""),
    "ThemePicker": ("settings", "themes"),
    "ToolsScreen": ("context", "tools"),
}
"""The page of each screen and its picture there. Dialogs that ask, inform or edit one value belong to the
screen that opens them, and a dialog that is gone in a moment has no picture.
"""
SHOWING = {
    "api-keys": "key",
    "approvals": "question",
    "context-screen": "context",
    "instructions-and-skills": "skills",
    "mcp": "mcp",
    "memory": "memory",
    "models": "models",
    "sessions": "sessions",
    "transcript": "chat",
}
"""Pages about a screen elsewhere in the documentation, and its picture."""
WITHOUT = {"ChoiceDialog", "ConfirmDialog", "DetailsScreen", "EditDialog", "ServerEditDialog"}
SCRIPT = ROOT / "assets" / "make_screens.py"
LOOSE = re.compile(r"\s+")


def screens() -> set[str]:
    """All screens of the program with a page of their own."""
    found = set()
    for module in pkgutil.walk_packages(tui_app.ui.dialogs.__path__, "tui_app.ui.dialogs."):
        for name, kind in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            own = kind.__module__ == module.name and issubclass(kind, Screen)
            if own and not kind.__subclasses__():
                found.add(name)
    return found


def test_every_screen_has_a_page() -> None:
    assert screens() - set(PAGES) - WITHOUT == set(), "write a page in docs/screens and name it here"
    assert {name for name, _ in PAGES.values() if not (SCREENS / f"{name}.md").exists()} == set()


def test_every_screen_is_shown_where_it_is_described() -> None:
    shown = {screen: f"]({picture}.svg)" for screen, (_, picture) in PAGES.items() if picture}
    assert [name for name, link in shown.items() if link not in read(SCREENS / f"{PAGES[name][0]}.md")] == []
    elsewhere = {page: f"](screens/{picture}.svg)" for page, picture in SHOWING.items()}
    assert [page for page, link in elsewhere.items() if link not in read(DOCS / f"{page}.md")] == []


def test_every_page_shows_a_picture_and_is_listed() -> None:
    listed = {target for target, _ in LINK.findall(read(SCREENS / "index.md"))}
    for page in SCREENS.glob("*.md"):
        if page.name == "index.md":
            continue
        assert page.name in listed
        pictures = [target for target, _ in LINK.findall(read(page)) if target.endswith(".svg")]
        assert pictures, page.name
        assert [name for name in pictures if not (page.parent / name).exists()] == []


def test_every_picture_is_drawn_by_the_script_and_shown() -> None:
    drawn = {picture.name for picture in load_script(SCRIPT).PICTURES}
    assert drawn == {path.stem for path in SCREENS.glob("*.svg")}
    shown = {Path(target).stem for page in SCREENS.glob("*.md") for target, _ in LINK.findall(read(page))}
    assert drawn - shown == set()


@pytest.mark.timeout(300)
def test_pictures_show_the_present_program(tmp_path: Path) -> None:
    script = load_script(SCRIPT)
    with unpainted():
        script.main(tmp_path)
    for picture in script.PICTURES:
        fresh, kept = words(tmp_path / f"{picture.name}.svg"), words(SCREENS / f"{picture.name}.svg")
        assert picture.says in fresh
        assert str(tmp_path.parent) not in fresh
        assert fresh == kept, f"{picture.name}: run python assets/make_screens.py"


def words(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 150_000, "pictures are small files"
    assert set(re.findall(r"https?://[^\s\"'<)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "https://www.textualize.io",
    }
    lines = [element.text or "" for element in ET.fromstring(text).iter() if element.tag.endswith("}text")]
    return LOOSE.sub(" ", "".join(lines).replace("\u00a0", " "))
