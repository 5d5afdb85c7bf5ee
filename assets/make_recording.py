"""Records the demo as a moving picture: ``python assets/make_recording.py [FILE]``.

The real application plays its tour without a terminal, by the keys its own line names. What the screen shows
at each step becomes one frame of an SVG that any browser plays; without animation it shows the first one.
"""

import asyncio
import os
import re
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from time import monotonic

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
os.environ["TZ"] = "UTC"

from textual.pilot import Pilot  # noqa: E402

from tui_app.demo.stage import Pace, recorded_prompts, set_up  # noqa: E402
from tui_app.paths import Paths  # noqa: E402
from tui_app.settings import Settings  # noqa: E402
from tui_app.ui.app import PlimsollApp  # noqa: E402
from tui_app.ui.demo import TourRow, on_stage  # noqa: E402
from tui_app.ui.launch import Launch  # noqa: E402

SIZE = (100, 30)
SECONDS = 4
"""For which each frame is shown."""
LIMIT_S = 60
"""Within which each step has to come."""
_FOLDER = re.compile(r"/[\w./-]*?plimsoll-demo-\w+")
"""The throw-away folder, whose name differs from run to run."""
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)


class Recording:
    """Plays the tour and keeps what the screen shows."""

    def __init__(self, pilot: Pilot[int]) -> None:
        self._pilot = pilot
        self.frames: list[str] = []

    @property
    def _app(self) -> PlimsollApp:
        app = self._pilot.app
        assert isinstance(app, PlimsollApp)
        return app

    async def until(self, there: Callable[[], bool]) -> None:
        """Wait for a state of the screen."""
        end = monotonic() + LIMIT_S
        while not there():
            if monotonic() > end:
                raise SystemExit(f"The demo stands still after {len(self.frames)} frames.")
            await self._pilot.pause(0.05)

    async def told(self, *words: str) -> None:
        """Wait until the line above the prompt says something."""

        def says() -> bool:
            rows = self._app.chat.query(TourRow)
            said = str(rows.first().render()) if rows else ""
            return all(word in said for word in words)

        await self.until(says)

    def prompts(self) -> int:
        """How many of the recorded prompts are shown."""
        if not self._app.chat.is_ready:
            return 0
        entries = self._app.chat.session.presenter.view.entries
        return sum(entry.kind == "user" for entry in entries)

    async def keep(self) -> None:
        """Keep what is shown now as the next frame."""
        await self._pilot.pause(0.4)
        self.frames.append(self._app.export_screenshot(title="plimsoll demo", simplify=True))

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)

    async def send(self, command: str) -> None:
        await self.press(*("slash" if key == "/" else key for key in command), "enter")


async def play(at: Recording) -> None:
    """Go through the tour, to where a summary that invents things is undone."""
    await at.until(lambda: at.prompts() >= len(recorded_prompts()) // 2)
    await at.keep()
    await at.told("Demo 1 of 8", "% full")
    await at.keep()
    await at.press("ctrl+g")
    await at.told("2 of 8", "ctrl+o")
    await at.keep()
    await at.press("ctrl+o")
    await at.keep()
    await at.press("escape")
    await at.told("3 of 8", "/undo")
    await at.send("/undo")
    await at.told("4 of 8", "f3")
    await at.keep()
    await at.press("f3")
    await at.keep()
    await at.press("escape")
    await at.told("5 of 8", "ctrl+g")
    await at.press("ctrl+g")
    await at.told("5 of 8", "esc stops it")
    await at.keep()
    await at.press("escape")
    await at.told("6 of 8", "ctrl+g")
    await at.press("ctrl+g")
    await at.told("6 of 8", "invented claims")
    await at.press("ctrl+o")
    await at.keep()
    await at.press("escape")
    await at.told("6 of 8", "/undo")
    await at.send("/undo")
    await at.told("7 of 8", "/rewind")
    await at.keep()


async def recorded(scene: Callable[[Recording], Awaitable[None]]) -> list[str]:
    """Start the demo in folders of its own and return its frames."""
    stage = set_up(Pace(answers_s=0.0))
    try:
        with tempfile.TemporaryDirectory() as home:
            paths = Paths(*(Path(home) / part for part in ("config", "data", "state", "cache")))
            settings = Settings(animations=False)
            app = PlimsollApp(on_stage(Launch(settings=settings, paths=paths, env={}, cwd=Path(home)), stage))
            async with app.run_test(size=SIZE) as pilot:
                recording = Recording(pilot)
                await scene(recording)
            return recording.frames
    finally:
        stage.remove()


def _plain(frame: str) -> str:
    """A frame without what differs from machine to machine."""
    # The web font would be fetched from somebody else's server; every viewer has a font of its own.
    return _FOLDER.sub("/tmp/plimsoll-demo", _FONT.sub("", frame)).replace("Fira Code", "monospace")


def joined(frames: list[str]) -> str:
    """One SVG that shows a frame behind the other, over and over."""
    whole = len(frames) * SECONDS
    share = 100 / len(frames)
    box = re.search(r'viewBox="([^"]+)"', frames[0])
    assert box is not None
    style = [
        f"@keyframes shown {{ 0%, {share:.3f}% {{ visibility: visible }} "
        f"{share + 0.001:.3f}%, 100% {{ visibility: hidden }} }}",
        f".frame {{ visibility: hidden; animation: shown {whole}s step-end infinite }}",
        *(f".frame-{at} {{ animation-delay: {at * SECONDS}s }}" for at in range(len(frames))),
        "@media (prefers-reduced-motion: reduce) { .frame { animation: none } "
        ".frame-0 { visibility: visible } }",
    ]
    bodies = [f'<g class="frame frame-{at}">{_plain(frame)}</g>' for at, frame in enumerate(frames)]
    svg = (
        f'<svg viewBox="{box[1]}" xmlns="http://www.w3.org/2000/svg"><style>{" ".join(style)}</style>\n'
        + "\n".join(bodies)
        + "\n</svg>\n"
    )
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def main() -> None:
    """Write the recording."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "demo.svg"
    target.write_text(joined(asyncio.run(recorded(play))), encoding="utf-8")
    print(target)


if __name__ == "__main__":
    main()
