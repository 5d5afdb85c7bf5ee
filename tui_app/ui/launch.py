"""Starting the screen: what it is started with, and the one call that runs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui_app.conversation.request import Opening
from tui_app.paths import Paths
from tui_app.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """What the command line decided."""

    settings: Settings
    paths: Paths
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    session: str = ""
    """Id of the session to go on with; empty begins a new one."""
    model: str = ""
    pick_session: bool = False
    """Open the list of sessions first."""

    def opening(self, session: str = "") -> Opening:
        """The same launch as a request for a session; empty begins a new one."""
        return Opening(
            settings=self.settings,
            paths=self.paths,
            env=self.env,
            cwd=self.cwd,
            session=session,
            model=self.model,
        )


def run_app(launch: Launch) -> int:
    """Show the screen until the person leaves.

    Returns:
        The process's exit code.
    """
    from tui_app.ui.app import PlimsollApp

    app = PlimsollApp(launch)
    app.run(mouse=launch.settings.mouse)
    if app.farewell:
        print(app.farewell)
    return app.return_code or 0
