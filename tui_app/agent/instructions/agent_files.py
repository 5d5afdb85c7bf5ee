"""Agents defined by the user or a project in Markdown files, for the model to start as subagents."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from tui_app.agent.instructions.prompts import PROMPTS, tagged
from tui_app.providers import GGUF
from tui_app.records import frozen
from tui_app.system.project_files import (
    MayRead,
    NearestFiles,
    Refused,
    anything,
    read_document,
    read_inside,
    read_nearest,
)
from tui_app.tool_specs import EDIT_FILE, GLOB, GREP, LS, READ_FILE, RUN_COMMAND, WEB_FETCH, WRITE_FILE

AGENT_FOLDERS = (".plimsoll/agents", ".claude/agents")
OWN_FOLDER = "agents"
"""Folder next to the settings, for all projects."""
MOST = 32
DESCRIPTION_CHARS = 500
BODY_CHARS = 50_000
LOOKS = (LS.name, GLOB.name, GREP.name, READ_FILE.name)
"""Tools of an agent whose file names none; every other agent has them too."""
WORKS = (WRITE_FILE.name, EDIT_FILE.name, RUN_COMMAND.name, WEB_FETCH.name)
"""Further tools that a file may name. Each asks for approval as for the session's own model."""
EVERY = "*"
_LEAST_SHARE = 0.05
_ELSEWHERE = {
    "read": READ_FILE.name, "grep": GREP.name, "glob": GLOB.name, "ls": LS.name, "write": WRITE_FILE.name,
    "edit": EDIT_FILE.name, "multiedit": EDIT_FILE.name, "bash": RUN_COMMAND.name, "webfetch": WEB_FETCH.name,
}  # fmt: skip
"""Names of the same tools in files of other programs, in lower case."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_MODEL = re.compile(r"[\w.-]+:\S+")


@frozen(kw_only=True)
class DescribedFile:
    """A file of the user or a project that is listed, and whose text is read on use."""

    name: str
    description: str
    file: Path
    root: Path | None = None
    """Folder that its file must stay within; None for the user's own."""
    may_read: MayRead = field(default=anything, repr=False, compare=False)
    """Applies the rules to a file."""

    @property
    def place(self) -> Literal["project", "user"]:
        return "user" if self.root is None else "project"

    def body(self) -> str:
        """Its current text. Raises ``Refused``."""
        read = read_inside(self.file, self.root, BODY_CHARS, self.may_read)
        if read is None:
            raise Refused("its file is gone")
        cut = f"\n\n[Cut: the file is longer than {BODY_CHARS:,} characters.]" if read.cut else ""
        return read_document(read.text).body + cut


@frozen(kw_only=True)
class AgentFile(DescribedFile):
    """One agent as it is listed."""

    tools: tuple[str, ...] = LOOKS
    model: str = ""
    """As ``provider:name``; empty for that of other subagents."""
    policy: str = ""
    """Name of its policy; empty for that of the session."""
    window: float = 1.0
    """Share of its model's window that its context may fill."""
    fork: bool = False
    """Whether it starts with everything the session has sent to its model."""
    background: bool = False
    """Whether the turn continues without its answer."""
    note: str = ""
    """The settings of its file that do not apply here."""

    def instructions(self, folder: str) -> str:
        """Its current system prompt.

        Args:
            folder: The workspace, as the model is told.

        Raises:
            Refused: if its file can no longer be read.
        """
        return PROMPTS["agent"].format(body=self.body(), folder=folder)


AgentFiles = NearestFiles[AgentFile]


def find_agents(
    folder: Path | None, config: Path, may_read: MayRead = anything, policies: Collection[str] | None = None
) -> AgentFiles:
    """Find agents. Those nearest to the working folder take precedence, the user's own come last.

    Args:
        folder: The working folder; None for only the user's own.
        config: The user's folder of settings.
        may_read: Applies the rules to a file.
        policies: Policy names that a file may use; None for any.
    """
    return read_nearest(
        (folder, config),
        AGENT_FOLDERS,
        OWN_FOLDER,
        lambda entry, root: _listed(entry, root, may_read, policies),
        MOST,
    )


