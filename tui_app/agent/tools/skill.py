"""The tool that loads a skill."""

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic_ai import ModelRetry, Tool
from pydantic_ai.toolsets import FunctionToolset

from tui_app.agent.skills import Skills, use_skill
from tui_app.project_files import Refused

USE_SKILL = "use_skill"
_ABOUT = "Load the instructions of a skill by its name, as listed under skills, and follow them."


def skill_toolset(skills: Callable[[], Skills]) -> FunctionToolset[Any]:
    """Build the one tool; without skills there is none."""

    async def use(name: str) -> str:
        try:
            return await asyncio.to_thread(use_skill, skills, name)
        except Refused as refused:
            raise ModelRetry(f"{refused}.") from refused

    tools = [Tool(use, name=USE_SKILL, description=_ABOUT)] if skills().found else []
    return FunctionToolset(tools, max_retries=4)
