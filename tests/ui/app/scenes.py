"""Stories, and the scenes (keys or commands) that lead to every screen and state."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from inspect import isawaitable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from textual.screen import Screen
from textual.widgets import TabbedContent, TextArea

from tests.ui.app.story import MODEL, Story
from tests.ui.kit import Deck, timed
from tests.ui.plans import CURRENT, SWITCH, proposed
from tui_app.agent.catalog import ModelChoice
from tui_app.agent.mcp.status import McpStatus, McpTool
from tui_app.agent.tools.task_output import Page
from tui_app.agent.tools.tasks import TaskRow, task_rows
from tui_app.context.compaction.handoff import Brief
from tui_app.conversation.branches.branch_files import FilesOfBranch
from tui_app.conversation.files.commit_proposal import CommitProposal
from tui_app.conversation.files.file_snapshots import FileOutlook
from tui_app.conversation.files.session_changes import ChangedFile, SessionChanges
from tui_app.conversation.imports.imports import ImportReport
from tui_app.conversation.message_actions import SkillRow
from tui_app.events import (
    ApprovalDecided,
    ApprovalRequested,
    CompactionComplete,
    CompactionProgress,
    Fact,
    MergedFile,
    QuestionAsked,
    Record,
    RestoredFile,
    SessionRewind,
)
from tui_app.session.importers.places import LocalTranscript
from tui_app.session.importers.source import SkippedLine
from tui_app.settings.tables import parse_rule
from tui_app.ui.approvals import ApprovalBox
from tui_app.ui.dialogs.changes import MESSAGE, ChangesScreen, show_message
from tui_app.ui.dialogs.compaction import NAMES, CompactionDetail, SummaryEditor
from tui_app.ui.dialogs.compactions.checkpoints import CheckpointsScreen
from tui_app.ui.dialogs.compactions.context import ContextScreen
from tui_app.ui.dialogs.compactions.merge import MERGE, merge_files
from tui_app.ui.dialogs.compactions.review_flow import ReadAlongScreen
from tui_app.ui.dialogs.details import DetailsScreen
from tui_app.ui.dialogs.drafts import JOB, show_brief
from tui_app.ui.dialogs.extensions.approvals import ApprovalsScreen, rule_rows
from tui_app.ui.dialogs.extensions.mcp import McpScreen
from tui_app.ui.dialogs.extensions.memory import MemoryScreen
from tui_app.ui.dialogs.extensions.queue import QueueScreen
from tui_app.ui.dialogs.extensions.server_questions import ServerEditDialog
from tui_app.ui.dialogs.extensions.skills import AgentsScreen, SkillsScreen
from tui_app.ui.dialogs.extensions.tasks import TaskScreen, TasksScreen
from tui_app.ui.dialogs.help import HelpScreen
from tui_app.ui.dialogs.list import ChoiceDialog
from tui_app.ui.dialogs.message import MessageScreen
from tui_app.ui.dialogs.message_actions import ExcludeScreen
from tui_app.ui.dialogs.models import ModelPicker, SwitchDialog
from tui_app.ui.dialogs.palette import PaletteScreen
from tui_app.ui.dialogs.pins import PinsScreen
from tui_app.ui.dialogs.questions import ConfirmDialog, EditDialog, FilesDialog
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.ui.dialogs.sessions.import_export import (
    ImportedDialog,
    ImportProgressDialog,
    ImportScreen,
    TranscriptRow,
)
from tui_app.ui.dialogs.sessions.prompts import PromptsScreen
from tui_app.ui.dialogs.sessions.rewind import PromptPicker, rewind_files
from tui_app.ui.dialogs.sessions.session_search import SearchScreen
from tui_app.ui.dialogs.sessions.sessions import SessionsScreen
from tui_app.ui.dialogs.setup.key_entry import KeyDialog
from tui_app.ui.dialogs.setup.settings import SettingsScreen, ThemePicker
from tui_app.ui.dialogs.setup.tools import ToolRow, ToolsScreen
from tui_app.ui.dialogs.stats import StatsScreen
from tui_app.ui.panels.todo import TodoItem
from tui_app.ui.questions import QuestionBox
from tui_app.ui.screen import ChatScreen

Scene = Callable[[Deck], Awaitable[None]]


def opens(screen: type, *keys: str, command: str = "") -> Scene:
    """A scene that presses keys or runs a slash command to open a screen."""

    async def scene(deck: Deck) -> None:
        if command:
            await deck.send(command)
        await deck.press(*keys)
        await deck.until(lambda: isinstance(deck.app.screen, screen), screen.__name__)

    return scene


async def detail(deck: Deck) -> None:
    """Details of the selected compaction, once all tabs are filled."""
    await opens(CompactionDetail, "enter")(deck)
    await compared(deck)


async def compared(deck: Deck) -> None:
    """Details of a compaction, once the views before and after it are loaded."""
    stayed = deck.app.screen.query_one(TabbedContent).get_tab("tab-stayed")

    def counted() -> bool:
        return str(stayed.label)[-1:].isdigit()

    await deck.until(counted, "both views")


async def nothing(deck: Deck) -> None:
    """The screen as it opens."""


async def typed(deck: Deck) -> None:
    await deck.type("and what about public holidays?")


async def commands(deck: Deck) -> None:
    await deck.press("slash")
    await deck.settle()


async def conversation(deck: Deck) -> None:
    deck.transcript.focus()
    await deck.press("up")


async def unfolded(deck: Deck) -> None:
    deck.transcript.focus()
    for _ in range(12):
        await deck.press("up", "enter")
        if deck.app.screen is not deck.app.chat:
            await deck.press("escape")


async def timeline(deck: Deck) -> None:
    if not deck.app.chat.pane.timeline.display:
        await deck.press("ctrl+t")
    deck.app.chat.pane.timeline.focus()
    await deck.press("up")


async def in_timeline(deck: Deck) -> None:
    """The timeline with focus: next to the chat, or over it in a narrow terminal."""
    if not deck.app.chat.pane.timeline.display:
        await deck.press("ctrl+t")
    deck.app.chat.pane.timeline.focus()


async def compaction(deck: Deck) -> None:
    deck.transcript.jump_to(10)
    deck.transcript.focus()
    await detail(deck)


def tab(id: str) -> Scene:
    """A tab of the compaction details."""

    async def scene(deck: Deck) -> None:
        await compaction(deck)
        await deck.press(*["right_square_bracket"] * list(NAMES).index(id))
        await deck.until(lambda: deck.app.screen.query_one(TabbedContent).active == id, id)

    return scene


async def editing(deck: Deck) -> None:
    await opens(SettingsScreen, command="/settings window in tokens")(deck)
    await deck.until(lambda: deck.app.screen.query("OptionList"))
    await deck.press("enter")
    await deck.until(lambda: isinstance(deck.app.screen, EditDialog))
    await deck.press(*"3", "enter")
    await deck.says("at least 256.")


async def brief(deck: Deck) -> None:
    await opens(ReviewScreen, command="/handoff Write the release notes")(deck)
    await deck.says("enter begin it")


agents = opens(AgentsScreen, command="/agents")


async def merge_brief(deck: Deck) -> None:
    """The brief of a merge, with a line that is not in the log."""
    screen = ReviewScreen(None, job=JOB, words=MERGE)
    deck.app.push_screen(screen)
    await deck.until(lambda: deck.app.screen is screen, "the review")
    text = "# Branch: gzip\n\n## Files\n- timetable.py · edited (ab12cd34#7)\n\n## Notes\n- Half as large."
    brief = Brief(goal="", text=text, facts=(), marked=1, tokens=640)
    show_brief(screen, cast("Any", SimpleNamespace(brief=brief)))
    await deck.says("Branch: gzip")


async def files_of_branch(deck: Deck) -> None:
    """The file changes of a merge."""
    files = (
        MergedFile(path="timetable.py", before="a", after="b"),
        MergedFile(path="routes.json", before="a", after="b", left="changed here in the same lines"),
    )
    diff = "--- timetable.py\n+++ timetable.py\n@@ -1 +1 @@\n-low = 3\n+low = 4\n"
    deck.app.push_screen(merge_files(FilesOfBranch(files=files, diffs=(diff,))))
    await deck.says("Merge the branch's files too?")


async def search(deck: Deck) -> None:
    await opens(SessionsScreen, command="/resume")(deck)
    await opens(SearchScreen, "f7")(deck)
    await deck.press(*"sunday")
    await deck.until(lambda: deck.app.screen.query_one("#search-list").option_count > 0, "the hits")


async def notice(deck: Deck) -> None:
    deck.app.chat.session.report("The server said something that must not be missed.")


async def imports(deck: Deck) -> None:
    """The import dialog with a fixed list, because the files of the developer's machine must not appear."""
    screen = ImportScreen()
    await deck.app.push_screen(screen)
    found = LocalTranscript(
        path=Path("~/a.jsonl"), program="codex", title="Tide notes", cwd="~", time=0.0, size=812
    )
    screen.show([TranscriptRow(found), TranscriptRow(found, "885c8680")])
    await deck.settle()


