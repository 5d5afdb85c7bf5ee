"""Git worktrees of isolated sessions: next to their repository, each on a branch of its own."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path

from tui_app.records import frozen
from tui_app.system.git import NO_FILE, Git, GitFailed
from tui_app.system.trust import APART

BRANCHES = "plimsoll/"
"""Prefix of their branches."""
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,59}")
_NEW, _BASE = "refs/plimsoll/new/", "refs/plimsoll/base/"
"""Refs to trees: the one a worktree is being made from, and its files when it was made."""
_MOST_NAMED = 5
_UNDER_WAY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "REBASE_HEAD")
"""Refs of git during an unfinished operation of the user."""


class NoWorktree(Exception):
    """Raised when a worktree cannot be made, merged or removed; the text is a sentence for the user."""


@contextmanager
def _refusal(what: str = "") -> Iterator[None]:
    """Raise git's message as ``NoWorktree``."""
    try:
        yield
    except GitFailed as failed:
        raise NoWorktree(f"{what}{failed}") from failed


@frozen
class Worktree:
    """One worktree."""

    name: str
    path: Path
    branch: str
    """Empty if no branch is checked out."""
    commits: int
    """Number of commits that only it reaches."""
    uncommitted: tuple[str, ...]
    """Files that differ from its last commit, new ones included."""
    tips: tuple[str, ...]
    """What a merge brings: its branch, or a detached commit; both if they diverge."""


