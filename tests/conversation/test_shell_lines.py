"""Command lines of the model: how the shell interprets them, and that none waits for input."""

import os
import shutil
from typing import Any

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import ToolResult


async def printed(desk: Desk, server: FakeOpenAI, *lines: str, **args: Any) -> list[str]:
    """Run each command line, and return the results that the model gets."""
    desk.server("local", server.base_url, window=64_000)
    desk.env["PATH"] = os.environ["PATH"]
    server.add(*(tool("run_command", command=line, timeout_s=20, **args) for line in lines), Text("Done."))
    async with desk.session(read_only=False, sandbox="off", approvals={"allow": ("run_command",)}) as opened:
        records = await turn(opened.conversation, "Go.")
    return [each.text for each in of(records, ToolResult) if isinstance(each, ToolResult)]


LINES = (
    ("type cd", 0, "cd is a shell builtin"),
    ("command -v sh", 0, "/sh"),
    ("cd sub", 0, ""),
    ("cd sub && pwd", 0, "/sub"),
    ("export A=1", 0, ""),
    (". ./env.sh", 0, ""),
    ("source ./env.sh && echo $B", 0, "2"),
    ("[[ 1 -lt 2 ]] && echo less", 0, "less"),
    ("greet() { echo hello $1; }; greet sea", 0, "hello sea"),
    ("cat <<END\nfrom here\nEND", 0, "from here"),
    ("ulimit -n", 0, ""),
    ("umask", 0, "0"),
    ("true", 0, ""),
    ("exit 7", 7, ""),
    ("no-such-program --help", 127, "not found"),
    ("A=1 no-such-program", 127, "not found"),
)


async def test_a_line_means_what_it_means_to_a_shell(desk: Desk, fake_openai: FakeOpenAI) -> None:
    (desk.cwd / "sub").mkdir()
    (desk.cwd / "env.sh").write_text("B=2\n")
    told = await printed(desk, fake_openai, *(line for line, _, _ in LINES))
    for (line, code, words), text in zip(LINES, told, strict=True):
        assert text.startswith(f"Exit code {code} after "), (line, text)
        assert words in text.partition("\n")[2], (line, text)


async def test_what_the_environment_brings_changes_no_line(desk: Desk, fake_openai: FakeOpenAI) -> None:
    (desk.cwd / "start.sh").write_text("echo started elsewhere\n")
    desk.env |= {"BASH_ENV": str(desk.cwd / "start.sh"), "BASH_FUNC_ls%%": "() { echo another ls; }"}
    for text in await printed(desk, fake_openai, "ls", "ls | cat", ". ./start.sh >/dev/null"):
        assert "elsewhere" not in text
        assert "another" not in text


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_no_command_waits_for_an_editor_or_a_pager(desk: Desk, fake_openai: FakeOpenAI) -> None:
    waits = 'sh -c "sleep 600"'
    desk.env |= dict.fromkeys(("EDITOR", "GIT_EDITOR", "GIT_PAGER", "KUBE_EDITOR", "SOME_PAGER"), waits)
    git = "git -c user.email=a@b.example -c user.name=n -c core.editor='sleep 600'"
    _, commit, amend, rebase, log, others = await printed(
        desk,
        fake_openai,
        f"git init -q && {git} commit --allow-empty -m a && {git} commit --allow-empty -m b",
        f"{git} commit --allow-empty",
        f"{git} commit --amend --allow-empty",
        f"{git} -c sequence.editor='sleep 600' rebase -i --root",
        f"{git} -c core.pager='sleep 600' --paginate log",
        'for each in EDITOR VISUAL PAGER KUBE_EDITOR SOME_PAGER; do eval "echo \\$$each"; done',
    )
    assert "empty commit message" in commit
    assert amend.startswith("Exit code 0 after ")
    assert "Successfully rebased" in rebase
    assert log.startswith("Exit code 0 after ")
    assert others.split("\n")[1:] == ["true", "true", "cat", "true", "cat"]