async def listed(deck: Deck) -> None:
    """A todo list, shown automatically where there is room, else with its key."""
    items = (TodoItem("read the tides", "done"), TodoItem("add crossing()", "doing"), TodoItem("test it"))
    session = deck.app.chat.session
    session.presenter.update(replace(session.state, todos=items))
    if deck.app.chat.has_class("-narrow"):
        deck.app.chat.action_slash("/todo")
    await deck.says("1 of 3")


CHAT_SCENES: Mapping[str, Scene] = {
    "chat": nothing,
    "draft": typed,
    "commands": commands,
    "conversation": conversation,
    "unfolded": unfolded,
    "timeline": timeline,
    "compaction": compaction,
    **{id.removeprefix("tab-"): tab(id) for id in NAMES if id not in ("tab-summary", "tab-audit")},
    "notice": notice,
    "models": opens(ModelPicker, "ctrl+l"),
    "sessions": opens(SessionsScreen, command="/resume"),
    "imports": imports,
    "search": search,
    "context": opens(ContextScreen, "f3"),
    "help": opens(HelpScreen, "f1"),
    "status": opens(DetailsScreen, command="/status"),
    "notices": opens(DetailsScreen, "f2"),
    "settings": opens(SettingsScreen, command="/settings"),
    "edit": editing,
    "memory": opens(MemoryScreen, command="/memory"),
    "themes": opens(ThemePicker, command="/theme"),
    "policies": opens(ChoiceDialog, command="/policy"),
    "modes": opens(ChoiceDialog, command="/mode"),
    "todo": listed,
    "brief": brief,
    "clear": opens(ConfirmDialog, command="/clear"),
}