@frozen
class Worktrees:
    """The worktrees of one repository; blocking."""

    root: Path
    """The repository's own folder."""
    env: Mapping[str, str] = field(repr=False)

    @classmethod
    def around(cls, folder: Path, env: Mapping[str, str]) -> "Worktrees":
        """Return the worktrees of the repository that contains a folder.

        Raises:
            NoWorktree: if the folder is in no repository.
        """
        with _refusal(f"{folder} is in no git repository: "):
            words = ("rev-parse", "--path-format=absolute", "--git-common-dir")
            common = Path(Git(folder, env).ask(*words).decode("utf-8", "surrogateescape").rstrip("\n"))
        found, here = cls(common.parent, env), folder.resolve()
        # A folder's own claim must not lead elsewhere.
        if common.name != ".git" or not any(map(here.is_relative_to, (found.root, found.home))):
            raise NoWorktree(f"{folder} is no checkout of {common}.")
        return found

    @property
    def home(self) -> Path:
        return self.root.with_name(f"{self.root.name}{APART}")

    @property
    def _git(self) -> Git:
        return Git(self.root, self.env)

    def enter(self, name: str) -> Path:
        """Return the named worktree, made from the last commit if missing; empty for the next free name.

        Raises:
            NoWorktree: if the name cannot be used, or git refuses.
        """
        numbers = (f"w{number}" for number in range(1, 10_000))
        name = name or next(each for each in numbers if not self._is_taken(each))
        if not _NAME.fullmatch(name):
            raise NoWorktree(f"{name[:60]!r} cannot be a worktree: use letters, digits, dots, - and _.")
        path, branch = self.home / name, f"{BRANCHES}{name}"
        if path in self._paths():
            if path.is_dir():
                return path
            # It was deleted by hand: update git's list, and check its branch out again.
            with suppress(GitFailed):
                self._git.ask("worktree", "prune")
        # The recorded base may be that of an earlier worktree with this name.
        with suppress(GitFailed):
            self._git.ask("update-ref", "-d", f"{_BASE}{name}")
        words = (str(path), branch) if self._tip(branch) else ("-b", branch, str(path), "HEAD")
        with _refusal(f"git made no worktree {name}: "):
            self._git.check_out("worktree", "add", "--quiet", *words)
        return path

    def branch_off(self, label: str, tree: str, used: Collection[Path]) -> Path:
        """Make a worktree with the files of a tree.

        A worktree left incomplete by a crash is made again, unless it was worked in since.

        Args:
            label: The desired name, changed if it is invalid or in use.
            tree: As returned by ``Git.snapshot``.
            used: The folders that sessions work in.

        Raises:
            NoWorktree: if git refuses.
        """
        slug = re.sub(r"[^A-Za-z0-9_-]+", "-", label).strip("-_")[:40].rstrip("-_") or "branch"
        names = (slug if number == 1 else f"{slug}-{number}" for number in range(1, 10_000))

        def is_free(name: str) -> bool:
            if not self._is_taken(name):
                return True
            if any(each.is_relative_to(self.home / name) for each in used):
                return False
            begun = self._tip(f"{_NEW}{name}", whole=True)
            return bool(begun) and self._is_untouched(name, begun)

        name = next(filter(is_free, names))
        with _refusal(f"git made no worktree {name}: "):
            self._git.ask("update-ref", f"{_NEW}{name}", tree)
            path = self.enter(name)
            git = Git(path, self.env)
            git.check_out("read-tree", "--reset", "-u", tree)
            git.check_out("reset", "--quiet", "--mixed")
        return path

    def _is_untouched(self, name: str, begun: str) -> bool:
        """Return whether an incomplete worktree has only the files of its creation, and no commits."""
        try:
            git = Git(self.home / name, self.env)
            now = git.snapshot()
            edited, unmade = (
                {each.path for each in git.changes(tree, now) if each.new != NO_FILE}
                for tree in (begun, "HEAD")
            )
            return edited.isdisjoint(unmade) and not self.named(name).commits
        except (NoWorktree, GitFailed, OSError):
            return False

    def keep_base(self, path: Path) -> None:
        """Record the present files of a branch's worktree as its base. Raises ``NoWorktree``."""
        with _refusal(f"git does not keep the files of {path.name}: "):
            self._git.ask("update-ref", f"{_BASE}{path.name}", Git(path, self.env).snapshot())

    def occupy(self, path: Path) -> None:
        """Record that a session works in the worktree of a branch."""
        with suppress(GitFailed):
            self._git.ask("update-ref", "-d", f"{_NEW}{path.name}")

    def base(self, path: Path) -> str:
        """Return the tree of a branch's initial files; empty if unknown."""
        return self._tip(f"{_BASE}{path.name}", whole=True)

    def all(self) -> list[Worktree]:
        """Return all existing worktrees by name. Raises ``NoWorktree`` if git does not answer."""
        return [self.named(path.name) for path in sorted(self._paths()) if path.is_dir()]

    def named(self, name: str) -> Worktree:
        """Return one worktree. Raises ``NoWorktree`` if it does not exist."""
        path = self.home / name
        if path not in self._paths():
            raise NoWorktree(f"There is no worktree {name} of {self.root}. See: plimsoll worktrees")
        if not path.is_dir():
            kept = f"its branch {BRANCHES}{name} is kept. To check it out again: plimsoll --worktree {name}"
            raise NoWorktree(f"The folder {path} is gone; {kept}")
        git = Git(path, self.env)
        with _refusal(f"git says nothing of the worktree {name}: "):
            files = tuple(each.path for each in git.status())
            branch = git.ask("rev-parse", "--abbrev-ref", "HEAD").decode("utf-8", "replace").strip()
            own = f"{BRANCHES}{name}"
            # Its own branch is removed with it, and so is anything else checked out there.
            tips = ["HEAD", *([f"refs/heads/{own}"] if self._tip(own) else [])]
            others = (f"--exclude={own}", "--branches", "--remotes", "--tags", *self._other_heads(path))
            commits = int(git.ask("rev-list", "--count", *tips, "--not", *others, "--"))
            heads = tips if branch == "HEAD" else tips[1:]
            ends = git.ask("merge-base", "--independent", *heads).decode().split() if heads else []
        tip = self._tip(own)
        ends = [own if each == tip else each for each in ends]
        return Worktree(name, path, "" if branch == "HEAD" else branch, commits, files, tuple(ends))

    def diff(self, worktree: Worktree) -> str:
        """Return what a merge would bring, as one diff; titles of commits if they change nothing.

        Raises:
            NoWorktree: if files are uncommitted, or there is no single line of commits.
        """
        if worktree.uncommitted:
            raise NoWorktree(f"{_named(worktree)} not committed: commit first. Nothing was merged.")
        if len(worktree.tips) != 1:
            there = f"what is checked out in {worktree.path} and its branch {BRANCHES}{worktree.name} part"
            raise NoWorktree(f"Nothing was merged: {there}. Bring them together there first.")
        plain, tip = ("--no-color", "--no-ext-diff", "--no-textconv"), worktree.tips[0]
        with _refusal():
            diff = self._git.ask("diff", *plain, f"HEAD...{tip}", "--")
            diff = diff or self._git.ask("log", *plain, "--no-patch", "--format=%h %s", f"HEAD..{tip}", "--")
            return diff.decode("utf-8", "replace")

    def merge(self, worktree: Worktree) -> str:
        """Merge a worktree into what is checked out in the repository; return the resulting commit.

        Raises:
            NoWorktree: if it does not merge; nothing has changed then.
        """
        if any(self._tip(head, whole=True) for head in _UNDER_WAY):
            raise NoWorktree(
                "You are in the middle of a merge, rebase or pick in the repository: end or abort that "
                "first. Nothing was merged."
            )
        before = self._tip("HEAD", whole=True)
        try:
            self._git.ask("merge", "--quiet", "--no-edit", *worktree.tips, own=True)
            return self._git.ask("log", "-1", "--format=%h %s").decode("utf-8", "replace").strip()
        except GitFailed as failed:
            if self._tip("HEAD", whole=True) == before and self._tip("MERGE_HEAD", whole=True):
                with suppress(GitFailed):
                    self._git.ask("merge", "--abort", own=True)
            raise NoWorktree(f"It does not merge, and nothing has changed. {failed}") from failed

    def check_removal(self, worktree: Worktree) -> None:
        """Refuse to remove a worktree if something would be lost. Raises ``NoWorktree``."""
        if worktree.uncommitted:
            raise NoWorktree(f"{_named(worktree)} not committed. {worktree.name} was kept.")
        words = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
        listed = Git(worktree.path, self.env).ask(*words).decode("utf-8", "replace").split("\0")
        # Folders that git ignores as a whole are made by programs, and can be made again.
        if files := [file for file in listed if file and not file.endswith("/")]:
            named = ", ".join(files[:_MOST_NAMED]) + (" and more" if files[_MOST_NAMED:] else "")
            kept = f"{worktree.name} was kept."
            raise NoWorktree(f"git ignores {named}, which would be lost: move or delete first. {kept}")
        if worktree.commits:
            what = "1 commit is" if worktree.commits == 1 else f"{worktree.commits:,} commits are"
            how = f"plimsoll worktrees merge {worktree.name}"
            raise NoWorktree(f"{what} nowhere else: {worktree.name} was kept. To bring them in: {how}")

    def remove(self, worktree: Worktree) -> None:
        """Remove a worktree with its branch, if nothing is lost.

        Raises:
            NoWorktree: if something would be lost, or git refuses.
        """
        self.check_removal(worktree)
        branch = f"{BRANCHES}{worktree.name}"
        tip = self._tip(branch)
        with _refusal(f"git kept {worktree.name}: "):
            # Without force, so that git checks again.
            self._git.check_out("worktree", "remove", str(worktree.path))
            if tip:
                # The branch is only deleted if it has not moved.
                self._git.ask("update-ref", "-d", f"refs/heads/{branch}", tip)
            self._git.ask("update-ref", "-d", f"{_BASE}{worktree.name}")
        with suppress(OSError):
            self.home.rmdir()

    def _tip(self, name: str, *, whole: bool = False) -> str:
        ref = name if whole else f"refs/heads/{name}"
        with suppress(GitFailed):
            return self._git.ask("rev-parse", "--verify", "--quiet", ref).decode().strip()
        return ""

    def _is_taken(self, name: str) -> bool:
        return (self.home / name).exists() or bool(self._tip(f"{BRANCHES}{name}"))

    def _listed(self) -> list[dict[str, str]]:
        with _refusal():
            output = self._git.ask("worktree", "list", "--porcelain", "-z").decode("utf-8", "surrogateescape")
        groups = [group.split("\0") for group in output.split("\0\0") if group]
        return [{key: value for key, _, value in (row.partition(" ") for row in group)} for group in groups]

    def _paths(self) -> set[Path]:
        return {path for each in self._listed() if (path := Path(each["worktree"])).parent == self.home}

    def _other_heads(self, path: Path) -> list[str]:
        """Return the commits of the other checkouts, on any branch."""
        others = (each for each in self._listed() if each.get("worktree") != str(path))
        return [head for each in others if (head := each.get("HEAD", "")).strip("0")]


def worktree_folder(folder: Path, name: str, env: Mapping[str, str]) -> Path:
    """Return the folder to work in: inside the named worktree, at the same path as in the repository.

    Raises:
        NoWorktree: if there is no repository, or git refuses.
    """
    trees = Worktrees.around(folder, env)
    path, here = trees.enter(name), folder.resolve()
    inside = path / here.relative_to(trees.root) if here.is_relative_to(trees.root) else path
    return inside if inside.is_dir() else path


def is_in_worktree(folder: Path) -> bool:
    """Return whether a folder is in an existing worktree that was made here."""
    apart = (each for each in (folder, *folder.parents) if each.parent.name.endswith(APART))
    try:
        return any((place / ".git").is_file() for place in apart) and folder.is_dir()
    except (OSError, ValueError):  # an impossible name
        return False


def _named(worktree: Worktree) -> str:
    files, more = worktree.uncommitted, len(worktree.uncommitted) - _MOST_NAMED
    names = ", ".join(files[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{names} {'is' if len(files) == 1 else 'are'}"
