"""The checks of every transcript, policy and window: ``python -m tests.quality.safety``.

A compaction may lose words, never the conversation. Needs no model and no network.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Container, Sequence
from itertools import product
from pathlib import Path

from pydantic_ai.messages import ModelMessage

from tests.quality.transcripts import find_files, read_transcript
from tests.quality.verdicts import CHECKS, Verdict, play_through
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.policy import PRESETS, Policy

WINDOWS = (8_000, 32_000, 128_000)
Matrix = dict[tuple[int, str, int], Verdict]
"""Verdicts by index of the transcript, policy, and window in tokens."""


def matrix(
    sessions: Sequence[Sequence[ModelMessage]],
    policies: Sequence[Policy],
    windows: Sequence[int],
    text: TextCounter,
    dying: Container[str] = frozenset(PRESETS),
) -> Matrix:
    """Play everything under every policy and window; under the named policies, die at every write."""
    found: Matrix = {}
    for place, messages in enumerate(sessions, 1):
        for policy, window in product(policies, windows):
            with tempfile.TemporaryDirectory() as folder:
                dies = policy.name in dying
                verdict = asyncio.run(play_through(messages, policy, window, text, Path(folder), dies=dies))
            found[place, policy.name, window] = verdict
    return found


def play_name(name: str, policy: str, window: int) -> str:
    """The name of a play in the golden files."""
    return f"play {name} {policy} {window}"


def main(arguments: list[str] | None = None) -> int:
    """Play everything, print the tables and list the failures. Returns 1 if anything failed."""
    options = _parser().parse_args(arguments)
    text = TextCounter("o200k_base")
    text.load()
    read = [found for path in find_files(options.paths) if (found := read_transcript(path)) is not None]
    if not read:
        print(f"No transcript in {', '.join(map(str, options.paths))}.", file=sys.stderr)
        return 1
    found: Matrix = {}
    for place, transcript in enumerate(read, 1):
        print(f"{place} of {len(read)}: {transcript.name}", file=sys.stderr)
        part = matrix([transcript.messages], list(PRESETS.values()), options.window, text)
        for (_, policy, window), verdict in part.items():
            found[place, policy, window] = verdict
            if verdict.failures:
                print(f"  {policy}, {window:,}: {dict(verdict.failures)}", file=sys.stderr)
    page = render([transcript.format for transcript in read], found)
    print(page)
    if options.markdown:
        options.markdown.write_text(page, encoding="utf-8")
    return int(any(verdict.failures for verdict in found.values()))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.quality.safety", description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="transcripts, or folders of them")
    parser.add_argument("--window", nargs="+", type=int, default=WINDOWS, help="tokens of the model's window")
    parser.add_argument("--markdown", type=Path, help="file to write the tables to")
    return parser


def render(formats: Sequence[str], found: Matrix) -> str:
    """The tables as Markdown, which reveal nothing of the sessions."""
    verdicts = list(found.values())
    requests, refused, cut = (
        sum(getattr(v, name) for v in verdicts) for name in ("requests", "refused", "cut")
    )
    windows = sorted({window for _, _, window in found})
    policies = list(dict.fromkeys(policy for _, policy, _ in found))
    blocks = [
        f"{len(formats)} transcripts, each under {len(policies)} policies in {len(windows)} windows: "
        f"{len(verdicts)} plays, {requests:,} requests.\n{cut:,} of the requests were cut to fit, and "
        f"{refused:,} could not fit whatever is left out and were not sent.",
        "\n".join(["| check | passed |", "|---|---|", *_checks(verdicts)]),
        "### By policy and window",
        _table("policy, window", {
            f"{policy}, {window:,}": [v for (_, p, w), v in found.items() if (p, w) == (policy, window)]
            for policy, window in product(policies, windows)
        }),
        "### By transcript",
        _table("transcript", {
            f"{place}, {name}": [v for (number, _, _), v in found.items() if number == place]
            for place, name in enumerate(formats, 1)
        }),
    ]  # fmt: skip
    return "\n\n".join(blocks) + "\n"


def _checks(verdicts: Sequence[Verdict]) -> list[str]:
    return [f"| {name} {meaning} | {_passed(verdicts, name)} |" for name, meaning in CHECKS.items()]


def _table(head: str, rows: dict[str, list[Verdict]]) -> str:
    columns = ("requests", "cut", "refused", "compactions", "rewrites")
    lines = [
        f"| {head} | {' | '.join((*columns, *CHECKS))} |",
        "|---" * (1 + len(columns) + len(CHECKS)) + "|",
    ]
    for name, verdicts in rows.items():
        sums = (f"{sum(getattr(verdict, column) for verdict in verdicts):,}" for column in columns)
        cells = " | ".join((*sums, *(_passed(verdicts, check) for check in CHECKS)))
        lines.append(f"| {name} | {cells} |")
    return "\n".join(lines)


def _passed(verdicts: Sequence[Verdict], check: str) -> str:
    return f"{sum(not verdict.failures[check] for verdict in verdicts)}/{len(verdicts)}"


if __name__ == "__main__":
    sys.exit(main())
