"""What every request carries beside the messages: instructions and tool definitions."""

from collections.abc import Callable, Sequence

from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.requests.request_meter import sent_tools
from tui_app.usage import Breakdown


class RequestOverhead:
    """As far as it is known: what was put together at the start, then what the last request really held.

    Tools may come and go, and those of another agent are known only then.

    Attributes:
        project: The part of them that is counted as memory: those of the project, names of skills.
        servers: Another such part: what MCP servers say.
        surroundings: The part that stands last, and changes from session to session.
        pieces: The part of the project by what it is from.
    """

    def __init__(self) -> None:
        self.instructions = ""
        self.tools: Sequence[ToolDefinition] = ()
        self.project: Callable[[], str] = str
        self.servers: Callable[[], str] = str
        self.surroundings: Callable[[], str] = str
        self.pieces: Callable[[], Sequence[tuple[str, str]]] = tuple

    def sources(self, text: str) -> Sequence[tuple[str, str]]:
        """Whose the pieces of a text of the instructions are."""
        if text == self.project():
            return self.pieces()
        if text == self.servers():
            return [("what servers say", text)]
        if text != self.surroundings():
            return [("system prompt", text)]
        lines = text.split("\n")
        return [("surroundings", "\n".join(lines[:-2])), ("clock", "\n".join(lines[-2:]))]

    def tokens(self, counter: TokenCounter) -> Breakdown:
        memory = counter.instructions(self.project())
        memory += counter.instructions(self.servers())
        system = "\n\n".join(filter(None, (self.instructions, self.surroundings())))
        return counter.carried(system, self.tools) + Breakdown(memory=memory)

    async def note_request(self, request: ModelRequestContext) -> None:
        """Note what a request really holds."""
        parameters = request.model_request_parameters
        parts = [part.content for part in parameters.instruction_parts or ()]
        apart = self.project(), self.servers(), self.surroundings()
        self.instructions = "\n\n".join(part for part in parts if part not in apart)
        self.tools = sent_tools(parameters)
