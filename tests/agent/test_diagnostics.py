"""Findings of language servers: new ones after an edit, the whole project, and misbehaving servers."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.process_ends import gone
from tests.servers import language_server
from tui_app.agent.diagnostics import connection, diagnostics, server
from tui_app.agent.diagnostics.diagnostics import Diagnostics
from tui_app.agent.diagnostics.finder import ServerFinder, known_servers
from tui_app.agent.diagnostics.server import RunningServer
from tui_app.agent.tools.edits import carry_out, plan_write
from tui_app.agent.tools.workspace import ToolProblem, Workspace
from tui_app.sandbox import Confinement, find_sandbox

LONG_S = 60.0
"""Seconds, an upper bound that is never reached."""
IS_ANY = ServerFinder.any
"""The real method, which other tests replace so that they find no servers."""
PROGRAM = language_server.__file__


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "FIRST_QUIET_S", 0.05)
    monkeypatch.setattr(server, "QUIET_S", 0.05)


@dataclass
class Bench:
    """A workspace with made-up servers: ``ruff`` for Python, ``taplo`` for TOML."""

    root: Path
    pids: Path
    hidden: set[str] = field(default_factory=set)
    kept: Callable[[], Confinement | None] = lambda: None
    required: bool = False
    trusted: bool = True

    @asynccontextmanager
    async def using(self, manner: str = "good", other: str = "off") -> AsyncIterator[Diagnostics]:
        workspace = Workspace(self.root)
        chosen = dict.fromkeys(known_servers(), "off") | {"ruff": self.line(manner)}
        chosen["taplo"] = other if other == "off" else self.line(other)
        finder = ServerFinder(folder=workspace.root, search="/bin", trusted=self.trusted, chosen=chosen)
        found = Diagnostics(
            workspace,
            finder,
            lambda name: name not in self.hidden,
            lambda installed: RunningServer(
                installed,
                {"PATH": "/usr/bin:/bin"},
                self.kept,
                self.required,
                lambda text: text.replace("library", "(hidden)"),
            ),
        )
        try:
            yield found
        finally:
            await found.close()
            assert all(gone(pid) for pid in self.started), "nothing of it is left"

    def line(self, manner: str) -> str:
        return shlex.join((sys.executable, PROGRAM, manner, str(self.pids)))

    @property
    def started(self) -> list[int]:
        return [*map(int, self.pids.read_text().split())] if self.pids.exists() else []

    def write(self, found: Diagnostics, name: str, text: str) -> None:
        change = plan_write(found.workspace, name, text)
        carry_out(change)
        found.changed(change)

    async def edit(self, found: Diagnostics, name: str, text: str) -> str:
        self.write(found, name, text)
        return await found.news(LONG_S)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "work").mkdir()
    return Bench(tmp_path / "work", tmp_path / "pids")


@pytest.mark.parametrize("manner", ["good", "no versions", "asks", "confused"])
async def test_only_what_an_edit_made_wrong_is_told_once(bench: Bench, manner: str) -> None:
    (bench.root / "a.py").write_text("old wrong\n")
    async with bench.using(manner) as found:
        told = await bench.edit(found, "a.py", "# moved\nold wrong\nnew wrong\nodd\nhm\n")
        head, *rows = told.split("\n")
        assert head == "2 new diagnostics, from ruff (the words of those programs, not of the user):"
        assert rows == [
            "a.py:3:5: error: new wrong is wrong [made up wrong]",
            "a.py:4:1: warning: odd is odd [made up odd]",
        ]
        assert await bench.edit(found, "a.py", "old wrong\nnew wrong\n") == "", "nothing became wrong"
        again = await bench.edit(found, "a.py", "old wrong\nnew wrong\nnew wrong\nodd\n")
        assert again.split("\n")[1:] == [
            "a.py:3:5: error: new wrong is wrong [made up wrong]",
            "a.py:4:1: warning: odd is odd [made up odd]",
        ]
        assert len(bench.started) == 1


async def test_a_file_that_others_changed_meanwhile_is_looked_at_anew(bench: Bench) -> None:
    async with bench.using() as found:
        assert "one wrong" in await bench.edit(found, "a.py", "one wrong\n")
        (bench.root / "a.py").write_text("one wrong\ntwo wrong\n")
        told = await bench.edit(found, "a.py", "one wrong\ntwo wrong\nthree wrong\n")
        assert "three wrong" in told
        assert "two wrong" not in told


async def test_an_edit_does_not_wait_for_a_slow_server_and_hears_of_it_later(bench: Bench) -> None:
    async with bench.using("good", other="mute") as found:
        bench.write(found, "c.toml", "c wrong")
        bench.write(found, "b.py", "b wrong")
        assert await found.news(0.0) == ""
        late = ""
        while not late:
            late = await found.news(0.01)
        assert "b.py:1:3: error: b wrong is wrong" in late


async def test_files_that_tools_would_not_show_are_not_told(bench: Bench) -> None:
    bench.hidden.add("key.py")
    (bench.root / "b.py").write_text("b wrong")
    async with bench.using() as found:
        assert await bench.edit(found, "key.py", "password wrong") == ""
        report = await found.report("")
        assert "b wrong" in report
        assert "password" not in report


async def test_the_whole_project_and_one_file(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (
        ("a.py", "fine\nodd"),
        ("sub/b.py", "b wrong"),
        ("c.toml", "c wrong"),
        ("d.md", "wrong"),
    ):
        (bench.root / name).parent.mkdir(exist_ok=True)
        (bench.root / name).write_text(text)
    async with bench.using(other="good") as found:
        head, *rows = (await found.report("")).split("\n")
        assert head.startswith("3 files, from ruff, taplo (")
        assert head.endswith("): 2 errors, 1 warning")
        assert sorted(row.partition(" [")[0] for row in rows) == [
            "a.py:2:1: warning: odd is odd",
            "c.toml:1:3: error: c wrong is wrong",
            "sub/b.py:1:3: error: b wrong is wrong",
        ]
        one = await found.report("sub/b.py")
        assert one.startswith("1 file, from ruff (")
        assert "): 1 error, 0 warnings\n" in one
        with pytest.raises(ToolProblem, match="No language server"):
            await found.report("d.md")
        with pytest.raises(ToolProblem, match="no file"):
            await found.report("none.py")
        monkeypatch.setattr(diagnostics, "REPORT_FILES", 2)
        assert "[only the first 2 files were looked at]" in await found.report("")


async def test_much_is_cut_to_the_budget_with_errors_first(bench: Bench) -> None:
    async with bench.using() as found:
        told = await bench.edit(found, "a.py", "\n".join(f"{n} odd" for n in range(300)) + "\nlast wrong")
        assert len(told) < diagnostics.NEWS_CHARS + 300
        assert told.split("\n")[1] == "a.py:301:6: error: last wrong is wrong [made up wrong]"
        assert told.endswith("more; diagnostics lists them]")


async def test_the_words_of_a_server_are_plain_and_short(bench: Bench) -> None:
    async with bench.using("controls") as found:
        _, row = (await bench.edit(found, "a.py", "wrong")).split("\n")
        assert row.startswith("a.py:1:1: error: red nextlinexxx")
        assert row.isprintable()
        assert len(row) < 400


@pytest.mark.parametrize(
    ("manner", "why"),
    [
        ("dies", "it exited with status 1: it needs a (hidden)"),
        ("crashes", "it exited with status 3"),
        ("floods", "it sends messages without end"),
        ("huge", "it sent a message of more than 4 MB"),
        ("garbage", "it does not speak the protocol"),
        ("refuses", "it answered with an error: no licence"),
        ("silent", "it did not answer within 0.5 s"),
    ],
)
async def test_a_server_that_misbehaves_is_ended_and_the_edit_stands(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, manner: str, why: str
) -> None:
    monkeypatch.setattr(connection, "START_S", 0.5 if manner == "silent" else LONG_S)
    async with bench.using(manner) as found:
        assert await bench.edit(found, "a.py", "wrong") == ""
        assert all(gone(pid) for pid in bench.started)
        (state,) = found.statuses()
        assert state == f"ruff: not running: {why}"
        assert f"[{state}]" in await found.report("a.py")
        for number in range(4):
            await bench.edit(found, "a.py", f"wrong {number}")
        assert len(bench.started) == 1 + server.RESTARTS, "and is not started again and again"


async def test_a_mute_server_is_not_waited_for_again_and_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "BASELINE_S", 0.1)
    monkeypatch.setattr(server, "SETTLE_S", 0.1)
    async with bench.using("mute") as found:
        assert await bench.edit(found, "a.py", "wrong") == ""
        monkeypatch.setattr(server, "SETTLE_S", LONG_S)
        assert await bench.edit(found, "a.py", "wrong\nagain") == ""
        report = await found.report("a.py")
        assert report.startswith("No language server has looked at 1 file yet.")
        assert "[ruff has not looked at 1 file yet; ask again]" in report


async def test_an_idle_server_ends_and_the_next_edit_starts_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "IDLE_S", 0.2)
    async with bench.using() as found:
        assert "one wrong" in await bench.edit(found, "a.py", "one wrong")
        assert await asyncio.to_thread(gone, bench.started[0])
        monkeypatch.setattr(server, "IDLE_S", LONG_S)
        told = await bench.edit(found, "a.py", "one wrong\ntwo wrong")
        assert "two wrong" in told
        assert "one wrong" not in told
        assert len(bench.started) == 2


async def test_nothing_runs_before_the_first_edit_of_such_a_file(bench: Bench) -> None:
    async with bench.using() as found:
        assert await bench.edit(found, "readme.md", "wrong") == ""
        assert not bench.started
        assert found.statuses() == ()


async def test_a_required_sandbox_that_is_missing_keeps_servers_from_starting(bench: Bench) -> None:
    bench.required = True
    async with bench.using() as found:
        assert await bench.edit(found, "a.py", "wrong") == ""
        assert not bench.started
        assert "require a sandbox" in found.statuses()[0]


@pytest.mark.parametrize(("name", "file", "runs"), [
    ("ruff", "a.py", True), ("pyright-langserver", "a.py", False), ("taplo", "a.toml", False),
])  # fmt: skip
async def test_what_would_run_or_fetch_what_files_name_needs_a_sandbox_or_the_user(
    bench: Bench, name: str, file: str, runs: bool
) -> None:
    program = bench.root.parent / "programs" / name
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {bench.line('good')}\n")
    program.chmod(0o755)
    async with bench.using() as found:
        found.finder = replace(found.finder, search=str(program.parent), chosen={})
        told = await bench.edit(found, file, "wrong")
        assert bool(told) is bool(bench.started) is runs
        assert runs or "no sandbox keeps it in" in found.statuses()[0]


@pytest.mark.bubblewrap
async def test_a_server_has_no_network_where_commands_have_one(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    networks: list[bool] = []
    words = Confinement.wrap_command

    def heard(kept: Confinement, command: Sequence[str]) -> tuple[str, ...]:
        networks.append(kept.network)
        return words(kept, command)

    monkeypatch.setattr(Confinement, "wrap_command", heard)
    kept = Confinement(
        workspace=bench.root.resolve(),
        home=Path.home().resolve(),
        search="/usr/bin:/bin",
        temporary=tmp_path / "temporary",
        network=True,
        sandbox=find_sandbox(),
    )
    bench.kept, bench.pids = lambda: kept, bench.root / "pids"
    async with bench.using() as found:
        assert "a wrong" in await bench.edit(found, "a.py", "a wrong")
        bench.pids = tmp_path / "none"
    assert networks == [False]


@pytest.mark.bubblewrap
async def test_a_server_is_kept_in_as_commands_are(bench: Bench, tmp_path: Path) -> None:
    def kept() -> Confinement:
        return Confinement(
            workspace=bench.root.resolve(),
            home=Path.home().resolve(),
            search="/usr/bin:/bin",
            temporary=tmp_path / "temporary",
            sandbox=find_sandbox(),
        )

    bench.kept, bench.required = kept, True
    inside, outside, none = bench.root / "pids", tmp_path / "outside", tmp_path / "none"
    bench.pids = inside
    async with bench.using() as found:
        # The process id is one of the sandbox's own namespace.
        bench.pids = none
        assert "a wrong" in await bench.edit(found, "a.py", "a wrong")
        assert inside.exists()
        assert _running(inside)
    assert not _running(inside)
    bench.pids = outside
    async with bench.using() as found:
        bench.pids = none
        assert "b wrong" in await bench.edit(found, "a.py", "a wrong\nb wrong")
        assert not outside.exists(), "it wrote into a folder of its own"


def _running(pids: Path) -> list[psutil.Process]:
    return [each for each in psutil.Process().children(recursive=True) if str(pids) in each.cmdline()]


@pytest.mark.parametrize("trusted", [True, False])
def test_programs_of_a_project_run_where_it_is_trusted(bench: Bench, trusted: bool) -> None:
    def place(folder: str, name: str) -> str:
        program = bench.root.parent / folder / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        return str(program)

    own = place("work/.venv/bin", "ruff")
    users = {name: place("bin", name) for name in ("ruff", "pyright-langserver", "basedpyright-langserver")}
    (bench.root / "part").mkdir()
    (bench.root / "part/pyproject.toml").touch()
    search = f"{bench.root.parent}/bin"
    finder = ServerFinder(folder=bench.root, search=search, trusted=trusted, chosen={"pyright": "off"})
    found = {each.server.name: each for each in finder.servers_of(bench.root / "part/a.py")}
    if trusted:
        assert {name: each.words[0] for name, each in found.items()} == {
            "basedpyright": users["basedpyright-langserver"],
            "ruff": own,
        }
        assert found["ruff"].root == bench.root / "part"
    else:
        assert {name: each.words[0] for name, each in found.items()} == {"ruff": users["ruff"]}
    assert IS_ANY(finder)
    assert not IS_ANY(ServerFinder(folder=bench.root, search="/none", trusted=False, chosen={}))


def test_settings_name_another_command_or_switch_off(bench: Bench) -> None:
    def words(chosen: dict[str, str]) -> list[tuple[str, ...]]:
        others = dict.fromkeys(set(known_servers()) - {"ruff"}, "off")
        finder = ServerFinder(folder=bench.root, search="/none", trusted=True, chosen={**others, **chosen})
        return [each.words for each in finder.servers_of(bench.root / "a.py")]

    assert words({"ruff": "/bin/sh -c 'a b'"}) == [("/bin/sh", "-c", "a b")]
    assert words({"ruff": "off"}) == words({"ruff": "/bin/sh 'open"}) == words({}) == []


@pytest.mark.parametrize("name", known_servers())
def test_each_row_of_the_table_is_whole(name: str) -> None:
    server: Any = known_servers()[name]
    assert server.command
    assert all(ending and language for ending, language in server.languages.items())
    assert server.roots
    assert server.source.startswith("https://")
