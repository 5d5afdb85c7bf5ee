"""The quality report: ``python -m tests.quality FOLDER --markdown OUT``. Needs no model and no network."""

import argparse
import asyncio
import sys
from pathlib import Path

from tests.quality.cases import Case, cases_of
from tests.quality.chain_judge import TIMES
from tests.quality.chain_report import chain_table, chains_of
from tests.quality.report import LONG, Measured, measure, render, time_long_sessions
from tests.quality.transcripts import find_files, read_transcript
from tests.quality.writers import WRITERS
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.policy import PLIMSOLL


def main(arguments: list[str] | None = None) -> int:
    """Measure and print the report."""
    options = _parser().parse_args(arguments)
    text = TextCounter("o200k_base")
    text.load()
    if options.chains:
        return _chains(options, text)
    least = int(options.window * PLIMSOLL.blocking_threshold)
    cases = _cases(options.paths, text, least)
    if not cases:
        print(
            f"No history of {least:,} tokens or more in {', '.join(map(str, options.paths))}.",
            file=sys.stderr,
        )
        return 1
    measured = Measured()
    for place, case in enumerate(cases, 1):
        print(f"{place} of {len(cases)}: {case.name}, {case.tokens:,} tokens", file=sys.stderr)
        asyncio.run(measure(case, measured, options.window, options.budget, text))
    time_long_sessions(cases, measured, text, options.long)
    report = render(measured, window=options.window, command=_command(options))
    print(report)
    for complaint in measured.complaints:
        print(complaint, file=sys.stderr)
    if options.markdown:
        options.markdown.write_text(report, encoding="utf-8")
    return 0


def _chains(options: argparse.Namespace, text: TextCounter) -> int:
    """Print only the table of chains."""
    sessions, chains = chains_of(
        options.paths, text, options.window, options.writers, times=options.times, aloud=options.aloud
    )
    command = f"python -m tests.quality FOLDER --chains --times {options.times} --window {options.window}"
    told = f"{sessions} sessions of a window or more, {options.times} compactions each with every writer."
    page = f"`{command}`\n\n{told}\n\n{chain_table(chains)}\n"
    print(page)
    if options.markdown:
        options.markdown.write_text(page, encoding="utf-8")
    return 0 if sessions else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="transcripts, or folders of them")
    parser.add_argument("--budget", nargs="+", type=int, default=[2_000, 4_000, 8_000], help="tokens")
    parser.add_argument("--window", type=int, default=32_000, help="tokens of the model's window")
    parser.add_argument("--long", type=int, default=LONG, help="tokens of the session that speed is timed on")
    parser.add_argument("--markdown", type=Path, help="file to write the report to")
    parser.add_argument("--chains", action="store_true", help="several compactions with every kind of writer")
    parser.add_argument("--times", type=int, default=TIMES, help="for --chains")
    parser.add_argument("--writers", nargs="+", choices=WRITERS, default=list(WRITERS), help="for --chains")
    parser.add_argument("--aloud", action="store_true", help="with --chains: print what was judged wrong")
    return parser


def _cases(paths: list[Path], text: TextCounter, least: int) -> list[Case]:
    counter = TokenCounter(text)
    read = filter(None, map(read_transcript, find_files(paths)))
    return [
        case
        for transcript in read
        for case in cases_of(transcript, lambda message: counter.message(message).total, least)
    ]


def _command(options: argparse.Namespace) -> str:
    budgets = " ".join(map(str, options.budget))
    return f"python -m tests.quality FOLDER --window {options.window} --budget {budgets}"


if __name__ == "__main__":
    sys.exit(main())
