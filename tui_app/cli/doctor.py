"""``plimsoll doctor``: is everything here that Plimsoll needs?"""

import argparse
from dataclasses import asdict

from tui_app.cli.command import FAILED, OK, Command, Program, add_json
from tui_app.cli.output import print_json, say


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--repair", action="store_true", help="mend the sessions file, and write missing files anew"
    )
    add_json(parser)


def execute(program: Program, args: argparse.Namespace) -> int:
    """Run every check; one that fails makes the command fail."""
    # What is looked at includes packages that take long to load.
    from tui_app.cli.doctor_checks import run_checks

    if args.repair:
        from tui_app.cli.repair import repair

        return repair(program, as_json=args.json)
    checks = run_checks(program)
    failed = any(check.state == "fail" for check in checks)
    if args.json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            say(f"{check.state:<4}  {check.name:<{width}}  {check.text}")
            if check.hint:
                say(f"{'':<4}  {'':<{width}}  {check.hint}")
    return FAILED if failed else OK


COMMAND = Command(
    name="doctor",
    usage="",
    summary="Check that everything is here that Plimsoll needs, or mend the sessions file.",
    configure=configure,
    execute=execute,
)