ANSWER = """\
The parser drops rows whose weekday is `0`, because the check in `import.py:2` treats zero as missing:

```python
def rows(table):
    return [row for row in table if row.weekday]
```

1. Compare with `None` instead of asking for truth.
2. Add a row for a **Sunday** to the tests.
"""


CHOICES = [
    ModelChoice(MODEL, "scripted · harbour", 128_000, "setting", available=True),
    ModelChoice("dinghy:scripted", "scripted · dinghy", 32_000, "server", available=True, local=True),
    ModelChoice("offline:extractive", "extractive", 32_000, "model", available=True, price="free"),
    *(
        ModelChoice(f"ollama:model-{number}", "", 64_000, "server", available=True, local=True, price="free")
        for number in range(6)
    ),
    ModelChoice("anthropic:claude-sonnet-5-5", "", 1_000_000, "model", False, "needs ANTHROPIC_API_KEY"),
    ModelChoice("openai:gpt-5.4-mini", "", 400_000, "model", False, "needs OPENAI_API_KEY"),
]


DONE = CompactionComplete(
    job="j",
    outcome="success",
    trigger="background",
    model=MODEL,
    title="sunday import",
    summary=(
        "# Intent\nFix the ferry import, which fails on Sundays.\n\n# Done\n"
        "- `import.py` compares the weekday with `None`.\n- The tests have a row for a Sunday.\n\n"
        "# Open\n- Public holidays are not handled yet."
    ),
    removed=((2, 6),),
    tokens={"summary": 6_200},
    tokens_before=91_500,
    tokens_after=6_200,
    messages_before=212,
    messages_after=9,
    tokens_removed=85_300,
    messages_removed=203,
    retention=0.98,
    facts=(
        Fact(kind="rule", text='"never touch the legacy importer"', source="#2"),
        Fact(kind="file", text="import.py · edited 3×", source="#5"),
        Fact(kind="command", text="full pytest log", source="#6", state="recoverable"),
        Fact(kind="detail", text="batch size 250", source="#6", state="lost"),
    ),
    duration_s=4.1,
    cost_usd=0.004,
)


def talk(reported: int = 12_800) -> Story:
    """A prompt, two tool calls and an answer. A large reported size needs a large prompt to be credible."""
    return (
        Story("Why does the ferry import fail on Sundays?")
        .user("Why does the ferry import fail on Sundays?", max(40, reported - 20_000))
        .tool("grep", '{"pattern": "weekday"}', "import.py:2: row.weekday\nimport.py:9: weekday", tokens=212)
        .tool("read_file", '{"path": "import.py"}', "1\tdef rows(table):\n2\t    return", tokens=1_400)
        .answer(ANSWER, 1_100, reported=reported)
    )


