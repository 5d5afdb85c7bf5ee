"""A reproducible world: fixed clock, ids, environment and folder."""

import asyncio
import fcntl
import hashlib
import importlib
import io
import os
import pkgutil
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path
from types import BuiltinFunctionType
from typing import ParamSpec, TypeVar
from unittest.mock import patch

import anyio.to_thread
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse

import tui_app
from tui_app import sandbox
from tui_app.__main__ import main

FOLDER = Path("/tmp/plimsoll-golden")
"""Fixed, because the model is sent the folder's name, which counts as tokens."""
START_S = 1_767_323_045.0
"""2026-01-02 03:04:05 UTC."""
_STEP_S = 60.0
_COLUMNS = "100"
_P, _T = ParamSpec("_P"), TypeVar("_T")


class _AnyDatetime(type):
    """Makes real ``datetime`` objects instances of the pinned class."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, datetime)


class _PinnedDatetime(datetime, metaclass=_AnyDatetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return datetime.fromtimestamp(time.time(), tz)


def _pinned_monotonic() -> float:
    """Make everything take no time."""
    return 1_000.0


async def _at_once(work: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T:
    """Run the work in place of a thread, so that the order of results is fixed."""
    return work(*args, **options)


async def _tool_at_once(work: Callable[..., _T], *args: object, **_how: object) -> _T:
    """The same for tools."""
    return work(*args)


def _pinned_now_utc() -> datetime:
    """Runs with the globals of pydantic-ai's module, so it has to import what it needs."""
    import time
    from datetime import UTC, datetime

    return datetime.fromtimestamp(time.time(), UTC)


@dataclass(slots=True)
class World:
    """The world in which commands run; each runs one minute after the previous one."""

    now: float = START_S
    made: list[str] = field(default_factory=list)
    """Session ids in order of creation."""
    home: Path = FOLDER / "home"
    project: Path = FOLDER / "project"

    def run(self, *args: str, stdin: str = "") -> tuple[int, str, str]:
        """Run a command in this process; returns exit code, stdout and stderr."""
        self.now += _STEP_S
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        typed = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
        with patch.object(sys, "stdin", typed), redirect_stdout(out), redirect_stderr(err):
            code = main(args)
        texts = []
        for stream in (out, err):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
        return code, texts[0], texts[1]

    def write(self, name: str, text: str) -> None:
        """Write a file of the project with the world's start as its time."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        os.utime(path, (START_S, START_S))

    def _token_hex(self, nbytes: int = 4) -> str:
        if nbytes != 4:
            return "0" * 2 * nbytes
        self.made.append(hashlib.sha256(str(len(self.made)).encode()).hexdigest()[: 2 * nbytes])
        return self.made[-1]


@contextmanager
def pinned_world() -> Iterator[World]:
    """An empty home and project in a fixed folder, which only one process uses at a time."""
    world = World()
    lock = os.open(f"{FOLDER}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    before = Path.cwd()
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(FOLDER, ignore_errors=True)
        world.project.mkdir(parents=True)
        with pinned(world):
            os.chdir(world.project)
            yield world
    finally:
        os.chdir(before)
        shutil.rmtree(FOLDER, ignore_errors=True)
        os.close(lock)


@contextmanager
def pinned(world: World | None = None) -> Iterator[World]:
    """Pin clock, ids and environment; ``world`` can be left out where no folder is written."""
    world = world or World()
    now_utc = ModelResponse.__dataclass_fields__["timestamp"].default_factory
    env = {
        "PATH": os.defpath,
        "HOME": str(FOLDER / "user"),
        "PLIMSOLL_HOME": str(world.home),
        "PLIMSOLL_TRUST": "/",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "COLUMNS": _COLUMNS,
        "LINES": "40",
    }
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, env, clear=True))
        for holder, name, value in list(_clocks(lambda: world.now)):
            stack.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, value)
        stack.enter_context(patch.object(time, "time", lambda: world.now))
        stack.enter_context(Agent.parallel_tool_call_execution_mode("sequential"))
        stack.enter_context(patch.object(asyncio, "to_thread", _at_once))
        stack.enter_context(patch.object(anyio.to_thread, "run_sync", _tool_at_once))
        stack.enter_context(patch.object(secrets, "token_hex", world._token_hex))
        none = sandbox.Sandbox("none", why="no sandbox in tests")
        stack.enter_context(patch.object(sandbox, "_tried", lambda: none))
        # All message classes hold a reference to the function, so only its code can be replaced.
        stack.callback(setattr, now_utc, "__code__", now_utc.__code__)
        now_utc.__code__ = _pinned_now_utc.__code__
        time.tzset()
        try:
            yield world
        finally:
            stack.close()
            time.tzset()


def _clocks(now: Callable[[], float]) -> Iterator[tuple[object, str, object]]:
    """Clocks that modules of the program hold as globals or default arguments. Imports all modules."""
    for found in pkgutil.walk_packages(tui_app.__path__, f"{tui_app.__name__}."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    pins: dict[object, object] = {
        datetime: _PinnedDatetime,
        time.monotonic: _pinned_monotonic,
        time.time: now,
    }
    for module_name, module in sorted(sys.modules.items()):
        if module_name.partition(".")[0] != tui_app.__name__:
            continue
        for name, value in sorted(vars(module).items()):
            if isinstance(value, type | BuiltinFunctionType) and value in pins:
                yield module, name, pins[value]
            elif isinstance(value, type) and value.__module__ == module_name:
                of = vars(value).get("_fields_")
                if of is not None and time.time in of.defaults.values():
                    held = {key: now if each is time.time else each for key, each in of.defaults.items()}
                    yield value, "_fields_", of._replace(defaults=held)
                start = vars(value).get("__init__")
                defaults = getattr(start, "__defaults__", None) or ()
                if time.time in defaults:
                    yield (
                        start,
                        "__defaults__",
                        tuple(now if each is time.time else each for each in defaults),
                    )
