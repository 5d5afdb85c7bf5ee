"""What settings may say of hooks: the user's own commands that run when something happens.

They are read from the user's own settings file and nowhere else: neither the environment, which a project
can set for whoever enters its folder, nor any file of a project defines commands to run.

The triggers are listed here again because settings are read before the governor; tests hold them to it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import NamedTuple

from tui_app.settings.rules import FileOnly, Flag, Group, Number, Refused, Rule, inside, show
from tui_app.tool_specs import WRITE_FILE

TRIGGERS = (
    "manual", "background", "blocking", "turn_end", "overflow", "model_switch", "memory_pressure", "headless",
)  # fmt: skip
"""Why a compaction may start."""
BEGINNINGS = ("new", "resume")
"""How a session may start."""
HOOK_EVENTS: Mapping[str, tuple[str, ...] | None] = {
    "preCompact": TRIGGERS,
    "postCompact": TRIGGERS,
    "preTool": None,
    "postTool": None,
    "sessionStart": BEGINNINGS,
    "sessionEnd": (),
}
"""When a hook may run, and the words its ``match`` may choose from; None is any word, for names of tools."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command to run."""

    command: tuple[str, ...] | str
    """Program and arguments; a string is a line for the shell."""
    timeout_s: float = 60.0
    """Seconds it may take before it is ended."""
    match: tuple[str, ...] = ()
    """Patterns of which one must fit the trigger, as in file names; none fits all."""

    @property
    def shell(self) -> bool:
        """Whether a shell runs it."""
        return isinstance(self.command, str)

    def fits(self, trigger: str) -> bool:
        """Whether it is meant for this trigger."""
        return not self.match or any(fnmatchcase(trigger, pattern) for pattern in self.match)

    def to_json(self) -> dict[str, object]:
        """As plain values, the way the settings file says it."""
        return {**asdict(self), "shell": self.shell}


class _Command(NamedTuple):
    """A program with its arguments, or a line for a shell."""

    allowed: str = 'a list such as ["notify-send", "compacted"], or with shell = true a string'

    def check(self, value: object) -> object:
        words = value if isinstance(value, list) else [value]
        # No program can be called with a zero byte in a word.
        right = all(isinstance(word, str) and "\0" not in word for word in words)
        if not words or not right or not str(words[0]).strip():
            raise Refused(show(value), self.allowed)
        return tuple(words) if isinstance(value, list) else value

    def read(self, text: str) -> object:
        return self.check(text)


class _Match(NamedTuple):
    """One pattern or several; where the words are known each must fit one of them."""

    words: tuple[str, ...] | None

    def check(self, value: object) -> tuple[str, ...]:
        patterns = value if isinstance(value, list) else [value]
        for pattern in patterns:
            if not isinstance(pattern, str) or not pattern.strip() or not self._known(pattern):
                names = f'names of tools such as "{WRITE_FILE.name}" or "*_file", one or a list'
                known = f"{', '.join(self.words or ())}, one or a list"
                allowed = names if self.words is None else known if self.words else "nothing: leave it out"
                raise Refused(show(pattern), allowed)
        return tuple(patterns)

    def _known(self, pattern: str) -> bool:
        return self.words is None or any(fnmatchcase(word, pattern) for word in self.words)

    def read(self, text: str) -> tuple[str, ...]:
        return self.check(text)


class _HookRule(NamedTuple):
    """One hook: its keys one by one, then whether command and ``shell`` go together."""

    keys: Group

    def check(self, value: object) -> dict[str, object]:
        checked = self.keys.check(value)
        command, shell = checked["command"], checked.pop("shell", False)
        if isinstance(command, str) and not shell:
            raise Refused(
                show(command), 'a list such as ["sh", "check.sh"]; a string needs shell = true', "command"
            )
        if shell and not isinstance(command, str):
            raise Refused("true", "true only where command is a string", "shell")
        return checked

    def read(self, text: str) -> dict[str, object]:
        return self.check(self.keys.read(text))


class _Hooks(NamedTuple):
    """The hooks of one event, in the order in which they run."""

    rule: Rule

    def check(self, value: object) -> list[object]:
        if not isinstance(value, list):
            raise Refused(show(value), "a list of tables, each below its own [[hooks.…]] in two brackets")
        return [inside(str(number), self.rule, item) for number, item in enumerate(value, 1)]

    def read(self, text: str) -> list[object]:
        return self.check(text)


HOOKS = FileOnly(
    Group(
        {
            event: _Hooks(
                _HookRule(
                    Group(
                        {
                            "command": _Command(),
                            "shell": Flag(),
                            "timeout_s": Number(0.1, 3_600.0, "seconds from 0.1 to 3600"),
                            "match": _Match(words),
                        },
                        required=("command",),
                    )
                )
            )
            for event, words in HOOK_EVENTS.items()
        },
        called="event",
    ),
    "hooks are commands that run",
)


def build_hooks(checked: Mapping[str, list[dict[str, object]]]) -> dict[str, tuple[Hook, ...]]:
    """The hooks of each event from their checked tables."""
    return {event: tuple(Hook(**table) for table in tables) for event, tables in checked.items()}  # type: ignore[arg-type]
