"""A short made-up session that contains everything the scores measure."""

from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, says, shell, user
from tests.quality.cases import Case
from tests.quality.contexts import Context
from tests.quality.scores import Scores, score
from tests.quality.truth import truth_of

FIRST = "Add CSV import to the address book, please."
RULE = "Never touch the migrations folder."
LATEST = "Now the docs."
OPEN_LINE = "ValueError: bad header in importer.py"

BEFORE: list[ModelMessage] = [
    *user(f"{FIRST} {RULE}"),
    *says("I read the model first."),
    *call("Read", {"file_path": "/w/src/model.py"}, "class AddressBook: addressLines = rareHelper()"),
    *call("Write", {"file_path": "/w/src/importer.py", "content": "def importRows(): ..."}, "File created"),
    *call("Edit", {"file_path": "/w/src/model.py", "old_string": "a", "new_string": "b"}),
    *shell("rm /w/src/old.py"),
    *shell("make lint", "error: unused import\nexit code 1", "failed"),
    *shell("make lint", "clean"),
    *shell("pytest -x", f"{OPEN_LINE}\nexit code 1", "failed"),
    *user("Actually, use semicolons instead of commas."),
    *says("Fine. " * 200),
    *user(LATEST),
]
AFTER: list[ModelMessage] = [
    *says("Next I fix importRows."),
    *call("Edit", {"file_path": "/w/src/importer.py", "old_string": "x", "new_string": "rareHelper()"}),
]
CASE = Case(name="made-up", format="none", real=False, before=tuple(BEFORE), after=tuple(AFTER), tokens=1_000)
GOOD = f"""## Intent
- First request (#1): {FIRST} {RULE}
- Latest request (#20): {LATEST}

## Constraints and preferences
- Actually, use semicolons instead of commas. (#17)

## Files and commands
- /w/src/importer.py · created (#6)
- /w/src/model.py · edited (#8)
- /w/src/old.py · deleted (#10)

## Errors
- `pytest -x` · failed: {OPEN_LINE} (#16)

## Details to keep
- src/model.py: rareHelper (#4)
- src/importer.py: importRows (#6)
"""


def characters(text: str) -> int:
    """Token count that needs no tokenizer."""
    return -(-len(text) // 4)


def scored(text: str, *, ours: bool = True) -> Scores:
    """Score a text as the context of the session."""
    size = characters(text)
    context = Context("kept", text, size, text if ours else "", size if ours else 0, ours=ours)
    return score(context, truth_of(CASE), CASE.tokens, characters)
