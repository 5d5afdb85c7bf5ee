"""The table of chains: all transcripts of a folder with all writers."""

import asyncio
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean
from zlib import crc32

from tests.quality.chain_judge import TIMES, Chain, judged_chain
from tests.quality.falsehoods import KINDS
from tests.quality.report import number
from tests.quality.transcripts import find_files, read_transcript
from tests.quality.writers import WRITERS
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.counting.tokens import TokenCounter

_HEAD = (
    "writer", "compactions", "refused", "falsehoods silent", "accused", "unchecked", "still said",
    "files, first stretch", "worst", "rules", "worst", "open errors", "worst",
    "prose", "told", "true", "told too high", "size",
)  # fmt: skip


def chains_of(
    paths: Sequence[Path],
    text: TextCounter,
    window: int,
    writers: Iterable[str],
    *,
    times: int = TIMES,
    aloud: bool = False,
) -> tuple[int, list[Chain]]:
    """Run all writers over all sessions that fill a window; return the number of sessions, and the chains."""
    counter, sessions, chains = TokenCounter(text), 0, list[Chain]()
    for transcript in filter(None, map(read_transcript, find_files(list(paths)))):
        tokens = sum(counter.message(message).total for message in transcript.messages)
        if tokens < window:
            continue
        sessions += 1
        for name in writers:
            seed = crc32(transcript.name.encode()) % 97
            chain = asyncio.run(
                judged_chain(transcript.messages, name, text, window=window, times=times, seed=seed)
            )
            chains.append(chain)
            print(f"{transcript.name}, {tokens:,} tokens: {name}", file=sys.stderr)
            for complaint in chain.complaints if aloud else ():
                print(f"  {complaint}", file=sys.stderr)
    return sessions, chains


def chain_table(chains: Sequence[Chain]) -> str:
    """The table of chains, followed by the falsehoods by kind."""
    lines = [f"| {' | '.join(_HEAD)} |", "|---" * len(_HEAD) + "|"]
    for name in WRITERS:
        if rows := [chain for chain in chains if chain.writer == name]:
            lines.append(f"| {' | '.join(_cells(name, rows))} |")
    planted, unmarked = (_sums(chains, name) for name in ("planted", "unmarked"))
    kinds = [
        f"| {kind} | {planted[kind]} | {unmarked[kind]} |" for kind in (*KINDS, "command") if planted[kind]
    ]
    return "\n".join([*lines, "", "| falsehood | planted | silent |", "|---|---|---|", *kinds])


def _sums(chains: Sequence[Chain], name: str) -> dict[str, int]:
    return {kind: sum(getattr(chain, name)[kind] for chain in chains) for kind in (*KINDS, "command")}


def _cells(name: str, rows: Sequence[Chain]) -> list[str]:
    planted, unmarked = (
        sum(sum(getattr(row, of).values()) for row in rows) for of in ("planted", "unmarked")
    )
    said, wanted = sum(row.said for row in rows), sum(row.wanted for row in rows)
    files, rules, errors, too_high = (
        [value for row in rows if (value := getattr(row, of)) is not None]
        for of in ("files", "rules", "open_errors", "too_high")
    )
    compactions = sum(row.compactions for row in rows)
    return [
        name,
        str(compactions),
        f"{sum(row.refused for row in rows)}",
        f"{unmarked} of {planted}" if planted else "-",
        number(sum(row.alarms for row in rows) / said, 3) if said else "-",
        number(sum(row.unchecked for row in rows) / said, 3) if said else "-",
        number(said / wanted) if wanted else "-",
        number(_mean(files)),
        number(min(files, default=None)),
        number(_mean(rules)),
        number(min(rules, default=None)),
        number(_mean(errors)),
        number(min(errors, default=None)),
        *(
            number(_mean([v for row in rows if (v := getattr(row, of)) is not None]))
            for of in ("prose", "told", "true")
        ),
        number(_mean(too_high)),
        number(_mean([row.size for row in rows]), 3),
    ]


def _mean(values: Sequence[float]) -> float | None:
    return mean(values) if values else None
