"""Fixtures and setup for all tests: a home per test, no API keys, no network, and test servers."""

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
"""Read at import, because the ``plimsoll_home`` fixture removes our variables from the environment."""
FOREIGN_ENDINGS = ("_API_KEY", "_BASE_URL", "_PROXY", "_proxy")
FOREIGN_NAMES = ("NO_COLOR", "NO_ANIMATION", "OLLAMA_HOST")

# A screen creates many objects. The default threshold of 700 spends a sixth of the time in the collector.
gc.set_threshold(500_000, 20, 20)
# Nothing allocated during import and collection becomes garbage; ``pytest_collection_finish`` enables it
# again.
gc.disable()
# Each client would load the machine's certificates again, and no test uses TLS with a remote host.
httpcore2.default_ssl_context = functools.cache(httpcore2.default_ssl_context)
_fresh_context, _kept_context = ssl.create_default_context, functools.cache(ssl.create_default_context)


def _context(*purpose: ssl.Purpose, **certificates: Any) -> ssl.SSLContext:
    """Cache the context per certificate file: Google's client loads the same file twice."""
    make = _kept_context if certificates.get("cafile") else _fresh_context
    return make(*purpose, **certificates)


ssl.create_default_context = _context


WORKER, WORKERS = (os.environ.get(f"PYTEST_XDIST_WORKER{end}", "") for end in ("", "_COUNT"))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Rotate the order per worker: each compiles other test modules first and finds the rest compiled."""
    report = yield
    if WORKER and isinstance(collector, pytest.Directory):
        start = len(report.result) * int(WORKER.removeprefix("gw")) // int(WORKERS)
        report.result = [*report.result[start:], *report.result[:start]]
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests, because xdist requires the same order in all workers."""
    if WORKER:
        items.sort(key=lambda item: item.path)


def pytest_collection_finish() -> None:
    """Enable the collector, and exclude everything allocated so far from it."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="module")
def _what_stays_is_not_searched() -> Iterator[None]:
    """Exclude loaded modules and caches (about 1 GB at the end of a run) from later collections."""
    yield
    gc.collect()
    gc.freeze()


# fsync is disabled: tests need no durability, and it is slow.
SYNCHRONOUS = sqlite_connection.SYNCHRONOUS
sqlite_connection.SYNCHRONOUS = "OFF"
os.fsync = lambda _file: None

hypothesis.settings.load_profile(PROFILE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-looks", action="store_true", help="keep what screens look like now")


_FOLDERS = Counter[str]()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A temporary folder per test. Pytest's own fixture scans all folders for a free number: slow."""
    return _numbered(re.sub(r"\W", "_", request.node.name)[:30], tmp_path_factory)


def _numbered(name: str, factory: pytest.TempPathFactory) -> Path:
    _FOLDERS[name] += 1
    return factory.mktemp(f"{name}{_FOLDERS[name] - 1}", numbered=False)


@pytest.fixture(autouse=True)
def plimsoll_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test an empty home, and remove environment variables that change behaviour."""
    for name in tuple(os.environ):
        if name.endswith(FOREIGN_ENDINGS) or name in FOREIGN_NAMES or name.startswith("PLIMSOLL_"):
            monkeypatch.delenv(name)
    home = _numbered("plimsoll-home", tmp_path_factory)
    monkeypatch.setenv("PLIMSOLL_HOME", str(home))
    # Trust every folder. Tests of trust remove this variable.
    monkeypatch.setenv("PLIMSOLL_TRUST", "/")
    # Never use the developer's keyring. Tests that need a keyring install a fake one.
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return home


@pytest.fixture(autouse=True)
def _no_sandbox(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable the sandbox unless a test is marked ``bubblewrap``, so that machines behave alike."""
    if request.node.get_closest_marker("bubblewrap") is None:
        none = sandbox.Sandbox("none", why="no sandbox in tests")
        monkeypatch.setattr(sandbox, "_tried", lambda: none)


@pytest.fixture(autouse=True)
def _no_language_servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide installed language servers unless a test is marked for them."""
    if request.node.get_closest_marker("language_servers") is None:
        monkeypatch.setattr(finder.ServerFinder, "any", lambda _self: False)


@pytest.fixture(autouse=True)
def _loopback_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse all addresses but loopback. A refused one fails the test even if the error was swallowed."""
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
    """A scripted OpenAI server without answers; the test adds them."""
    with FakeOpenAI() as server:
        yield server


@pytest.fixture(scope="session")
def aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AiMock]:
    """The aimock server with our fixtures. Fails rather than skips when aimock is not installed."""
    with running_aimock(tmp_path_factory.mktemp("aimock"), NODE_MODULES) as server:
        yield server


@pytest.fixture(scope="session")
def postgres() -> "Iterator[Cluster]":
    """A private PostgreSQL cluster. Fails rather than skips when the server is not installed."""
    # Imported here because the driver is an optional extra.
    from tests.servers.postgres import running_postgres

    with running_postgres() as cluster:
        yield cluster


@pytest_asyncio.fixture
async def no_job_left() -> AsyncIterator[None]:
    """Stop background compactions that a test left running, while its event loop is still open."""
    yield
    jobs = [task for task in asyncio.all_tasks() if task.get_name().startswith("compaction-")]
    for job in jobs:
        job.cancel()
    if jobs:
        await asyncio.wait(jobs)
