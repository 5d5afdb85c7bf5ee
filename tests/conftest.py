"""What holds for every test: a home of its own, no keys, no network; and the servers to talk to."""

import asyncio
import functools
import gc
import os
import re
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpcore2
import hypothesis
import pytest
import pytest_asyncio

from tests.examples import PROFILE
from tests.network_guard import Attempts, guarded_connect, guarded_getaddrinfo
from tests.servers.aimock import VARIABLE, AiMock, running_aimock
from tests.servers.fake_openai import FakeOpenAI
from tests.servers.llamacpp import LlamaServers, llama_servers
from tui_app import sandbox
from tui_app.agent.diagnostics import finder
from tui_app.session.stores import sqlite_connection

if TYPE_CHECKING:
    from tests.servers.postgres import Cluster

NODE_MODULES = os.environ.get(VARIABLE)
"""Read once: the tests themselves see no variable of ours but their home."""
FOREIGN_ENDINGS = ("_API_KEY", "_BASE_URL", "_PROXY", "_proxy")
FOREIGN_NAMES = ("NO_COLOR", "NO_ANIMATION", "OLLAMA_HOST")

# A screen is a large web of objects: looking through them after every 700 new ones takes a sixth of the time.
gc.set_threshold(500_000, 20, 20)
# Nothing of what is read and collected at first is ever garbage.
gc.disable()
# Every client reads the machine's certificates anew; no test speaks TLS to anybody.
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)
_fresh_context, _kept_context = ssl.create_default_context, functools.cache(ssl.create_default_context)


def _context(*purpose: ssl.Purpose, **certificates: Any) -> ssl.SSLContext:
    """One for each file of certificates: the client of Google reads it twice."""
    make = _kept_context if certificates.get("cafile") else _fresh_context
    return make(*purpose, **certificates)


ssl.create_default_context = _context


WORKER, WORKERS = (os.environ.get(f"PYTEST_XDIST_WORKER{end}", "") for end in ("", "_COUNT"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each worker begins to read in another place: what one has rewritten and compiled, the others find."""
    report = yield
    if WORKER and isinstance(collector, pytest.Directory):
        start = len(report.result) * int(WORKER.removeprefix("gw")) // int(WORKERS)
        report.result = [*report.result[start:], *report.result[:start]]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them number the tests alike."""
    if WORKER:
        items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    """Look for garbage from now on, and only in what tests leave."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_not_searched() -> Iterator[None]:
    """Modules and caches, a gigabyte at the end, are passed over when garbage is looked for."""
    yield
    gc.collect()
    gc.freeze()


# Nobody cuts the power of a test, and a thousand of them wait for the disk at every event.
SYNCHRONOUS = sqlite_connection.SYNCHRONOUS
sqlite_connection.SYNCHRONOUS = "OFF"
os.fsync = lambda _file: None

hypothesis.settings.load_profile(PROFILE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-looks", action="store_true", help="keep what screens look like now")


_FOLDERS = Counter[str]()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a test, named as pytest does, which looks through all folders for a free number."""
    return _numbered(re.sub(r"\W", "_", request.node.name)[:30], tmp_path_factory)


def _numbered(name: str, factory: pytest.TempPathFactory) -> Path:
    _FOLDERS[name] += 1
    return factory.mktemp(f"{name}{_FOLDERS[name] - 1}", numbered=False)


@pytest.fixture(autouse=True)
def plimsoll_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh home for each test, and nothing of the developer's own environment that changes behaviour."""
    for name in tuple(os.environ):
        if name.endswith(FOREIGN_ENDINGS) or name in FOREIGN_NAMES or name.startswith("PLIMSOLL_"):
            monkeypatch.delenv(name)
    home = _numbered("plimsoll-home", tmp_path_factory)
    monkeypatch.setenv("PLIMSOLL_HOME", str(home))
    # The folders of tests are their own; those about trust take it away.
    monkeypatch.setenv("PLIMSOLL_TRUST", "/")
    # Nobody's own keyring is touched; tests that need one bring it.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return home


@pytest.fixture(autouse=True)
def _no_sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on every machine, unless a test is about it."""
    if request.node.get_closest_marker("bubblewrap") is None:
        none = sandbox.Sandbox("none", why="no sandbox in tests")
        monkeypatch.setattr(sandbox, "_tried", lambda: none)


@pytest.fixture(autouse=True)
def _no_language_servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of those that are installed here, unless a test is about them."""
    if request.node.get_closest_marker("language_servers") is None:
        monkeypatch.setattr(finder.ServerFinder, "any", lambda _self: False)


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse every other address, and fail a test that tried one even if the code under test shrugged."""
    attempts: Attempts = []
    monkeypatch.setattr(socket.socket, "connect", guarded_connect(socket.socket.connect, attempts))
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect(socket.socket.connect_ex, attempts))
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo(socket.getaddrinfo, attempts))
    yield
    assert not attempts, f"the test tried to reach {', '.join(attempts)}"


@pytest.fixture(scope="session")
def llamacpp_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServers]:
    """Factory ``llamacpp_server(script, n_ctx) -> base_url``; mark the tests that use it ``llamacpp``."""
    with llama_servers(tmp_path_factory.mktemp("llamacpp")) as servers:
        yield servers


@pytest.fixture
def fake_openai() -> Iterator[FakeOpenAI]:
    """A scripted OpenAI server with an empty script; the test adds its answers."""
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AiMock]:
    """The aimock server with our fixtures; fails, never skips, when it is not installed."""
    with running_aimock(tmp_path_factory.mktemp("aimock"), NODE_MODULES) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Cluster]":
    """A PostgreSQL cluster of its own; fails, never skips, when the server is not installed."""
    # The driver belongs to an extra.
    from tests.servers.postgres import running_postgres

    with running_postgres() as cluster:
        yield cluster


@pytest_asyncio.fixture
async def no_job_left() -> AsyncIterator[None]:
    """Stop compactions that a test leaves running in the background, while its loop still can."""
    yield
    jobs = [task for task in asyncio.all_tasks() if task.get_name().startswith("compaction-")]
    for job in jobs:
        job.cancel()
    if jobs:
        await asyncio.wait(jobs)
