"""``plimsoll sessions search``: what was said in any session, and where."""

from tui_app.cli.command import Program
from tui_app.cli.exits import FAILED, OK, WrongUsage
from tui_app.cli.output import moment, print_json, say, tell
from tui_app.cli.progress import ProgressLine
from tui_app.session.search import Found, as_json, search_sessions
from tui_app.ui.safe_text import one_line

MOST = 50
"""Hits that are printed."""
_TITLE_CELLS = 60
_WHO = {
    "user.message": "user",
    "assistant.message": "assistant",
    "tool.result": "tool",
    "session.compaction_complete": "summary",
}


def search(program: Program, words: str, *, json: bool) -> int:
    """Print the messages that hold everything wanted, the best fits first; finding none fails, as with grep.

    Raises:
        WrongUsage: if no word is given.
    """
    if not any(character.isalnum() for character in words):
        raise WrongUsage('Search for what? plimsoll sessions search harbour, or "two words", or harb*')
    with ProgressLine("Searching the sessions"):
        found = search_sessions(program.database, words, limit=MOST) if program.has_sessions else []
    if json:
        print_json({"query": words, "results": [as_json(each) for each in found]})
    elif found:
        for each in found:
            _print(each)
    else:
        tell("No session holds that.")
    return OK if found else FAILED


def _print(found: Found) -> None:
    title = one_line(found.title, _TITLE_CELLS) or "(untitled)"
    say(f"{found.session} #{found.seq}  {moment(found.time)}  {_WHO.get(found.type, found.type)}  {title}")
    say(f"    {one_line(found.snippet, 240)}")