def compacted_talk() -> Story:
    story = talk().compacted(DONE)
    return story.user("and now also handle public holidays").answer("They are rows as well.", reported=9_700)


def rewound() -> Story:
    story = talk()
    return (
        story.user("Now the holidays.")
        .answer("They are not handled yet.")
        .add(SessionRewind(to=story.seq - 1))
    )


async def context_screen(deck: Deck) -> None:
    """The context screen, with results of file reads compared with the files."""
    await opens(ContextScreen, "f3")(deck)
    screen = deck.app.screen
    assert isinstance(screen, ContextScreen)
    await deck.until(lambda: screen.compared, "the comparison")


def reviewed(deck: Deck) -> bool:
    screen = deck.app.screen
    return isinstance(screen, ReviewScreen) and not screen.writing


async def found(deck: Deck) -> None:
    await deck.press("ctrl+f", *"sunday")
    await deck.until(lambda: " of " in deck.text.partition("Find")[2], "the places")


async def one_message(deck: Deck) -> None:
    deck.transcript.jump_to(4)
    deck.transcript.focus()
    await deck.press("ctrl+o")
    await deck.says("JSON")


async def long_question(deck: Deck) -> None:
    """An approval for writing a file of 200 lines."""
    detail = "\n".join(
        ("--- /dev/null", "+++ b/ferries.txt", "@@ -0,0 +1,200 @@", *(f"+ferry {n}" for n in range(200)))
    )
    question = ApprovalRequested(
        id="1.1", tool_call_id="1", tool="write_file", kind="file", subject="ferries.txt", detail=detail,
        note="new file", pattern="write_file ferries.txt", because="asks unless a rule allows it",
    )  # fmt: skip
    session = deck.app.chat.session
    session.presenter.update(replace(session.state, question=question))
    await deck.until(lambda: deck.app.chat.query_one(ApprovalBox).has_focus, "the keys")


async def question_of_model(deck: Deck) -> None:
    """A question of the model with the maximum number of choices."""
    asked = QuestionAsked(
        id="q.1", tool_call_id="1", question="Which harbour is meant? The timetable names six of them.",
        choices=tuple(f"the harbour of {name}" for name in ("Aros", "Bree", "Coll", "Dun", "Eigg", "Fara")),
    )  # fmt: skip
    session = deck.app.chat.session
    session.presenter.update(replace(session.state, asked=asked))
    await deck.until(lambda: deck.app.chat.query_one(QuestionBox).has_focus_within, "the keys")


DIFF = """--- a/ferry/import.py
+++ b/ferry/import.py
@@ -85,7 +85,7 @@
 def parse(row):
     weekday = row.weekday
-    if not weekday:
+    if weekday is None:
         return None
     return weekday"""


EDIT = ApprovalRequested(
    id="1.1", tool_call_id="1", tool="edit_file", kind="file", subject="ferry/import.py", detail=DIFF,
    note="+1 -1", pattern="edit_file ferry/import.py", because="asks unless a rule allows it", waiting=1,
)  # fmt: skip


RUN = ApprovalRequested(
    id="2.1", tool_call_id="2", tool="run_command", kind="command", subject="pytest -q | tail -5",
    detail="in /home/me/ferry", note="through a shell, at most 120 s", because="asks unless a rule allows it",
)  # fmt: skip


VIEW = rule_rows(
    rules=(
        parse_rule("deny", "run_command rm -rf"),
        parse_rule("ask", "write_file *.lock"),
        parse_rule("allow", "run_command pytest"),
        parse_rule("allow", "edit_file ferry/**", "session"),
    ),
    decisions=(
        (
            43_380.0,
            ApprovalDecided(
                id="2.1", tool_call_id="2", tool="run_command", subject="git push", decision="denied",
                by="person", reason="not before the review",
            ),
        ),
        (
            43_320.0,
            ApprovalDecided(
                id="1.1", tool_call_id="1", tool="edit_file", subject="ferry/import.py", decision="allowed",
                by="person", scope="always", rule="edit_file ferry/**",
            ),
        ),
    ),
)  # fmt: skip


FILES = [
    FileOutlook(RestoredFile(path="ferry/import.py", after="a"), "restore"),
    FileOutlook(RestoredFile(path="ferry/holidays.py"), "remove"),
    FileOutlook(RestoredFile(path="README.md", after="b"), "changed"),
]


