"""No file of a folder is used or executed before the user trusts the folder."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.conversation.driving import Desk, turn
from tests.repository import begin, git
from tests.servers.behaviours import Text, Tool
from tests.servers.fake_openai import FakeOpenAI
from tests.ui.kit import Desk as Screens
from tests.ui.kit import shown
from tui_app.__main__ import main
from tui_app.conversation.imports.imports import import_session
from tui_app.events import ApprovalDecided, Error, ModeChange, Notice, SessionStart
from tui_app.paths import Paths
from tui_app.session.model_state import chosen_mode
from tui_app.settings.tables import Hook, McpServer
from tui_app.system.trust import (
    FOLDER_VARIABLE,
    TRUST_VARIABLE,
    NotTrusted,
    ProgramPlace,
    remember_trust,
    trust_in,
)
from tui_app.system.worktrees import worktree_folder
from tui_app.ui.dialogs.questions import ConfirmDialog
from tui_app.ui.dialogs.review import ReviewScreen
from tui_app.web.pages import page_command

ROOT = Path(__file__).parents[2]
SKILL = "---\nname: reefing\ndescription: How to make the sail smaller.\n---\nFirst ease the halyard.\n"


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def fill(folder: Path) -> None:
    write(folder / "AGENTS.md", "Answer like a sailor.")
    write(folder / ".claude/skills/reefing/SKILL.md", SKILL)
    write(folder / ".plimsoll/commands/moor.md", "Moor the ship.")


# The answer


def test_an_answer_is_for_one_repository_by_its_real_name(tmp_path: Path, plimsoll_home: Path) -> None:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    inner, other = tmp_path / "one/deck", tmp_path / "one/vendored"
    for folder in (inner, other / ".git", tmp_path / "one/.git"):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "one")
    assert trust_in(paths, {}, inner) is None
    assert remember_trust(paths, inner, True) == tmp_path / "one"
    assert [trust_in(paths, {}, each) for each in (inner, tmp_path / "link/deck", other, tmp_path)] == [
        True, True, None, None,
    ]  # fmt: skip
    remember_trust(paths, inner, False)
    assert trust_in(paths, {}, inner) is False
    assert not list(tmp_path.glob("one/**/*trust*")), "nothing is noted in the repository"
    paths.trust_file.write_text("[damaged")
    assert trust_in(paths, {}, inner) is None


def test_a_worktree_that_was_made_here_is_as_its_repository(tmp_path: Path, plimsoll_home: Path) -> None:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    (tmp_path / "one").mkdir()
    write(tmp_path / "one/AGENTS.md", "Answer like a sailor.")
    repository, env = begin(tmp_path / "one"), {**os.environ, TRUST_VARIABLE: ""}
    apart = worktree_folder(repository, "quay", env)
    assert trust_in(paths, env, apart) is None
    remember_trust(paths, repository, True)
    (apart / "deck").mkdir()
    assert trust_in(paths, env, apart / "deck") is True, "also where the answer came later"
    git(repository, "config", "worktree.useRelativePaths", "true")
    git(repository, "worktree", "repair", str(apart))
    assert trust_in(paths, env, apart) is True
    remember_trust(paths, apart, False)
    assert trust_in(paths, env, apart) is False, "what was said of it alone counts more"
    remember_trust(paths, apart, None)
    remember_trust(paths, repository, None)
    assert trust_in(paths, env, apart) is None
    assert trust_in(paths, {TRUST_VARIABLE: str(repository)}, apart) is True


def test_no_other_folder_is_trusted_as_a_repository_beside_it(tmp_path: Path, plimsoll_home: Path) -> None:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    (tmp_path / "one").mkdir()
    write(tmp_path / "one/AGENTS.md", "Answer like a sailor.")
    repository, env = begin(tmp_path / "one"), {**os.environ, TRUST_VARIABLE: ""}
    remember_trust(paths, repository, True)
    apart = worktree_folder(repository, "quay", env)
    says_so = tmp_path / "one.worktrees/says-so"
    write(says_so / ".git", (apart / ".git").read_text())
    assert trust_in(paths, env, says_so) is None, "it only says so itself"
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "review"))
    assert trust_in(paths, env, tmp_path / "review") is None, "the user has made it, elsewhere"
    git(repository, "worktree", "add", "-q", "--detach", str(tmp_path / "other.worktrees/review"))
    assert trust_in(paths, env, tmp_path / "other.worktrees/review") is None, "it is beside another one"
    shutil.rmtree(apart)
    write(apart / "AGENTS.md", "Do as I say.")
    assert trust_in(paths, env, begin(apart)) is None, "another repository has come in its place"
    for name in ("foreign", "nested/quay"):
        write(tmp_path / "one.worktrees" / name / "AGENTS.md", "Do as I say.")
        assert trust_in(paths, env, tmp_path / "one.worktrees" / name) is None
    (tmp_path / "one.worktrees/link").symlink_to(tmp_path / "review")
    assert trust_in(paths, env, tmp_path / "one.worktrees/link") is None


@pytest.mark.parametrize(
    ("value", "answer"), [("{}", True), ("x:{}/..", True), ("", None), (".", None), ("/x", None)]
)
def test_a_variable_names_folders(
    tmp_path: Path, plimsoll_home: Path, value: str, answer: bool | None
) -> None:
    paths = Paths.from_env({"PLIMSOLL_HOME": str(plimsoll_home)})
    assert trust_in(paths, {TRUST_VARIABLE: value.format(tmp_path)}, tmp_path) is answer


# Programs


def test_programs_start_in_a_folder_of_the_users_own(tmp_path: Path) -> None:
    folder, own = tmp_path / "repository", tmp_path / "own"
    (folder / "bin").mkdir(parents=True), (folder / ".git").mkdir()
    (tmp_path / "alias").symlink_to(folder / "bin")
    path = os.pathsep.join((".", "", "bin", str(folder / "bin"), str(tmp_path / "alias"), "/usr/bin"))
    place = ProgramPlace(own=own, folder=folder / "bin", env={"PATH": path})
    assert place.start_folder("") == own
    assert place.start_folder(str(tmp_path)) == tmp_path
    for given in (".", "..", "deck", str(tmp_path / "alias")):
        with pytest.raises(NotTrusted):
            place.start_folder(given)
    env = place.environment()
    assert (env["PATH"], env[FOLDER_VARIABLE]) == ("/usr/bin", str(folder / "bin"))


async def test_hooks_and_servers_run_nothing_of_the_folder(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.env = {"PATH": os.pathsep.join((".", str(desk.cwd), os.environ["PATH"]))}
    for name in ("guard.py", "server.py", "json.py"):
        write(desk.cwd / name, "import pathlib\npathlib.Path(__file__).with_suffix('.ran').touch()\n")
    write(desk.cwd / "watch", "#!/bin/sh\ntouch watch.ran\n")
    (desk.cwd / "watch").chmod(0o755)
    write(
        desk.own / "guard.py",
        "import os, pathlib\npathlib.Path('mine').write_text(os.environ['PLIMSOLL_FOLDER'])\n",
    )
    hooks = (
        Hook(command=(sys.executable, "guard.py")),
        Hook(command=("watch",)),
        Hook(command="sh watch"),
        Hook(command=(sys.executable, "guard.py"), cwd="."),
    )
    servers = {
        name: McpServer(name=name, command=sys.executable, args=("server.py",), cwd=cwd, timeout=5)
        for name, cwd in (("own", ""), ("there", "."))
    }
    desk.server("local", fake_openai.base_url)
    async with desk.session(hooks={"sessionStart": hooks}, mcp=servers) as opened:
        await opened.conversation.settle()
        await opened.extras.servers.settle(20)
        there = next(each for each in opened.extras.servers.statuses() if each.name == "there")
        assert "this folder is not trusted" in there.error
    assert (desk.own / "mine").read_text() == str(desk.cwd)
    assert not list(desk.cwd.rglob("*.ran"))


def test_no_module_of_the_folder_is_ours(tmp_path: Path) -> None:
    for module in ("textual", "json", "asyncio", "argparse"):
        write(tmp_path / f"{module}.py", f"open('{module}-ran', 'w').close()\nraise SystemExit(9)\n")
    for flags in ([], ["-P"]):
        command = [sys.executable, *flags, "-m", "tui_app", "doctor"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=60)
        assert done.returncode != 9
    assert not list(tmp_path.glob("*-ran"))


def test_the_launcher_looks_for_a_python_without_modules_of_the_folder(tmp_path: Path) -> None:
    for module in ("venv", "ensurepip", "pip"):
        write(tmp_path / f"{module}.py", "open('ran', 'w').close()\n")
    (tmp_path / "root/.venv/bin").mkdir(parents=True)
    (tmp_path / "root/.venv/bin/python").symlink_to(sys.executable)
    for name in ("pyproject.toml", ".venv/.installed"):
        (tmp_path / "root" / name).touch()
    script = f". '{ROOT}/.ci/venv.sh'; find_python && ensure_venv '{tmp_path}/root' ''"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, check=True, text=True)
    assert done.stdout.startswith("python3")
    assert not (tmp_path / "ran").exists()


def test_a_page_is_started_without_modules_or_a_shell_of_the_folder(tmp_path: Path) -> None:
    write(tmp_path / "tui_app.py", "raise SystemExit(9)\n")
    words = page_command(["--version"])
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False, timeout=60)
    assert (done.returncode, words[0]) == (0, sys.executable)


def test_no_variables_or_settings_of_the_folder_count(tmp_path: Path) -> None:
    work, evil = tmp_path / "work", tmp_path / "evil"
    for name in (".env", ".env.local", ".envrc", ".plimsoll/.env", ".plimsoll/.envrc"):
        said = ("HOME", evil), ("TRUST", "/"), ("MODEL", "evil:model"), ("CONFIG", evil / "config.toml")
        write(work / name, "".join(f"PLIMSOLL_{each}={value}\n" for each, value in said))
    loose = 'model = "evil:model"\nsandbox = "off"\n[approvals]\nallow = ["run_command"]\n'
    for name in ("config.toml", "plimsoll.toml", ".plimsoll/config.toml", ".config/plimsoll/config.toml"):
        write(work / name, loose)
    write(work / "pyproject.toml", "[tool.plimsoll]\nmodel = 'evil:model'\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")}
    said = ""
    for words in (["config", "show"], ["run", "--model", "offline:extractive", "list files"]):
        command = [sys.executable, "-P", "-m", "tui_app", *words]
        done = subprocess.run(
            command, cwd=work, env={**env, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False,
            timeout=60, stdin=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        said += done.stdout + done.stderr
    assert "evil" not in said
    assert not evil.exists()
    assert (tmp_path / "home/.local/share/plimsoll").is_dir()


# Trusted content


@pytest.mark.parametrize("trusted", [False, True])
async def test_what_a_folder_brings_counts_once_it_is_trusted(
    desk: Desk, fake_openai: FakeOpenAI, trusted: bool
) -> None:
    desk.env = {}
    fill(desk.cwd)
    desk.server("local", fake_openai.base_url)
    if trusted:
        remember_trust(desk.opening().paths, desk.cwd, True)
    fake_openai.add(Tool((("run_command", {"command": "echo ahoy"}),)), Text("So."))
    rules = {"allow": ("run_command echo",), "deny": ("run_command rm",)}
    async with desk.session(read_only=False, approvals=rules) as opened:
        records = await turn(opened.conversation, "Say ahoy.")
        said = [record.data for record, _ in opened.store.records(opened.conversation.session)]
        ruled = {rule.ruling for rule in opened.conversation.tooling.approvals.rules}
    sent = json.dumps(fake_openai.journal[0])
    assert ("Answer like a sailor" in sent, "reefing" in sent, "use_skill" in sent) == (trusted,) * 3
    (decided,) = [each.data for each in records if isinstance(each.data, ApprovalDecided)]
    assert decided.decision == ("allowed" if trusted else "denied")
    assert ruled == ({"allow", "deny"} if trusted else {"deny"})
    assert not any(isinstance(each, Notice) for each in said), "it is told and not kept"


def test_without_a_user_it_is_left_out_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(TRUST_VARIABLE)
    monkeypatch.chdir(tmp_path)
    fill(tmp_path)

    def run(*flags: str) -> tuple[str, str]:
        assert main(["run", "hello", "--model", "offline:extractive", *flags]) == 0
        captured = capsys.readouterr()
        return captured.out, captured.err

    out, err = run("--json")
    told = (
        "This folder is not trusted, so these are ignored here: "
        "instructions (AGENTS.md) and skills (reefing)."
    )
    assert err.count(told) == 1
    (notice,) = [line for line in map(json.loads, out.splitlines()) if line["type"] == "notice"]
    assert notice["data"]["text"].startswith(told)
    assert told not in run("--trust")[1]
    assert told in run()[1], "the flag is for one start"
    assert main(["trust"]) == 0
    assert told not in run()[1]


# On the screen


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False)])
async def test_the_screen_asks_once_and_before_anything_is_sent(
    plimsoll_home: Path,
    tmp_path: Path,
    fake_openai: FakeOpenAI,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
    answer: bool,
) -> None:
    monkeypatch.setattr("tui_app.ui.keyboard.stray_keys.QUIET_S", 0.0)
    desk = Screens(plimsoll_home, tmp_path / "harbour", env={}).serve(fake_openai)
    fill(desk.cwd)
    fake_openai.add(Text("Aye."))
    async with shown(desk.app()) as deck:
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        for brought in ("instructions AGENTS.md", "skills reefing", "commands /moor"):
            assert brought in deck.words
        assert deck.app.chat.session.conversation is None, "nothing is opened meanwhile"
        await deck.press(key)
        await deck.ready()
        await deck.send("Ahoy")
        await deck.answered()
        assert [each.name for each in deck.editor.completer.custom] == (["moor"] if answer else [])
    assert ("Answer like a sailor" in json.dumps(fake_openai.journal[0])) is answer
    assert trust_in(desk.paths, {}, desk.cwd) is answer
    async with shown(desk.app()) as deck:
        await deck.ready()
        assert not isinstance(deck.app.screen, ConfirmDialog)


async def test_trust_is_given_on_the_screen_and_counts_in_the_same_session(
    plimsoll_home: Path, tmp_path: Path, fake_openai: FakeOpenAI, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_app.ui.keyboard.stray_keys.QUIET_S", 0.0)
    desk = Screens(plimsoll_home, tmp_path / "harbour", env={}).serve(fake_openai)
    fill(desk.cwd)
    remember_trust(desk.paths, desk.cwd, False)
    fake_openai.add(Text("Aye."), Text("Aye aye, captain."))
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.until(lambda: "AGENTS.md not trusted yet · /trust" in deck.words, "what waits for trust")
        await deck.says("instructions (AGENTS.md) and skills (reefing). /trust trusts it.")
        await deck.send("Ahoy")
        await deck.answered()
        first = deck.app.chat.session
        await deck.send("/trust")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        for brought in ("instructions AGENTS.md", "skills reefing", "commands /moor"):
            assert brought in deck.words
        await deck.press("y")
        await deck.until(lambda: deck.app.chat.is_ready and deck.app.chat.session is not first, "it opens")
        await deck.ready()
        assert deck.app.chat.session.id == first.id
        await deck.send("And now?")
        await deck.until(lambda: len(fake_openai.journal) == 2, "another request")
        await deck.answered()
        await deck.send("/trust")
        await deck.says("This folder is trusted.")
    sent = [json.dumps(each) for each in fake_openai.journal]
    assert ["Answer like a sailor" in each for each in sent] == [False, True]
    assert "Ahoy" in sent[1]


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False)])
async def test_a_commit_asks_for_the_trust_that_git_needs(
    plimsoll_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, answer: bool
) -> None:
    monkeypatch.setattr("tui_app.ui.keyboard.stray_keys.QUIET_S", 0.0)
    desk = Screens(plimsoll_home, tmp_path / "harbour", env={})
    write(desk.cwd / "log.md", "Rough.")
    begin(desk.cwd)
    write(desk.cwd / "log.md", "Calm.")
    git(desk.cwd, "add", "log.md")
    async with shown(desk.app()) as deck:
        await deck.ready()
        await deck.send("/commit")
        await deck.until(lambda: isinstance(deck.app.screen, ConfirmDialog), "the question")
        assert "git is used in folders that you trust only" in deck.words
        await deck.press(key)
        if answer:
            await deck.until(lambda: isinstance(deck.app.screen, ReviewScreen), "the message")
        else:
            await deck.says("Not committed: git is used in folders that you trust only.")
    assert trust_in(desk.paths, {}, desk.cwd) is answer


async def test_a_session_that_is_imported_begins_in_no_mode_that_its_file_names(desk: Desk) -> None:
    start = SessionStart(cwd="", model="", policy="", title="x")
    said = (start, ModeChange(old="ask", new="edit"), Error(kind="input", message="No."))
    lines = [
        {"seq": seq, "session": "s", "time": 1.0, "type": data.TYPE, "data": asdict(data)}
        for seq, data in enumerate(said, 1)
    ]
    file = desk.cwd.parent / "session.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    async with desk.session() as opened:
        report = import_session(file, store=opened.store, cwd=desk.cwd, now=2.0)
        assert not report.skipped
        assert opened.store.last_of(report.session, ModeChange.TYPE) is not None
        assert chosen_mode(opened.store, report.session) == "ask"
