"""What a session changed: its own files from the log, the rest from git; and commit messages."""

from pathlib import Path

import pytest

from tests.conversation.driving import Desk, turn
from tests.conversation.test_approvals import working
from tests.conversation.test_file_snapshots import two_turns
from tests.repository import begin, git
from tests.servers.behaviours import Text, tool
from tests.servers.fake_openai import FakeOpenAI
from tui_app.conversation.assembly import OpenSession
from tui_app.conversation.files.commit_proposal import propose_message
from tui_app.conversation.files.session_changes import SessionChanges, session_changes
from tui_app.conversation.requests.open_request import Opening
from tui_app.refusals import Refusal
from tui_app.system.git import Git, GitFailed


@pytest.fixture
def repository(desk: Desk) -> Path:
    (desk.cwd / "other.txt").write_text("one\n")
    return begin(desk.cwd)


def asked(desk: Desk, opened: OpenSession, **settings: object) -> Opening:
    return desk.opening(session=opened.conversation.session, **settings)


def rows(changes: SessionChanges) -> dict[str, tuple[str, str, str]]:
    return {file.path: (file.by, file.state, file.counts) for file in changes.files}


async def test_own_files_come_first_and_git_tells_the_rest(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        (repository / "other.txt").write_text("one\ntwo\n")
        (repository / "notes.md").write_text("mine\n")
        (repository / "picture.bin").write_bytes(b"\0\1")
        git(repository, "add", "other.txt")
        changes = session_changes(asked(desk, opened), opened.store)
    found = rows(changes)
    assert set(list(found)[:3]) == {"README.md", "src/new.py", "run.sh"}
    assert found["README.md"] == ("session", "changed", "+1 -1")
    assert found["src/new.py"] == ("session", "new", "+1 -0")
    assert found["other.txt"] == ("git", "changed", "+1 -0")
    assert found["notes.md"] == ("git", "new", "+1 -0")
    assert found["picture.bin"] == ("git", "new", "")
    readme = next(file for file in changes.files if file.path == "README.md")
    assert "-# Sea" in readme.diff, "since before the session, over both turns"
    assert "+# Pond" in readme.diff
    assert [file.path for file in changes.files if file.is_staged] == ["other.txt"]


async def test_what_is_as_it_was_is_no_change(desk: Desk, fake_openai: FakeOpenAI, repository: Path) -> None:
    before = (repository / "README.md").read_bytes()
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        (repository / "README.md").write_bytes(before)
        (repository / "src" / "new.py").unlink()
        changes = session_changes(asked(desk, opened), opened.store)
    assert list(rows(changes)) == ["run.sh"]


async def test_git_runs_nothing_of_the_repository_and_without_trust_is_not_asked(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    spy, spying = repository / "spied", str(repository / "spy.sh")
    (repository / "spy.sh").write_text(f"#!/bin/sh\ntouch {spy}\ncat\n")
    (repository / "spy.sh").chmod(0o755)
    # Included files count as well, and a filter's name may look like a setting with a value.
    (repository / ".git/more").write_text(f'[filter "a=b.clean"]\nprocess = {spying}\nrequired = true\n')
    for name in ("core.fsmonitor", "filter.ink.clean", "diff.external", "diff.ink.textconv", "gpg.program"):
        git(repository, "config", name, spying)
    git(repository, "config", "include.path", "more")
    git(repository, "config", "log.showSignature", "true")
    (repository / ".git/info/attributes").write_text("*.txt filter=ink diff=ink\n*.md filter=a=b.clean\n")
    (repository / "other.txt").write_text("two\n")
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        trusted = session_changes(asked(desk, opened), opened.store)
        desk.env.clear()
        changes = session_changes(asked(desk, opened), opened.store)
    assert not spy.exists(), "nothing of the repository's own runs, trusted or not"
    assert "spy.sh" in rows(trusted)
    assert "not trusted" in changes.problem
    assert {file.by for file in changes.files} == {"session"}


def test_a_folder_without_git_says_so(desk: Desk) -> None:
    assert session_changes(desk.opening(), None) == SessionChanges(
        problem="The folder is not in a git repository."
    )


async def test_a_message_is_proposed_of_what_is_staged(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        fake_openai.add(tool("write_file", path="src/new.py", content="x = 1\n"), Text("Done."))
        await turn(opened.conversation, "Make new.py, because the ferry needs it.")
        opening = asked(desk, opened)
        fake_openai.add(Text("```\nAdd new.py\n```"))
        own = await propose_message(opening)
        assert (own.text, list(own.paths)) == ("Add new.py", ["src/new.py"])
        sent = str(fake_openai.exchanges[-1].body)
        assert "+x = 1" in sent
        assert "because the ferry needs it" in sent
        assert "Begin" in sent
        (repository / "other.txt").write_text("two\n")
        git(repository, "add", "other.txt")
        fake_openai.add(Text("Change other.txt"))
        staged = await propose_message(opening, "mention the tide")
        assert (staged.text, list(staged.paths), staged.files) == ("Change other.txt", [], 1)
        sent = str(fake_openai.exchanges[-1].body)
        assert "new.py" not in sent.partition("<recent_messages>")[0]
        assert "mention the tide" in sent
    assert git(repository, "log", "--format=%s").split() == ["Begin"], "nothing is committed by itself"


async def test_what_a_rule_keeps_from_being_read_is_in_no_message(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    rules = {"deny": ("read_file .env", "read_file src/own.py")}
    desk.env["OPENAI_API_KEY"] = "deep-w4ter-pass"
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        fake_openai.add(tool("write_file", path="src/own.py", content="hidden = 1\n"), Text("Done."))
        await turn(opened.conversation, "Make it.")
        opening = asked(desk, opened, approvals=rules)
        fake_openai.add(Text("Change it"))
        await propose_message(opening)
        sent = str(fake_openai.exchanges[-1].body)
        assert "src/own.py: changed; a rule keeps it from being read" in sent
        assert "hidden = 1" not in sent
        (repository / ".env").write_text("plain words that are hidden\n")
        (repository / "*").write_text("a name with a meaning\n")
        (repository / "other.txt").write_text("two, with deep-w4ter-pass\n")
        git(repository, "add", "-f", ".env", "other.txt", "*")
        fake_openai.add(Text("Change other.txt"))
        await propose_message(opening)
        sent = str(fake_openai.exchanges[-1].body)
    assert ".env: changed; a rule keeps it from being read" in sent
    assert "hidden" not in sent.partition("<recent_messages>")[0]
    assert "two, with [secret removed]" in sent
    assert "a name with a meaning" in sent


async def test_without_a_model_the_files_are_named(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    async with working(desk, fake_openai, attended=False, yes=True) as opened:
        await two_turns(desk, fake_openai, opened)
        opening = asked(desk, opened, summarization_model="offline:extractive")
        proposal = await propose_message(opening)
        assert proposal.text.startswith("Change README.md and 2 more files")
        assert proposal.reason
        done = Git(repository, opening.outward_env()).commit("Rename the sea\n", proposal.paths)
    assert done.endswith("Rename the sea")
    assert git(repository, "show", "--format=", "--name-only").split() == [
        "README.md",
        "run.sh",
        "src/new.py",
    ]


def test_a_commit_takes_the_files_that_were_named_and_filters_of_the_user_count(
    desk: Desk, repository: Path
) -> None:
    for name in ("*", ":(top)", "kept back.txt"):
        (repository / name).write_text("ink\n")
    git(repository, "config", "filter.ink.clean", "tr i o")
    (repository / ".git/info/attributes").write_text("* filter=ink\n")
    asking = Git(repository, desk.opening().outward_env())
    assert {row.path for row in asking.status()} == {"*", ":(top)", "kept back.txt"}
    asking.commit("Add a star", ["*"])
    assert git(repository, "show", "--format=", "--name-only").split() == ["*"]
    assert git(repository, "show", "HEAD:*") == "onk\n", "what the user encrypts is not committed as it is"


def test_a_repository_among_the_files_of_another_is_none(desk: Desk, repository: Path) -> None:
    inner = repository / "docs"
    git(repository, "clone", "-q", "--bare", ".", "docs")
    git(inner, "config", "core.bare", "false")
    git(inner, "config", "core.worktree", str(repository))
    asking = Git(inner, desk.opening().outward_env())
    with pytest.raises(GitFailed):
        asking.status()


async def test_nothing_to_commit_and_refusals_are_sentences(
    desk: Desk, fake_openai: FakeOpenAI, repository: Path
) -> None:
    with pytest.raises(Refusal, match="Nothing to commit"):
        await propose_message(desk.opening())
    (repository / "other.txt").write_text("staged\n")
    git(repository, "add", "-A")
    staged = await propose_message(desk.opening(model="offline:extractive"))
    assert staged.text == "Change other.txt"
    hook = repository / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\necho no commits on Sundays >&2\nexit 1\n")
    hook.chmod(0o755)
    (repository / "other.txt").write_text("two\n")
    with pytest.raises(GitFailed, match="no commits on Sundays"):
        Git(repository, desk.opening().outward_env()).commit("Change\n", ["other.txt"])
