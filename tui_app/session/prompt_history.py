"""What a person has said before in a folder, over all of its sessions."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tui_app.events import UserMessage
from tui_app.session.location import Database
from tui_app.session.stores import has_begun, open_store
from tui_app.session.user_view import is_interruption

MOST = 500
"""Prompts that are listed, the newest ones."""
SEARCHED_CHARS = 2_000
"""Characters of each that are listed and searched; the rest is read when it is wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastPrompt:
    """One prompt, or the beginning of a long one."""

    text: str
    time: float = 0.0
    """Seconds since the epoch; 0 for one that was typed in the open session."""
    session: str = ""
    """Where the rest of it is; empty when ``text`` is all of it."""
    seq: int = 0


def past_prompts(database: Database, cwd: Path) -> list[PastPrompt]:
    """Prompts of a folder's sessions, newest first, each text once; blocks on the disk or the network.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    if not has_begun(database):
        return []
    with closing(open_store(database, read_only=True)) as store:
        rows = store.prompts(str(cwd), MOST, SEARCHED_CHARS)
    found: dict[str, PastPrompt] = {}
    for session, seq, time, text in rows:
        if is_interruption(text):
            continue
        whole = len(text) < SEARCHED_CHARS
        found.setdefault(
            text, PastPrompt(text=text, time=time, session="" if whole else session, seq=0 if whole else seq)
        )
    return list(found.values())


def whole_prompt(database: Database, prompt: PastPrompt) -> str:
    """All of a prompt; what is listed of it where its session has been deleted meanwhile. Blocks.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    if not prompt.session:
        return prompt.text
    with closing(open_store(database, read_only=True)) as store:
        record = store.record(prompt.session, prompt.seq)
    return record.data.text if record is not None and isinstance(record.data, UserMessage) else prompt.text