SERVERS = (
    McpStatus(
        name="github",
        where="npx -y github-server",
        state="ready",
        tools=(
            McpTool(
                name="github_search_issues", description="Search issues.", tokens=412, claims_read_only=True
            ),
            McpTool(name="github_create_issue", description="Create an issue.", tokens=388),
        ),
    ),
    McpStatus(name="docs", where="https://docs.example.org/mcp", state="starting"),
    McpStatus(
        name="harbour",
        where="harbour-mcp --tide",
        state="failed",
        error="It could not be started: it exited with status 7. It said: No harbour at 127.0.0.1.",
    ),
    McpStatus(name="old", where="old-server", state="off"),
)


SKILLS = (
    SkillRow("reefing", "How to make the sail smaller before it blows.", "project", "ship/SKILL.md", True),
    SkillRow("stars", "Find the way by the stars.", "user", "config/skills/stars/SKILL.md"),
)


TOOLS = (
    ToolRow("read_file", "Plimsoll", "Read a text file as numbered lines.", 214, False, False),
    ToolRow("plan", "Plimsoll", "Keep the plan of this session.", 98, True, False),
    ToolRow("files_echo", "files", "Say it [b]again[/b].", 61, False, True),
)


async def still_servers(_: object) -> Sequence[McpStatus]:
    """MCP servers in states that no longer change."""
    return SERVERS


def servers() -> McpScreen:
    return McpScreen(SERVERS, cast("Any", SimpleNamespace(ask=still_servers)))


async def queue(deck: Deck) -> None:
    session = deck.app.chat.session
    waiting = ("second, which is longer " * 8, "third\nwith [b]two[/b] lines", "/compact")
    session.presenter.update(replace(session.state, queue=waiting, paused=True))
    await opens(QueueScreen, command="/queue")(deck)


def asks(dialog: Callable[[], Screen[object]]) -> Scene:
    """A dialog that opens automatically after work that the scene skips."""

    async def scene(deck: Deck) -> None:
        await deck.app.push_screen(dialog())

    return scene


async def writing(deck: Deck) -> None:
    """A summary that is partly written."""
    screen = ReviewScreen(None, job="j")
    await deck.app.push_screen(screen)
    screen.hear(
        CompactionProgress(job="j", part=2, parts=3, tokens_written=30, model="m", text=DONE.summary[:120])
    )
    await deck.until(lambda: screen.query_one(TextArea).text, "the text")


async def read_along(deck: Deck) -> None:
    """A summary that is partly written, in a session without review."""
    screen = ReadAlongScreen(2, DONE.summary[:60])
    await deck.app.push_screen(screen)
    progress = CompactionProgress(
        job="j", part=2, parts=3, tokens_written=30, model="m", text=DONE.summary[60:120]
    )
    screen.keep_up(Record(seq=0, time=0.0, session="s", data=progress))
    await deck.until(lambda: DONE.summary[60:70] in screen.query_one(TextArea).text, "the text")


async def server_asks(deck: Deck) -> None:
    """An elicitation of an MCP server."""
    told = "harbour asks: Which berth?\nA number on the quay."
    await deck.app.push_screen(ServerEditDialog("berth", told, "", "That is no number."))


async def summary(deck: Deck) -> None:
    await compaction(deck)
    await opens(SummaryEditor, "e")(deck)


async def pins(deck: Deck) -> None:
    await deck.send("/pin last")
    await deck.says("Pinned #12")
    await opens(PinsScreen, command="/pin")(deck)


TASKS = (
    TaskRow(
        id="t2", command="npm run dev", how="running", is_running=True, failed=False, age_s=754, lines=41
    ),
    TaskRow(id="t1", command="pytest -f", how="exit 1", is_running=False, failed=True, age_s=8, lines=120),
)
OUTPUT = Page(tuple((number, f"GET /ferries 200 in {number} ms") for number in range(2, 42)), 41)


class StillTasks:
    """Background tasks whose state no longer changes."""

    async def wait_for_output(self, _id: str, _chars: int) -> None:
        await asyncio.Event().wait()

    def page(self, _id: str, _start: int, _most: int) -> Page:
        return OUTPUT

    def end_task(self, _id: str) -> None:
        """Do nothing."""


async def ask_still(do: Callable[[Any], Any]) -> Any:
    if do is task_rows:
        return TASKS
    done = do(StillTasks())
    return await done if isawaitable(done) else done


