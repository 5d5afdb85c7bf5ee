"""``plimsoll simulate``: what each policy would have done with a conversation."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from tui_app.cli.command import Command, CommandFailed, Program, WrongUsage, add_json, add_model, setting
from tui_app.paths import from_home
from tui_app.settings.policies import POLICIES

ALL = "all"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("sources", metavar="FILE|ID", nargs="+", help="transcript, or id of a session")
    parser.add_argument(
        "--window",
        metavar="N",
        type=setting("window"),
        action="append",
        required=True,
        help="window in tokens; may be given several times",
    )
    parser.add_argument(
        "--policy",
        metavar="P",
        type=setting("policy"),
        nargs="+",
        action="extend",
        default=[],
        help=f"policies: {', '.join(POLICIES)}, those of your own from the settings file, or all (default)",
    )
    add_model(parser)
    parser.add_argument("--verbose", action="store_true", help="show every request")
    parser.add_argument("--plot", metavar="F.svg", default="", help="draw the requests into an SVG file")
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Replay the conversations; nothing but the drawing is written, and no model is asked."""
    settings = program.settings()
    plot = _drawable(Path(args.plot)) if args.plot else None
    # The agent side takes a second to load: only for those who need it.
    from tui_app.cli.simulation import Asked, replay_all
    from tui_app.conversation.policies import choose_policy, policy_names

    known = policy_names(settings)
    if unknown := sorted(set(args.policy) - {ALL, *known}):
        raise WrongUsage(f"--policy is {unknown[0]!r}; allowed: {', '.join(known)}, or {ALL}.")
    names = _chosen(args.policy, known)
    asked = Asked(
        sources=tuple(dict.fromkeys(args.sources)),
        windows=tuple(dict.fromkeys(args.window)),
        policies=tuple(choose_policy(settings, name) for name in names),
        model=args.model or "",
        as_json=args.json,
        verbose=args.verbose,
        plot=plot,
    )
    return replay_all(program, asked)


def _chosen(wanted: Sequence[str], known: Sequence[str]) -> Sequence[str]:
    """Names of the policies; all of them where none, or ``all``, was asked for."""
    if not wanted or ALL in wanted:
        return known
    return list(dict.fromkeys(wanted))


def _drawable(path: Path) -> Path:
    """Refuse at once what could not be written after minutes of work, or would destroy another file."""
    target = from_home(str(path)).resolve()
    if not target.parent.is_dir():
        raise CommandFailed(f"{path}: there is no folder {target.parent}.")
    if target.exists() and not target.is_file():
        raise CommandFailed(f"{path} is no file that a drawing could be written to.")
    if target.exists() and not _is_drawing(target):
        raise CommandFailed(f"{path} exists and is no drawing: it stays as it is. Give --plot another name.")
    return target


def _is_drawing(path: Path) -> bool:
    """Whether a file is empty, or an SVG that may be drawn anew."""
    try:
        with path.open("rb") as file:
            start = file.read(512).lstrip()
    except OSError:
        return False
    return not start or start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start)


COMMAND = Command(
    name="simulate",
    usage="FILE|ID…",
    summary="Show what each policy would have done with a conversation.",
    configure=configure,
    execute=execute,
)
