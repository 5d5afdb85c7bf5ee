"""The program with a probe in the UI's event loop that measures its delays.

The probe wakes up every two milliseconds and records how late it was and what the screen showed. It writes to
the file named by the first argument; the other arguments go to the program.
"""

import asyncio
import json
import sys
from pathlib import Path
from time import monotonic

from tui_app.__main__ import main
from tui_app.ui.app import PlimsollApp

STEP_S = 0.002


class Probe:
    """Records one row per wake-up: time, delay in seconds, whether a turn and a compaction are running."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[tuple[float, float, bool, bool]] = []

    async def run(self, app: PlimsollApp) -> None:
        """Record until the app ends."""
        try:
            while True:
                due = monotonic() + STEP_S
                await asyncio.sleep(STEP_S)
                now = monotonic()
                self._rows.append((now, now - due, *self._look(app)))
        finally:
            self._path.write_text(json.dumps(self._rows))

    def _look(self, app: PlimsollApp) -> tuple[bool, bool]:
        state = app.chat.session.state if app.chat.is_ready else None
        return (False, False) if state is None else (state.turn, state.background is not None)


def install(probe: Probe) -> None:
    """Start the probe when the app is mounted."""
    mounted = PlimsollApp.on_mount

    def on_mount(app: PlimsollApp) -> None:
        mounted(app)
        app.run_worker(probe.run(app), group="probe")

    PlimsollApp.on_mount = on_mount  # type: ignore[method-assign]


if __name__ == "__main__":
    install(Probe(Path(sys.argv[1])))
    sys.exit(main(sys.argv[2:]))
