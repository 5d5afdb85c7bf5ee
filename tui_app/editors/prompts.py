"""Prompts from an editor: text, files, or a slash command."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
    UnstructuredCommandInput,
)

from tui_app.conversation.attachments import AttachedFile
from tui_app.conversation.work import Compact, Prompt, Restate, asked_compaction
from tui_app.editors.updates import refused
from tui_app.records import frozen
from tui_app.system.pictures import UnusablePicture, fitted


@frozen
class ShowContext:
    """Request to show what fills the context."""


@frozen
class Servers:
    """Request to show the MCP servers, or to restart them."""

    reload: bool = False
    names: tuple[str, ...] = ()
    """Servers to restart; empty for all."""


Asked = Prompt | Compact | Restate | ShowContext | Servers

COMMANDS = (
    AvailableCommand(
        name="compact",
        description="Summarise old history so that the conversation fits",
        input=AvailableCommandInput(root=UnstructuredCommandInput(hint="what to keep above all")),
    ),
    AvailableCommand(name="undo", description="Undo the last compaction or /clear"),
    AvailableCommand(name="context", description="Show what fills the context"),
    AvailableCommand(
        name="mcp",
        description="Show the MCP servers, or start them again",
        input=AvailableCommandInput(root=UnstructuredCommandInput(hint="reload [NAME]")),
    ),
)
"""Commands advertised to the editor, which completes them."""


def asked(blocks: Sequence[Any], cwd: Path) -> Asked:
    """Parse a prompt.

    Args:
        blocks: The protocol's content blocks.
        cwd: Folder of the session, to which file names are relative.

    Raises:
        RequestError: if it is empty, or a command is invalid.
    """
    texts, files = [], []
    pictures: list[AttachedFile] = []
    for block in blocks:
        match block:
            case TextContentBlock():
                texts.append(block.text)
            case ResourceContentBlock():
                path = _path(block.uri, cwd)
                texts.append(f"@{path}" if path else block.uri)
                files += [path] if path else []
            case EmbeddedResourceContentBlock(resource=TextResourceContents() as resource):
                # The file may not be saved yet, so its text is sent.
                name = _path(resource.uri, cwd) or resource.uri
                longest = max((len(run) for run in resource.text.split() if set(run) == {"`"}), default=0)
                fence = "`" * max(3, longest + 1)
                texts.append(f"{name}:\n{fence}\n{resource.text}\n{fence}")
            case ImageContentBlock():
                pictures.append(_picture(block, len(pictures) + 1))
            case _:
                raise refused("Only text, files and pictures can be sent; sound cannot.")
    text = " ".join(filter(None, texts)) if files else "\n\n".join(filter(None, texts))
    if not text.strip() and not pictures:
        raise refused("The prompt is empty.")
    command = None if pictures else _command(text.strip())
    return command or Prompt(text.strip("\n"), tuple(files), brought=tuple(pictures))


def _picture(block: ImageContentBlock, number: int) -> AttachedFile:
    """Convert a picture from the editor. Raises RequestError if no provider would accept it."""
    try:
        data = base64.b64decode(block.data, validate=True)
    except ValueError:
        raise refused("A picture cannot be read: it is not base64.") from None
    try:
        picture = fitted(data)
    except UnusablePicture as unusable:
        raise refused(f"A picture cannot be sent: {unusable}.") from None
    name = Path(unquote(urlsplit(block.uri or "").path)).name or f"picture {number}"
    return AttachedFile(name, picture=picture.data, media_type=picture.media_type)


def _command(text: str) -> Asked | None:
    word, _, rest = text.partition(" ")
    match word:
        case "/compact":
            compact = asked_compaction(rest)
            if isinstance(compact, str):
                raise refused(compact)
            if compact.review:
                raise refused("A summary cannot be reviewed in an editor. Use /compact without --review.")
            return compact
        case "/undo" if not rest.strip():
            return Restate(undo=True)
        case "/context" if not rest.strip():
            return ShowContext()
        case "/mcp" if not rest.strip():
            return Servers()
        case "/mcp" if rest.split()[0] == "reload":
            return Servers(reload=True, names=tuple(rest.split()[1:]))
        case _:
            return None


def _path(uri: str, cwd: Path) -> str:
    """Return the path of a ``file:`` address, relative to the folder if inside; empty for other addresses."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    path = Path(unquote(parts.path))
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)
