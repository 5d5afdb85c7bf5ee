"""``plimsoll demo``: a recorded session to try everything, without a key or network."""

import argparse

from tui_app.cli.core.command import CommandFailed, Program, need_screen
from tui_app.demo.stage import set_up


def execute(program: Program, args: argparse.Namespace) -> int:
    """Show the demo until the user leaves. Its temporary folder is removed; nothing else is written."""
    settings = program.settings(plain=args.plain)
    need_screen(program.env, "plimsoll simulate demo --window 12000")
    # Imported here: the checks above must answer at once.
    from tui_app.ui.demo import on_stage
    from tui_app.ui.launch import Launch
    from tui_app.ui.run import run_app

    try:
        stage = set_up()
    except OSError as error:
        raise CommandFailed(
            f"The demo needs a folder of its own: {error.strerror or error}. Free some space, or set TMPDIR."
        ) from error
    launch = Launch(settings=settings, paths=program.paths, env=program.env, cwd=program.cwd)
    try:
        return run_app(on_stage(launch, stage))
    finally:
        stage.remove()
