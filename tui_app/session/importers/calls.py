"""Pairing of tool calls with their results while a foreign conversation is read."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that waits for its result."""

    call_id: str
    """Id in the import; unique in it, unlike the file's own."""
    name: str


@dataclass
class Calls:
    """Gives every call an id of its own and finds the call that a result answers.

    Some programs use an id again later. Such calls are told apart here, each paired in order of
    occurrence, because a provider refuses a history in which one id stands for two calls.
    """

    renamed: int = 0
    """Calls whose id had been used before."""
    _open: dict[str, list[OpenCall]] = field(default_factory=dict)
    _used: set[str] = field(default_factory=set)

    def begin(self, file_id: str, name: str) -> str:
        """Register a call under the id it has in the file and return the id to use.

        A call without any id gets one.
        """
        base = file_id or f"imported-{len(self._used) + 1}"
        call_id, copy = base, 1
        while call_id in self._used:
            copy += 1
            call_id = f"{base}-{copy}"
        self.renamed += bool(file_id) and copy > 1
        self._used.add(call_id)
        self._open.setdefault(file_id, []).append(OpenCall(call_id, name))
        return call_id

    def finish(self, file_id: str) -> OpenCall | None:
        """The oldest call of this id that is not answered yet, now answered; None when there is none."""
        waiting = self._open.get(file_id)
        return waiting.pop(0) if waiting else None

    def finish_oldest(self, name: str = "") -> OpenCall | None:
        """Answer the oldest open call, of that tool if one is named: for files that give results no id."""
        for waiting in self._open.values():
            if waiting and (not name or waiting[0].name == name):
                return waiting.pop(0)
        return None

    def why_not(self, file_id: str) -> str:
        """Say why :meth:`finish` found no call."""
        if file_id in self._open:
            return "second result of a tool call that already has one"
        return "tool result without its call"
