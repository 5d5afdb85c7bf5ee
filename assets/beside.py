"""What stands beside the conversation of the pictures: other sessions, files, a board, transcripts."""

import json
import os
from pathlib import Path
from unittest import mock

from make_screenshots import PATHS, PROJECT, Clock

from tui_app.agent.mcp.status import McpStatus, McpTool
from tui_app.conversation.memory.boards import boards_in
from tui_app.events import AssistantMessage, SessionStart, UserMessage
from tui_app.memory.board import ContextBoard
from tui_app.memory.entries import EXTRACTION, Draft
from tui_app.memory.scope import scope_of
from tui_app.session.stores.sqlite_store import SqliteStore

OTHERS = ("Tide notes for March", "Fares of the night boats", "Harbour plan, first draft")
"""Titles of other sessions."""
FILES = ("board.py", "harbours.csv", "notes on holidays.md", "drafts/board.md")
DAY = 86_400
WHO = Path("home") / "rowan"
"""Home of the person in the pictures; relative, as the other paths are."""
RULES = {
    "allow": ("run_command pytest", "write_file drafts/**"),
    "ask": ("write_file *.lock",),
    "deny": ("run_command git push", "edit_file legacy/**"),
}
"""Rules about tools in the settings of the pictures."""
_HERE = "fe44195a"
_BOARD = (
    Draft(text="Sailings in pictures and tests are invented: no names of real ships.", weight=5.0),
    Draft(text="Never touch the files under legacy/.", kind="rule", seq=2, weight=4.2, everywhere=True),
    Draft(
        text="The weekday is compared with None, because Sunday is zero.", kind="decision", seq=17, weight=2.0
    ),
    Draft(text="`pytest -q tests/test_parser.py` · worked 4×, failed before", kind="command", seq=9),
    Draft(text="timetable/parser.py · edited 3×", kind="file", seq=14, weight=0.8),
)
_TOLD = (
    ("Print the board for holidays as well", 1, 42),
    ("Which harbours have no night boat?", 5, 9),
    ("Move the tide table into a file of its own", 23, 117),
)
"""Prompts of conversations with other programs, how many days ago they were, and their answers."""


SERVERS = (
    McpStatus(
        name="tides",
        where="tide-tables --harbour dunmouth",
        state="ready",
        tools=(
            McpTool(name="tides_low_water", description="Low waters of a day.", tokens=148),
            McpTool(name="tides_high_water", description="High waters of a day.", tokens=151),
        ),
    ),
    McpStatus(name="notes", where="harbour-notes --read-only", state="starting"),
    McpStatus(
        name="fares",
        where="fares-server",
        state="failed",
        error="It could not be started: it exited with status 2. It said: No table of fares.",
    ),
    McpStatus(name="weather", where="weather-server", state="off"),
)
"""MCP servers of the pictures, in every state one can be in; no program is started."""
_SKILLS = (
    ("holidays", "Which days count as Sundays. Use it for anything about public holidays."),
    ("release", "How a new timetable is printed and put up at the quays."),
    ("tide-tables", "Reading the tables of the harbour office."),
)


def write_skills(_clock: Clock) -> None:
    """Put skills into the folder, beside one that is none."""
    for name, about in _SKILLS:
        folder = PROJECT / ".plimsoll" / "skills" / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {about}\n---\nAsk the harbour office first.\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")


def write_others(clock: Clock) -> None:
    """Write the other sessions, and the files of the folder."""
    for name in FILES:
        (PROJECT / name).parent.mkdir(exist_ok=True)
        (PROJECT / name).write_text("day,time\n", encoding="utf-8")
    store = SqliteStore(PATHS.database)
    for number, title in enumerate(OTHERS):
        clock.now -= DAY
        with mock.patch("secrets.token_hex", return_value=f"0b5e55{number:02x}"):
            session = store.create(
                SessionStart(cwd=str(PROJECT), model="harbour:deck-14b", title=title), time=clock()
            )
        store.append(session, UserMessage(text=title), None, time=clock())
        store.append(session, AssistantMessage(text="Noted."), None, time=clock())
    store.close()


def write_board(clock: Clock) -> None:
    """Make the folder a repository that something is remembered of."""
    (PROJECT / ".git").mkdir()
    (PROJECT / ".git" / "HEAD").write_text("ref: refs/heads/sundays\n", encoding="utf-8")
    board = ContextBoard(boards_in(PATHS.database), scope_of(PROJECT), now=clock)
    for draft in _BOARD:
        board.add(_found(draft) if draft.seq else draft)


def _found(draft: Draft) -> Draft:
    return Draft(
        text=draft.text,
        kind=draft.kind,
        made_by=EXTRACTION,
        session=_HERE,
        seq=draft.seq,
        weight=draft.weight,
        everywhere=draft.everywhere,
    )


def write_transcripts(clock: Clock) -> None:
    """Leave conversations of other programs in the person's home, as those write them."""
    where = (".claude/projects/-home-rowan-ferry", ".codex/sessions/2026/03", ".claude/projects/-home-rowan")
    for number, (folder, (prompt, days, answers)) in enumerate(zip(where, _TOLD, strict=True)):
        codex = folder.startswith(".codex")
        name = f"rollout-{number}.jsonl" if codex else f"5a11{number:04x}.jsonl"
        lines = _codex(prompt, answers) if codex else _claude(prompt, answers)
        path = WHO / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        os.utime(path, (clock.now - days * DAY, clock.now - days * DAY))


def _claude(prompt: str, answers: int) -> list[dict[str, object]]:
    said: list[dict[str, object]] = [{"type": "user", "message": {"role": "user", "content": prompt}}]
    for number in range(answers):
        content = [{"type": "text", "text": f"Step {number + 1} is done."}]
        said.append({"type": "assistant", "message": {"role": "assistant", "content": content}})
    return [
        line
        | {"uuid": f"m{number}", "parentUuid": f"m{number - 1}" if number else None, "sessionId": "5a11"}
        | {"cwd": "/home/rowan/ferry-timetable", "timestamp": "2026-03-03T09:00:00Z"}
        for number, line in enumerate(said)
    ]


def _codex(prompt: str, answers: int) -> list[dict[str, object]]:
    def line(kind: str, payload: dict[str, object]) -> dict[str, object]:
        return {"timestamp": "2026-03-01T09:00:00.000Z", "type": kind, "payload": payload}

    def message(role: str, kind: str, text: str) -> dict[str, object]:
        return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}

    meta = {"id": "5a12", "cwd": "/home/rowan/harbours", "cli_version": "0.40.0"}
    told = [
        message("assistant", "output_text", f"Harbour {number + 1} has one.") for number in range(answers)
    ]
    return [
        line("session_meta", {**meta}),
        line("response_item", message("user", "input_text", prompt)),
        *(line("response_item", each) for each in told),
    ]
