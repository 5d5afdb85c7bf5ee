"""The plan of a merge: a branch's brief, and its effect on files."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tui_app.agent.tools.workspace import Workspace
from tui_app.context.binding.forms import with_session
from tui_app.context.compaction.handoff import Brief
from tui_app.context.history import ignore
from tui_app.context.message_marks import inbox_message, merged_brief, merged_text
from tui_app.conversation.branches.branch_files import FilesOfBranch, earlier_contents, files_of_branch
from tui_app.conversation.handoff import Listener, brief_of_session
from tui_app.conversation.inspection import inspect_session
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.requests.policies import policy_of
from tui_app.conversation.work import Merge
from tui_app.events import BranchMerged, FilesRestored, MergedFile, data_of
from tui_app.records import frozen, like
from tui_app.refusals import Refusal
from tui_app.session.background import where_open
from tui_app.session.branches import Branch, branch_named, merges_in
from tui_app.session.kept_files import KeptFiles
from tui_app.session.model_state import newest_records
from tui_app.session.stores.database import open_store
from tui_app.session.workspace import SessionFolder
from tui_app.system.secrets import mask_secrets
from tui_app.text import count, plain_line

OPEN = "{} is open in {}. Close it there, then merge. Nothing changed."
MERGED = "{} is merged already (#{}), and nothing was said there since."
TOO_LARGE = "The brief has {:,} tokens, more than half of what {} takes. Shorten it. Nothing changed."


@frozen(kw_only=True)
class MergePlan:
    """What merging a branch would do; nothing has changed yet."""

    branch: Branch
    brief: Brief
    files: FilesOfBranch
    room: int
    """Maximum tokens of the brief."""
    model: str
    count: Callable[[str], int]

    @property
    def turns(self) -> int:
        return len(self.branch.news)

    def message(self, text: str, files: Sequence[MergedFile]) -> str:
        """The brief as sent to the model, with the list of files."""
        lines = [
            f"- {plain_line(file.path)} · {file.verb}{f': {file.left}' if file.left else ''}"
            for file in files
        ]
        tail = "## Files here, once merged\n" + ("\n".join(lines) or f"- {self.files.note or 'none changed'}")
        return merged_text(f"{text.strip()}\n\n{tail}", self.branch.info.id)

    def work(self, text: str = "", *, with_files: bool = True) -> Merge:
        """The work that does the merge.

        Args:
            text: The brief as the user edited it; empty for the original.
            with_files: Whether to merge its files.

        Raises:
            Refusal: if the brief is empty, or too large.
        """
        brief, info = self.brief, self.branch.info
        text = mask_secrets(text or brief.text)
        if not text.strip():
            raise Refusal("The brief is empty. Nothing changed.")
        files = self.files.files
        if not with_files:
            files = tuple(replace(file, left=file.left or "you left it") for file in files)
        whole = self.message(text, files)
        if (size := self.count(whole)) > self.room:
            raise Refusal(TOO_LARGE.format(size, self.model))
        edited = text.strip() != brief.text.strip()
        event = like(
            BranchMerged, brief, text=whole, branch=info.id, name=self.branch.name, until=info.events,
            turns=self.turns, files=files, edited=edited, claims_marked=brief.marked, tokens={},
        )  # fmt: skip
        return Merge(event, self.files.contents)


async def plan_merge(
    opening: Opening, name: str, progress: Listener = ignore, *, extract: bool = False, focus: str = ""
) -> MergePlan:
    """Plan the merge of a branch. Nothing is logged, and no file changes.

    Args:
        opening: The parent session and its folder; its model writes the brief.
        name: Name or id of the branch.
        progress: Receives what the model has written so far.
        extract: Whether to write the brief without a model.
        focus: What the notes should keep above all.

    Raises:
        Refusal: if there is no such branch, it is open, or there is nothing to merge.
        SessionNotFound, UnknownModel, sqlite3.Error: as ``inspect_session`` does.
    """
    branch, earlier, carried = await asyncio.to_thread(_read, opening, name)
    since = branch.since
    apart = replace(opening, session=branch.info.id, cwd=Path(branch.info.cwd), mode=None)
    inspection = await inspect_session(apart)
    with closing(inspection):
        history = inspection.history
        if not carried and not any(item.key > since for item in history.everything()):
            raise Refusal(f"Nothing was said in {branch.name} that is not here. Nothing changed.")
        policy = policy_of(inspection.store, branch.info.id, opening.settings, opening.policy)
        brief = await brief_of_session(
            inspection,
            apart,
            extract=extract,
            policy=policy,
            goal=focus or branch.name,
            heading=f"## Branch\n{branch.name} · {count(len(branch.news), 'turn')}",
            since=since,
            carried=carried,
            progress=progress,
        )
        here = Workspace(opening.cwd, closed=opening.paths.own_folders)
        folder, env = Path(branch.info.cwd), opening.outward_env()
        files = await asyncio.to_thread(files_of_branch, folder, here, env, earlier)
        text = with_session(brief.text, branch.info.id, branch.at)
        text = text.replace(f"{branch.info.cwd}/", "")
        counter = history.counter
        return MergePlan(
            branch=branch,
            brief=replace(brief, text=text),
            files=files,
            room=history.usage().window.effective // 2,
            model=history.model,
            count=lambda words: counter.message(inbox_message(words)).total,
        )


def _read(opening: Opening, name: str) -> tuple[Branch, Mapping[str, bytes | None], str]:
    """The branch, its files' contents at earlier merges, and the briefs of branches merged into it."""
    with closing(open_store(opening.database, read_only=True)) as store:
        session = store.info(opening.session).id
        branch = branch_named(store, session, name)
        if holder := where_open(store, opening.paths.sessions_dir, branch.info.id):
            raise Refusal(OPEN.format(branch.name, holder))
        if branch.state == "merged":
            raise Refusal(MERGED.format(branch.name, branch.merged))
        if not branch.has_news:
            raise Refusal(f"Nothing was said in {branch.name} yet. Nothing changed.")
        merges = merges_in(store, session).items()
        mine = {seq: data.files for seq, data in merges if data.branch == branch.info.id}
        for record in newest_records(store, session, FilesRestored):
            done = data_of(record, FilesRestored)
            if done is not None and not done.undo and done.to in mine:
                mine[done.to] = tuple(file for file in mine[done.to] if file.path not in done.skipped)
        kept = KeptFiles(SessionFolder.named(opening.paths.sessions_dir, session).kept_files)
        earlier = earlier_contents(kept, [file for files in mine.values() for file in files])
        theirs = merges_in(store, branch.info.id).items()
        carried = "\n\n".join(merged_brief(data.text) for seq, data in theirs if seq > branch.since)
        return branch, earlier, carried
