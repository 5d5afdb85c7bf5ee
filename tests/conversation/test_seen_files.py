"""Files changed by others between the model's read and its edit: no change is overwritten unseen."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conversation.driving import Desk, of, turn
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.events import ToolResult

READ = tool("read_file", path="a.txt")
WRITE = tool("write_file", path="a.txt", content="alpha\nBETA\n")
CHANGES = {"allow": ("write_file", "edit_file", "run_command")}


@pytest.fixture(autouse=True)
def file(desk: Desk, fake_openai: FakeOpenAI) -> None:
    desk.server("local", fake_openai.base_url, window=64_000)
    desk.env["PATH"] = os.environ["PATH"]
    (desk.cwd / "a.txt").write_text("alpha\nbeta\n")


def by_another(path: Path) -> None:
    path.write_text("alpha\nANOTHER'S LINE\nbeta\n")


def with_equal_time_and_size(path: Path) -> None:
    before = path.stat()
    other = path.with_name("other")
    other.write_text("ALPHA\nbeta\n")
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(path)
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (before.st_mtime_ns, before.st_size)


def emptied(path: Path) -> None:
    path.write_text("")


async def results(desk: Desk, server: FakeOpenAI, *calls: Any, session: str = "") -> tuple[str, list[str]]:
    server.add(*calls, Text("Done."))
    async with desk.session(session=session, read_only=False, sandbox="off", approvals=CHANGES) as opened:
        records = await turn(opened.conversation, "Go.")
        texts = [each.text for each in of(records, ToolResult) if isinstance(each, ToolResult)]
        return opened.conversation.session, texts


@pytest.mark.parametrize("change", [by_another, with_equal_time_and_size, emptied])
async def test_a_file_that_changed_since_is_read_again_first(
    desk: Desk, fake_openai: FakeOpenAI, change: Callable[[Path], None]
) -> None:
    session, _ = await results(desk, fake_openai, READ)
    change(desk.cwd / "a.txt")
    # The check belongs to the session and survives a change of process.
    found = (desk.cwd / "a.txt").read_bytes()
    _, (refused,) = await results(desk, fake_openai, WRITE, session=session)
    assert "a.txt has changed since you read it; read it again" in refused
    assert (desk.cwd / "a.txt").read_bytes() == found
    _, (_, written) = await results(desk, fake_openai, READ, WRITE, session=session)
    assert "overwrites" in written
    assert (desk.cwd / "a.txt").read_text() == "alpha\nBETA\n"


async def test_commands_change_files_too_and_own_changes_are_known(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    again = tool("write_file", path="a.txt", content="gamma\n")
    sed = tool("run_command", command="sed -i s/alpha/omega/ a.txt")
    _, texts = await results(desk, fake_openai, READ, WRITE, again, sed, WRITE)
    assert "overwrites" in texts[1]
    assert "overwrites" in texts[2]
    assert "overwrites" in texts[4], "sed changed nothing"
    (desk.cwd / "a.txt").write_text("alpha\nbeta\n")
    _, texts = await results(desk, fake_openai, READ, sed, WRITE)
    assert "has changed" in texts[2]
    assert (desk.cwd / "a.txt").read_text() == "omega\nbeta\n"


async def test_an_edit_keeps_what_others_wrote_and_shows_no_more_of_it(
    desk: Desk, fake_openai: FakeOpenAI
) -> None:
    session, _ = await results(desk, fake_openai, READ)
    by_another(desk.cwd / "a.txt")
    edit = tool("edit_file", path="a.txt", old_text="beta", new_text="BETA")
    _, (edited, refused) = await results(desk, fake_openai, edit, WRITE, session=session)
    assert "+1 -1" in edited
    assert "has changed" in refused
    assert (desk.cwd / "a.txt").read_text() == "alpha\nANOTHER'S LINE\nBETA\n"


async def test_a_file_that_is_gone_or_was_never_read_is_written(desk: Desk, fake_openai: FakeOpenAI) -> None:
    session, _ = await results(desk, fake_openai, READ)
    (desk.cwd / "a.txt").unlink()
    _, (written,) = await results(desk, fake_openai, WRITE, session=session)
    assert "new file" in written
    (desk.cwd / "b.txt").write_text("b\n")
    _, (written,) = await results(desk, fake_openai, tool("write_file", path="b.txt", content="c\n"))
    assert "overwrites" in written
