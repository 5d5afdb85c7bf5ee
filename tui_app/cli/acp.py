"""``plimsoll acp``: sessions driven by an editor over the Agent Client Protocol."""

import argparse

from tui_app.cli.command import (
    Command,
    CommandFailed,
    Program,
    add_agent,
    add_model,
    add_policy,
    add_window,
    run_until_signal,
)
from tui_app.conversation.open_request import Opening
from tui_app.extras import install_command

MISSING = f"Support for editors is not installed. Install it with: {install_command('acp')}"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_model(parser)
    add_window(parser)
    add_policy(parser)
    add_agent(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Serve an editor on stdin and stdout until it closes them."""
    settings = program.settings(window=args.window, policy=args.policy)
    program.paths.ensure()
    try:
        import acp  # noqa: F401 -- is it there?
    except ImportError as error:
        raise CommandFailed(MISSING) from error
    from tui_app.editors.agent import serve

    opening = Opening(
        settings=settings,
        paths=program.paths,
        env=program.env,
        keys=program.keys,
        cwd=program.cwd,
        model=args.model or "",
        policy=args.policy or "",
        agent=args.agent,
        attended=True,
    )
    return run_until_signal(serve(opening))


COMMAND = Command(
    name="acp",
    usage="",
    summary="Let an editor drive sessions over stdin and stdout (ACP).",
    configure=configure,
    execute=execute,
)
