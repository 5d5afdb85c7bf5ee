"""Replacements of compacted conversations, for a human to proofread."""

import asyncio

from pydantic_ai.messages import ModelRequest, ModelResponse

from tests.quality.governed import Governed, written_in
from tests.quality.statement_scores import LINES, OWN_SETS, line_of, read_sets
from tests.quality.test_safety import text
from tests.quality.transcripts import read_transcript

WINDOW = 32_000


def replacements() -> str:
    """For each made-up session: what code writes, and a model's notes with sources and states."""
    shown = list[str]()
    folders = sorted(path.parent for path in OWN_SETS.glob("*/statements.json"))
    for folder, each in zip(folders, read_sets(OWN_SETS), strict=True):
        read = read_transcript(next(folder.glob("session.json*")))
        assert read is not None
        messages = list(read.messages)
        if isinstance(messages[-1], ModelResponse):
            messages.append(ModelRequest.user_text_prompt("Go on."))
        governed = Governed(text(), WINDOW)
        asyncio.run(governed.send(messages))
        shown.append(
            f"==== {folder.name}: written by code\n\n{written_in(asyncio.run(governed.compact())).strip()}\n"
        )
        notes = [line_of(statement, each.passages, "right source") for statement in each.statements[:LINES]]
        bound = each.binder.bind("\n".join(["## Findings", *notes])).text
        shown.append(f"==== {folder.name}: notes, some of them false\n\n{bound.strip()}\n")
    return "\n".join(shown)
