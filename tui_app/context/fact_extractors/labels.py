"""Labels of the groups of facts that code puts below a summary, and what of them a summary may not forge."""

import re

KIND_LABELS: dict[str, str] = {
    "rule": "Rules",
    "request": "Requests",
    "error": "Open errors",
    "question": "Open questions",
    "todo": "Tasks",
    "file": "Files",
    "decision": "Answers and decisions",
    "command": "Commands",
    "detail": "Details",
}
"""Labels of the groups, by kind."""
AGREED = "Agreed"
"""What answers and decisions were called before; it says too much of a question that was passed by."""
USERS_LABELS = frozenset((*(KIND_LABELS[kind].casefold() for kind in ("rule", "request")), AGREED.casefold()))
"""Those whose lines are the user's. Decisions may be the assistant's own; an answer says whose it is."""
FIRST_REQUEST = "First request"
LATEST_REQUEST = "Latest request"
LAST_DONE = "Last done: "
QUOTED_REQUEST = re.compile(rf"(?:{FIRST_REQUEST}|{LATEST_REQUEST}) \(#-?\d{{1,12}}\): ")
"""What stands before a request that is quoted whole."""
UNCONFIRMED = "(unconfirmed)"
"""Stands behind a sentence that ascribes to the user what no message of theirs says."""

_LINE = re.compile(rf"(?m)^\*\*({'|'.join((*KIND_LABELS.values(), AGREED))}):?\*\*:?[ \t]{{0,40}}$")


def unlabelled(summary: str) -> str:
    """A summary whose lines cannot pass for the groups that stand below it: what a model wrote is no fact.

    Args:
        summary: Notes without the groups below them, whoever wrote them.
    """
    return _LINE.sub(r"\1:", summary)


def with_facts(summary: str, facts: str) -> str:
    """Notes and the groups of facts below them, as one text in which only those are groups.

    Args:
        summary: The notes; may be empty.
        facts: What code has put below them; may be empty.
    """
    return "\n\n".join(filter(None, (unlabelled(summary), facts)))