def tasks_screen() -> TasksScreen:
    return TasksScreen(TASKS)


def task_screen() -> TaskScreen:
    return TaskScreen(TASKS[0], ask_still)


async def one_task(deck: Deck) -> None:
    await asks(task_screen)(deck)
    await deck.says("lines 2 to 41 of 41")


CHANGES = SessionChanges(
    files=[
        ChangedFile(path="ferry/import.py", by="session", state="changed", diff=DIFF, is_staged=True),
        ChangedFile(path="ferry/holidays.py", by="session", state="deleted", note="Not text: 12 to 0 bytes."),
        ChangedFile(path="notes.md", by="git", state="new", diff=DIFF),
    ]
)
PROPOSAL = CommitProposal(
    text="Treat weekday 0 as a Sunday\n\nThe check took zero for missing.",
    paths=["ferry/import.py"], files=1, model=MODEL,
)  # fmt: skip


async def committing(deck: Deck) -> None:
    screen = ReviewScreen(None, job=JOB, words=MESSAGE)
    await deck.app.push_screen(screen)
    show_message(screen, (PROPOSAL, ""))
    await deck.says("Treat weekday 0")


async def marked_lines(deck: Deck) -> None:
    """Lines of the transcript selected for copying."""
    deck.transcript.jump_to(2)
    deck.transcript.focus()
    await deck.press("v", "shift+down", "shift+down")
    await deck.says("3 marked")


IMPORTED = ImportReport(
    session="20260801-120400-9f31", format="claude-code", file="a.jsonl", title="Sunday import", messages=203,
    tool_calls=96, tool_results=95, tokens=104_000, skipped=(SkippedLine(line=12, reason="no JSON"),),
    notes=("2 messages of the program (not the model) were left out.",),
)  # fmt: skip


DIALOGS: Mapping[str, tuple[type[Screen[object]], Scene]] = {
    "review": (ReviewScreen, asks(lambda: timed(ReviewScreen(proposed(DONE)), lambda: 0.0))),
    "writing": (ReviewScreen, writing),
    "reading": (ReadAlongScreen, read_along),
    "asking": (ServerEditDialog, server_asks),
    "summary": (SummaryEditor, summary),
    "switch": (SwitchDialog, asks(lambda: timed(SwitchDialog(SWITCH, CURRENT), lambda: 0.0))),
    "rewind": (PromptPicker, opens(PromptPicker, command="/rewind")),
    "files": (FilesDialog, asks(lambda: rewind_files(FILES))),
    "pins": (PinsScreen, pins),
    "exclude": (ExcludeScreen, opens(ExcludeScreen, command="/exclude")),
    "message": (MessageScreen, one_message),
    "find": (ChatScreen, found),
    "marked": (ChatScreen, marked_lines),
    "stats": (StatsScreen, opens(StatsScreen, command="/stats")),
    "checkpoints": (CheckpointsScreen, opens(CheckpointsScreen, command="/session checkpoints")),
    "question": (ChatScreen, long_question),
    "asked": (ChatScreen, question_of_model),
    "approvals": (ApprovalsScreen, asks(lambda: ApprovalsScreen(VIEW))),
    "palette": (PaletteScreen, opens(PaletteScreen, "ctrl+p")),
    "queue": (QueueScreen, queue),
    "tasks": (TasksScreen, asks(tasks_screen)),
    "task": (TaskScreen, one_task),
    "changes": (ChangesScreen, asks(lambda: ChangesScreen(CHANGES))),
    "commit": (ReviewScreen, committing),
    "prompts": (PromptsScreen, opens(PromptsScreen, "ctrl+r")),
    "key": (KeyDialog, asks(lambda: KeyDialog("openai:gpt-5-mini", "OPENAI_API_KEY", "It is empty."))),
    "imported": (ImportedDialog, asks(lambda: ImportedDialog(IMPORTED, 101_100, 128_000))),
    "importing": (ImportProgressDialog, asks(lambda: ImportProgressDialog("a.jsonl", lambda: True))),
    "servers": (McpScreen, asks(servers)),
    "tools": (ToolsScreen, asks(lambda: ToolsScreen(TOOLS))),
    "skills": (SkillsScreen, asks(lambda: SkillsScreen(SKILLS))),
}
"""For each dialog its class and the scene that opens it."""

SCENES: Mapping[str, Scene] = {**CHAT_SCENES, **{name: play for name, (_, play) in DIALOGS.items()}}
