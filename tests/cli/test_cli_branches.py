"""Branches from the command line: created, listed, merged with their files, undone byte for byte."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Plimsoll
from tests.cli.test_cli_worktrees import OFFLINE, git, repository

__all__ = ["repository"]

Branch = Callable[..., tuple[str, Path]]


def files_in(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture
def begun(plimsoll: Plimsoll, repository: Path) -> str:
    """A session in a repository with uncommitted work."""
    (repository / "draft.txt").write_text("not committed\n")
    (repository / "tides.txt").write_text("Low water on Sunday is at 09:50.\nHigh water is at 15:50.\n")
    return str(plimsoll("run", "low water?", *OFFLINE).lines[0]["session"])


@pytest.fixture
def branch(plimsoll: Plimsoll, begun: str) -> Branch:
    def make(name: str, prompt: str = "") -> tuple[str, Path]:
        made = plimsoll("branch", begun, "--name", name, "--json").json
        if prompt:
            assert plimsoll("run", prompt, "--session", made["session"], *OFFLINE[:2]).code == 0
        return made["session"], Path(made["folder"])

    return make


def test_three_branches_are_merged_and_undone_byte_for_byte(
    plimsoll: Plimsoll, repository: Path, begun: str, branch: Branch
) -> None:
    one, first = branch("list them", "high water on sunday?")
    _, second = branch("compute", "what is a harbour?")
    branch("ask", "timetable?")
    assert first.parent == repository.with_name("project.worktrees")
    assert files_in(first) == files_in(repository), "what is not committed goes along"
    (first / "tides.txt").write_text("Low water on Sunday is at 09:50.\nHigh water is at 16:00.\n")
    (first / "list.txt").write_bytes(b"one\r\n\xff")
    (second / "draft.txt").unlink()
    (second / "tides.txt").write_text("Low water is at 09:50.\nHigh water is at 15:50.\n")
    before, status = files_in(repository), git(repository, "status", "--porcelain")
    view = plimsoll("context", begun, "--json").json

    planned = plimsoll("merge", begun, "list them", "--extract", "--dry-run", "--json").json
    assert (planned["merged"], planned["turns"]) == (None, 1)
    assert files_in(repository) == before, "a dry run changes nothing"
    assert "+High water is at 16:00." in planned["diff"]
    assert "list.txt: not text, 0 to 6 bytes" in planned["diff"]
    assert "high water on sunday?" in planned["brief"]
    assert "low water?" not in planned["brief"], "what was said before is known here"
    assert f"{one}#" in planned["brief"], "its numbers bear its name"

    done = plimsoll("merge", begun, one[:6], "--extract", "--json").json
    assert {(file["path"], file["verb"]) for file in done["files"]} == {
        ("tides.txt", "changed"), ("list.txt", "created"),
    }  # fmt: skip
    once = files_in(repository)
    assert once["list.txt"] == b"one\r\n\xff"
    # Lines changed on both sides are reported and never overwritten; other files are merged.
    told = plimsoll("merge", begun, "compute", "--extract")
    assert "left alone  tides.txt  it was changed here too, in the same lines\n" in told.out
    assert "removed  draft.txt" in told.out
    assert not (repository / "draft.txt").exists()
    assert files_in(repository)["tides.txt"] == once["tides.txt"]
    assert plimsoll("merge", begun, "ask", "--extract", "--json").json["files"] == []
    tree = plimsoll("tree", begun, "--json").json["tree"]
    assert [(each["name"], each["state"]) for each in tree["branches"]] == [
        ("list them", "merged"), ("compute", "merged"), ("ask", "merged"),
    ]  # fmt: skip
    assert "↳ list them" in plimsoll("tree", one).out
    assert plimsoll("export", begun, "--view", "agent").out.count("[Merged branch]") == 3

    for name in ("ask", "compute", "list them"):
        assert plimsoll("merge", begun, "--undo", "--json").json["name"] == name
    assert (files_in(repository), git(repository, "status", "--porcelain")) == (before, status)
    assert plimsoll("context", begun, "--json").json == view
    assert plimsoll("merge", begun, "--undo").err.startswith("Nothing to undo")


def test_changes_of_both_sides_become_one_where_they_do_not_meet(
    plimsoll: Plimsoll, repository: Path, begun: str, branch: Branch
) -> None:
    lines = [f"line {number}" for number in range(20)]
    (repository / "long.txt").write_text("\n".join(lines))
    _, place = branch("ends", "low water?")
    (repository / "long.txt").write_text("\n".join(["here", *lines[1:]]))
    (place / "long.txt").write_text("\n".join([*lines[:-1], "there"]))
    assert plimsoll("merge", begun, "ends", "--extract").code == 0
    assert (repository / "long.txt").read_text() == "\n".join(["here", *lines[1:-1], "there"])
    # Later work in the branch is merged automatically, relative to the earlier merge.
    assert plimsoll("merge", begun, "ends").err == (
        "ends is merged already (#18), and nothing was said there since.\n"
    )
    session = plimsoll("tree", begun, "--json").json["tree"]["branches"][0]["id"]
    plimsoll("run", "and high water?", "--session", session, *OFFLINE[:2])
    (place / "long.txt").write_text("\n".join([*lines[:-1], "there, again"]))
    again = plimsoll("merge", begun, "ends", "--extract", "--json").json
    assert (again["turns"], "and high water?" in again["brief"]) == (1, True)
    assert (repository / "long.txt").read_text().endswith("line 18\nthere, again")


def test_what_cannot_be_merged_is_said_in_a_sentence(
    plimsoll: Plimsoll, repository: Path, begun: str, branch: Branch
) -> None:
    empty, _ = branch("empty")
    assert plimsoll("merge", begun, "empty").err == "Nothing was said in empty yet. Nothing changed.\n"
    assert "has a branch Empty already" in plimsoll("branch", begun, "--name", "Empty").err
    deep = plimsoll("branch", empty, "--name", "deep", "--json").json
    refused = plimsoll("merge", begun, "deep").err
    assert refused == "deep is a branch of empty: merge it there first. Nothing changed.\n"
    assert Path(deep["folder"]).parent == repository.with_name("project.worktrees")
    assert "no branch nowhere" in plimsoll("merge", begun, "nowhere").err
    assert plimsoll("merge", begun).code == 2
    assert plimsoll("branch", begun, "--at", "1").code == 2
    gone, _ = branch("gone", "low water?")
    plimsoll("merge", begun, "gone", "--extract")
    plimsoll("sessions", "delete", gone, "--yes")
    assert "gone was merged, and deleted since" in plimsoll("merge", begun, "gone").err
    _, place = branch("moved", "low water?")
    shutil.rmtree(place)
    told = plimsoll("merge", begun, "moved", "--extract", "--json").json
    assert (told["files"], told["note"].startswith("Its folder is gone")) == ([], True)


def test_without_git_there_is_the_brief_alone(plimsoll: Plimsoll, project: Path) -> None:
    begun = plimsoll("run", "low water?", *OFFLINE).lines[0]["session"]
    made = plimsoll("branch", begun, "--json").json
    assert (made["name"], made["folder"]) == ("branch 1", str(project))
    assert made["note"].startswith("Files are not kept apart")
    plimsoll("run", "high water?", "--session", made["session"], *OFFLINE[:2])
    told = plimsoll("merge", begun, "branch 1", "--extract", "--json").json
    assert told["note"] == "Both work in the same folder: its files are as the branch left them."
    assert "high water?" in told["brief"]


def test_a_branch_leaves_before_a_prompt(plimsoll: Plimsoll, begun: str) -> None:
    plimsoll("run", "high water?", "--session", begun, *OFFLINE[:2])
    rows = plimsoll("sessions", "show", begun, "--json").json["entries"]
    second = [row["seq"] for row in rows if row["kind"] == "user"][1]
    made = plimsoll("branch", begun, "--at", second, "--json").json
    assert made["prompt"] == "high water?"
    [row] = plimsoll("tree", begun, "--json").json["tree"]["branches"]
    assert (row["at"], row["state"], row["prompts"]) == (second - 1, "open", [])


def test_a_branch_that_is_refused_leaves_nothing(plimsoll: Plimsoll, repository: Path, begun: str) -> None:
    refused = plimsoll("branch", begun, "--at", "1", "--name", "aside")
    assert (refused.code, "is not a prompt" in refused.err) == (2, True)
    assert not repository.with_name("project.worktrees").exists()
    assert "aside" not in git(repository, "for-each-ref")


def test_a_worktree_made_anew_takes_nothing_away_in_a_merge(
    plimsoll: Plimsoll, repository: Path, begun: str, branch: Branch
) -> None:
    session, folder = branch("aside", "high water?")
    shutil.rmtree(folder)
    assert plimsoll("run", "low water?", "--worktree", "aside", *OFFLINE).code == 0
    before = files_in(repository)
    assert plimsoll("merge", begun, "aside", "--extract").code == 0
    assert files_in(repository) == before, session


def test_a_file_that_was_made_anew_after_a_merge_stays(
    plimsoll: Plimsoll, repository: Path, begun: str, branch: Branch
) -> None:
    session, folder = branch("aside", "high water?")
    draft = repository / "draft.txt"
    (folder / "draft.txt").unlink()
    assert plimsoll("merge", begun, "aside", "--extract").code == 0
    assert not draft.exists()
    draft.write_text("not committed\n")
    assert plimsoll("run", "low water?", "--session", session, *OFFLINE[:2]).code == 0
    assert plimsoll("merge", begun, "aside", "--extract").code == 0
    assert draft.exists()


def test_what_a_branch_takes_back_after_a_merge_comes_with_the_next_one(
    plimsoll: Plimsoll, repository: Path, begun: str, branch: Branch
) -> None:
    before = files_in(repository)
    session, folder = branch("aside", "high water?")
    (folder / "new.txt").write_text("sea\n")
    (folder / "tides.txt").write_text("None.\n")
    (folder / "draft.txt").unlink()
    assert plimsoll("merge", begun, "aside", "--extract").code == 0
    assert files_in(repository) == files_in(folder)
    for path, data in before.items():
        (folder / path).write_bytes(data)
    (folder / "new.txt").unlink()
    assert plimsoll("run", "low water?", "--session", session, *OFFLINE[:2]).code == 0
    told = plimsoll("merge", begun, "aside", "--extract", "--json").json
    assert sorted((each["path"], each["verb"]) for each in told["files"]) == [
        ("draft.txt", "created"), ("new.txt", "removed"), ("tides.txt", "changed"),
    ]  # fmt: skip
    assert files_in(repository) == before


def test_what_a_merge_does_not_take_over_is_named(
    plimsoll: Plimsoll, repository: Path, begun: str, branch: Branch
) -> None:
    _, folder = branch("aside", "high water?")
    with (folder / "huge.bin").open("wb") as huge:
        huge.truncate(64_000_001)
    (folder / "tides.txt").chmod(0o755)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "two\nlines").write_text("sea\n")
    told = plimsoll("merge", begun, "aside", "--extract")
    assert told.out.splitlines()[-5:-1] == [
        "left alone  huge.bin  it cannot be taken over: it is larger than 64,000,000 bytes",
        "left alone  link  it is a link or a repository",
        "left alone  tides.txt  only its rights have changed",
        "created  two lines",
    ]
    assert (repository / "two\nlines").read_text() == "sea\n"


def test_what_a_branch_changes_outside_the_folder_of_its_session_is_named(
    plimsoll: Plimsoll, repository: Path, project: Path
) -> None:
    (repository / "docs").mkdir()
    begun = plimsoll("run", "low water?", "--cwd", repository / "docs", *OFFLINE).lines[0]["session"]
    made = plimsoll("branch", begun, "--name", "aside", "--json").json
    plimsoll("run", "high water?", "--session", made["session"], *OFFLINE[:2])
    top = Path(made["folder"]).parent
    (top / "tides.txt").write_text("None.\n")
    (top / "docs/new.txt").write_text("sea\n")
    told = plimsoll("merge", begun, "aside", "--extract", "--json").json
    assert [(each["path"], each["verb"], each["left"]) for each in told["files"]] == [
        ("new.txt", "created", ""),
        ("../tides.txt", "left alone", "it is outside the folder of this session"),
    ]
    assert "../tides.txt · left alone: it is outside" in plimsoll("export", begun, "--view", "agent").out
