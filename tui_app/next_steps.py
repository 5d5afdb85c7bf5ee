"""Possible next steps, declared once: events name steps, and every front end words them its own way."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from tui_app.chat_keys import label_of
from tui_app.records import frozen


@frozen
class Step:
    """A possible next step."""

    does: str
    """What its key does, following the key in a sentence."""
    key: str = ""
    """Name of its key, which the settings may change; empty if only a command does it."""
    command: str = ""
    """Its command on the screen if it has no key."""
    shell: str = ""
    """The whole phrase for a shell; empty if a shell cannot do it."""
    editor: str = ""
    """The whole phrase for an editor."""


STEPS: Mapping[str, Step] = MappingProxyType(
    {
        "details": Step(
            "shows details",
            key="chat.details",
            shell="--json has the details",
            editor="plimsoll.log has the details",
        ),
        "compact": Step(
            "compacts the conversation",
            key="chat.compact",
            shell="plimsoll compact shortens the conversation",
            editor="/compact shortens the conversation",
        ),
        "context": Step(
            "shows what takes room",
            key="chat.context",
            shell="plimsoll context shows what takes room",
            editor="/context shows what takes room",
        ),
        "models": Step(
            "picks another model",
            key="chat.models",
            shell="--model picks another model",
            editor="the model menu has others",
        ),
        "retry": Step(
            "sends it again",
            command="/retry",
            shell="plimsoll run sends it again",
            editor="send the prompt again",
        ),
        "resend": Step("sends the prompt again", key="prompt.send"),
        "effort": Step("lowers the effort", command="/effort", shell="--effort lowers the effort"),
        "rewind": Step("leaves it out", command="/rewind"),
        "trust": Step(
            "trusts it",
            command="/trust",
            shell="plimsoll trust trusts it, --trust for one start",
            editor="plimsoll trust trusts it",
        ),
        "servers": Step(
            "shows servers and restarts them", command="/mcp", editor="/mcp reload restarts the servers"
        ),
    }
)


def on_screen(steps: Iterable[str], keymap: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the keys or commands of the screen, each with what it does.

    Args:
        steps: Names of steps; unknown ones, of a later version, are left out.
        keymap: Keys changed in the settings.
    """
    known = [STEPS[name] for name in dict.fromkeys(steps) if name in STEPS]
    return tuple((label_of(step.key, keymap) if step.key else step.command, step.does) for step in known)


def screen_text(sentence: str, steps: Iterable[str], keymap: Mapping[str, str]) -> str:
    """Return a sentence followed by the next steps on the screen."""
    return _append_steps(sentence, [f"{way} {does}" for way, does in on_screen(steps, keymap)])


def shell_text(sentence: str, steps: Iterable[str]) -> str:
    """Return a sentence followed by the next steps in a shell."""
    return _append_steps(sentence, [STEPS[name].shell for name in dict.fromkeys(steps) if name in STEPS])


def editor_text(sentence: str, steps: Iterable[str]) -> str:
    """Return a sentence followed by the next steps in an editor."""
    return _append_steps(sentence, [STEPS[name].editor for name in dict.fromkeys(steps) if name in STEPS])


def _append_steps(sentence: str, ways: Iterable[str]) -> str:
    listed = ", ".join(filter(None, ways))
    # Keys and flags stay as they are typed.
    begun = listed[:1].upper() + listed[1:] if listed.partition(" ")[0] in ("the", "send") else listed
    return f"{sentence} {begun}{'.' if listed else ''}".strip()
