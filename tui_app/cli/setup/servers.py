"""``plimsoll serve``: the screen in a browser; ``plimsoll acp``: sessions in an editor."""

import argparse
from dataclasses import replace

from tui_app.cli.core.command import CommandFailed, Program, WrongUsage
from tui_app.cli.core.output import flush, say, tell
from tui_app.cli.core.signals import run_until_signal
from tui_app.extras import install_command
from tui_app.system.environment import for_programs, hide_environment

NO_WEB_SERVER = f"The web server is not installed. Install it with: {install_command('serve')}"
OPEN_TO_ALL = (
    "Without a token, anyone who can reach {} could use your files: --no-token is for loopback only."
)


def serve_browser(program: Program, args: argparse.Namespace) -> int:
    """Serve until ctrl+c."""
    program.settings(policy=args.policy)
    folder = program.folder(args.path)
    try:
        from tui_app.web.pages import page_command
        from tui_app.web.server import Gate, is_loopback, new_token, serve
    except ImportError as error:
        raise CommandFailed(NO_WEB_SERVER) from error
    if args.no_token and not is_loopback(args.host):
        raise WrongUsage(OPEN_TO_ALL.format(args.host))
    flags = [("--model", args.model), ("--policy", args.policy)]
    given = [word for flag, value in flags if value for word in (flag, value)]
    given += ["--continue"] if args.latest else []
    given += ["--trust"] if args.trust else []
    # This process has the keys in its environment, too; each page hides its own.
    hide_environment(program.env.keys() - for_programs(program.env).keys())
    gate = Gate(host=args.host, port=args.port, token="" if args.no_token else new_token())

    def ready() -> None:
        say(gate.address)
        flush()
        tell("Open this address in a browser; ctrl+c ends it. Each page is its own window.")

    async def work() -> int:
        try:
            await serve(gate, page_command([str(folder), *given]), ready)
        except OSError as error:
            reason = error.strerror or str(error)
            raise CommandFailed(
                f"Cannot listen on {args.host}:{args.port}: {reason}. Choose another with --port."
            ) from error
        return 0

    return run_until_signal(work())


NO_EDITOR_SUPPORT = f"Support for editors is not installed. Install it with: {install_command('acp')}"


def serve_editor(program: Program, args: argparse.Namespace) -> int:
    """Serve an editor on stdin and stdout until it closes them."""
    settings = program.settings(window=args.window, policy=args.policy, mode=args.mode)
    program.paths.ensure()
    try:
        import acp  # noqa: F401 -- only to see whether it is installed
    except ImportError as error:
        raise CommandFailed(NO_EDITOR_SUPPORT) from error
    from tui_app.editors.agent import serve

    return run_until_signal(serve(replace(program.opening(settings, args), attended=True)))
