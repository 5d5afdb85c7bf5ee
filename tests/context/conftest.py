"""Fixtures of the tests of the governance core."""

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio


@pytest_asyncio.fixture
async def no_job_left() -> AsyncIterator[None]:
    """Stop compactions that a test leaves running in the background, while its loop still can."""
    yield
    jobs = [task for task in asyncio.all_tasks() if task.get_name().startswith("compaction-")]
    for job in jobs:
        job.cancel()
    if jobs:
        await asyncio.wait(jobs)
