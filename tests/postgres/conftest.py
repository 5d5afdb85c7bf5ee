"""A database per test, and fixtures for its other users."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers.postgres import Cluster
from tui_app.session.stores.postgres_store import PostgresStore
from tui_app.settings.spec import SessionServer

ROOT = Path(__file__).parents[2]
Writer = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def server(postgres: Cluster) -> SessionServer:
    return SessionServer(postgres.database())


@pytest.fixture
def opened(server: SessionServer) -> Iterator[Callable[..., PostgresStore]]:
    """Opens any number of stores."""
    stores: list[PostgresStore] = []

    def open_one(*, read_only: bool = False) -> PostgresStore:
        stores.append(PostgresStore(server, read_only=read_only))
        return stores[-1]

    yield open_one
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Callable[..., PostgresStore]) -> PostgresStore:
    return opened()


@pytest.fixture
def run_python() -> Iterator[Writer]:
    """Runs a script in its own process, which is killed at the end of the test."""
    running: list[subprocess.Popen[str]] = []

    def start(script: str, *arguments: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        running.append(process)
        return process

    yield start
    for process in running:
        if process.poll() is None:
            process.kill()
        process.communicate()
