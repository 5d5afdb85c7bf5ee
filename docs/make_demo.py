"""Write the tool results of the demo's recording anew: its prompts are played in a fresh copy of its project.

Run it as ``python docs/make_demo.py`` after a change of the prompts, answers or files of the demo.
"""

import asyncio
import json
import os
import re
from collections.abc import Sequence
from typing import Any

from tui_app.api_keys import ApiKeys
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.work import Prompt
from tui_app.demo.script import models
from tui_app.demo.stage import MODEL, Pace, Stage, data_file, recorded_prompts, set_up
from tui_app.events import Record, ToolResult
from tui_app.settings import Settings

FOLDER = "/home/ada/ferry-timetable"
"""Where the recording was made, by its own account."""
_TIMES = re.compile(r"(?<=after )\d+\.\d+(?= s)|(?<= in )\d+\.\d+(?=s\b)")


def opened(stage: Stage) -> OpenSession:
    env = stage.env(os.environ)
    opening = Opening(
        trust=True,
        settings=stage.settings(Settings()),
        paths=stage.paths,
        env=env,
        keys=ApiKeys(env, stage.paths),
        cwd=stage.project,
        model=MODEL,
        attended=True,
        models=lambda: models(stage.pace),
    )
    return open_session(opening)


async def results(session: OpenSession) -> list[str]:
    """Play all prompts, and return what each call of a tool came to, in order."""
    found = list[ToolResult]()

    def note(record: Record) -> None:
        if isinstance(record.data, ToolResult):
            found.append(record.data)

    session.bus.listen(note)
    await session.prepare()
    for prompt in recorded_prompts():
        session.conversation.submit(Prompt(prompt))
        await session.conversation.finish_work()
    # Calls that run side by side end in any order.
    calls = {each.tool_call_id: each.text for each in found}
    order = [part.tool_call_id for item in session.conversation.history.items()
             for part in item.message.parts if part.part_kind == "tool-call"]  # fmt: skip
    return [calls[id] for id in order]


def recording() -> str:
    """The recording with the results of tools that ran just now."""
    stage = set_up(Pace(answers_s=0.0))
    try:
        return written(asyncio.run(_played(stage)), stage)
    finally:
        stage.remove()


def written(texts: Sequence[str], stage: Stage) -> str:
    """The recording with other results, their times and folders as they were.

    Args:
        texts: What each call came to, in order.
        stage: Where they ran.
    """
    results = iter(texts)
    lines: list[dict[str, Any]] = []
    for line in data_file("session.jsonl").read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        if message["role"] == "tool":
            continue
        lines.append(message)
        for call in message.get("tool_calls", ()):
            text = next(results).replace(str(stage.project), FOLDER)
            lines.append({"role": "tool", "tool_call_id": call["id"], "content": _TIMES.sub("0.1", text)})
    return "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)


async def _played(stage: Stage) -> list[str]:
    session = opened(stage)
    try:
        return await results(session)
    finally:
        await session.close()


if __name__ == "__main__":
    data_file("session.jsonl").write_text(recording(), encoding="utf-8")
