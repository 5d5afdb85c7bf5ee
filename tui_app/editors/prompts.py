"""What an editor sends as a prompt: text, files it points to, files it sends along, or a slash command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    EmbeddedResourceContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
    UnstructuredCommandInput,
)

from tui_app.conversation.work import Compact, Prompt, Restate, asked_compaction
from tui_app.editors.troubles import refused


@dataclass(frozen=True, slots=True)
class ShowContext:
    """The person wants to see what fills the context."""


Asked = Prompt | Compact | Restate | ShowContext
COMMANDS = (
    AvailableCommand(
        name="compact",
        description="Summarise old history so that the conversation fits",
        input=AvailableCommandInput(root=UnstructuredCommandInput(hint="what to keep above all")),
    ),
    AvailableCommand(name="undo", description="Take the last compaction or /clear back"),
    AvailableCommand(name="context", description="Show what fills the context"),
)
"""Advertised to the editor, which completes them."""


def asked(blocks: Sequence[Any], cwd: Path) -> Asked:
    """Read a prompt.

    Args:
        blocks: The protocol's content blocks.
        cwd: Folder of the session; files are named relative to it.

    Raises:
        RequestError: if nothing is said, or a command cannot be read.
    """
    texts, files = [], []
    for block in blocks:
        match block:
            case TextContentBlock():
                texts.append(block.text)
            case ResourceContentBlock():
                path = _path(block.uri, cwd)
                texts.append(f"@{path}" if path else block.uri)
                files += [path] if path else []
            case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
                texts.append(_embedded(resource, cwd))
            case _:
                raise refused("Only text and files can be sent; pictures and sound cannot.")
    text = " ".join(filter(None, texts)) if files else "\n\n".join(filter(None, texts))
    if not text.strip():
        raise refused("The prompt is empty.")
    return _command(text.strip()) or Prompt(text.strip("\n"), tuple(files))


def _command(text: str) -> Asked | None:
    word, _, rest = text.partition(" ")
    match word:
        case "/compact":
            wanted = asked_compaction(rest)
            if isinstance(wanted, str):
                raise refused(wanted)
            if wanted.review:
                raise refused("A summary cannot be reviewed in an editor. Use /compact without --review.")
            return wanted
        case "/undo" if not rest.strip():
            return Restate(undo=True)
        case "/context" if not rest.strip():
            return ShowContext()
        case _:
            return None


def _path(uri: str, cwd: Path) -> str:
    """The path that a ``file:`` address names, relative to the folder where it is in it; else empty."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = Path(unquote(parts.path))
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)


def _embedded(resource: TextResourceContents, cwd: Path) -> str:
    """A text the editor sends along, which may not be saved yet."""
    name = _path(resource.uri, cwd) or resource.uri
    longest = max((len(run) for run in resource.text.split() if set(run) == {"`"}), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{name}:\n{fence}\n{resource.text}\n{fence}"