def _listed(
    file: Path, root: Path | None, may_read: MayRead, policies: Collection[str] | None
) -> AgentFile | None:
    read = read_inside(file, root, BODY_CHARS, may_read) if file.suffix == ".md" else None
    if read is None:
        return None
    document = read_document(read.text)
    values = document.values
    name, description = heading(values, file.stem, _NAME, "dashes and underscores")
    if not document.body:
        raise Refused("it has no instructions")
    tools, unknown = _tools(values.get("tools", ""))
    model = values.get("model", "").strip()
    notes = [f"no tool here is called {', '.join(unknown)}"] if unknown else []
    if model and not _MODEL.fullmatch(model):
        notes += [] if model == "inherit" else [f"model {model:.40} is not in the form provider:name"]
        model = ""
    if root is not None and model.partition(":")[0] == GGUF:
        # A library of ours would read its bytes: trust covers only text.
        notes, model = [*notes, "a project names no file as a model"], ""
    policy = values.get("policy", "").strip()
    if policy and policies is not None and policy not in policies:
        raise Refused(f"policy: {policy!r:.40} is none; allowed: {', '.join(policies)}")
    fork, background = (_flag(values, name) for name in ("fork", "background"))
    # It starts with the session's cached messages, which another model or other tools would not reuse.
    unused = [each for each in ("model", "tools") if fork and values.get(each, "").strip()]
    notes += [f"a fork has the session's own {' and '.join(unused)}"] if unused else []
    return AgentFile(
        name=name,
        description=description,
        file=file,
        tools=tools,
        model="" if fork else model,
        policy=policy,
        window=_share(values.get("window", "1").strip()),
        fork=fork,
        background=background,
        note="; ".join(notes),
        root=root,
        may_read=may_read,
    )


def _flag(values: Mapping[str, str], name: str) -> bool:
    if (text := values.get(name, "false").strip().lower()) not in ("true", "false"):
        raise Refused(f"{name}: {text!r:.40} is neither true nor false")
    return text == "true"


def _share(text: str) -> float:
    number = text.removesuffix("%")
    try:
        share = float(number) / (100 if number != text else 1)
    except ValueError:
        share = 0.0
    if not _LEAST_SHARE <= share <= 1:
        raise Refused(f"window: {text!r:.40} is no share of a window; allowed: 0.05 to 1, or 5% to 100%")
    return share


def _tools(text: str) -> tuple[tuple[str, ...], list[str]]:
    """The tools named in a file, plus those of every agent; and names that match no tool."""
    names = filter(None, (each.strip("-[]\"' ") for each in re.split(r"[,\s]+", text)))
    named = {_ELSEWHERE.get(each.lower(), each): each for each in names}
    works = [each for each in WORKS if each in named or EVERY in named]
    unknown = [each for name, each in named.items() if name not in (*LOOKS, *WORKS, EVERY)]
    return (*LOOKS, *works), [f"{each:.40}" for each in unknown[:5]]


def heading(values: Mapping[str, str], own: str, letters: re.Pattern[str], signs: str) -> tuple[str, str]:
    """Name and description of what a file defines.

    Args:
        values: Of its front matter.
        own: The name if the front matter has none.
        letters: Pattern of valid names.
        signs: Characters allowed besides letters and digits, as words for the message.

    Raises:
        Refused: if they are invalid; tells why.
    """
    name = values.get("name", "") or own
    if not letters.fullmatch(name):
        raise Refused(f"its name may only have letters, digits, {signs}")
    description = " ".join(values.get("description", "").split())[:DESCRIPTION_CHARS]
    if not description:
        raise Refused("it has no description, so the model cannot tell when to use it")
    return name, description


def listed_text(kind: Literal["agents", "skills"], found: Iterable[DescribedFile]) -> str:
    """Names and descriptions as the model reads them; empty if there are none."""
    lines = [f"- {each.name}: {each.description}" for each in found]
    return tagged(kind, PROMPTS[kind], *lines) if lines else ""
