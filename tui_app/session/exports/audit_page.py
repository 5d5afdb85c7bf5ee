"""An audit as an HTML page: the numbers of its JSON, a chart of the context, no scripts or requests."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from operator import itemgetter
from typing import Any

from tui_app.events import KIND_LABELS, answers_text
from tui_app.session.exports.html import page
from tui_app.session.exports.markdown import safe
from tui_app.text import count, thousands

LABELS: Mapping[str, str] = KIND_LABELS | {"detail": "Names and details"}
"""The kinds of facts with their labels in audits, in order."""
STATES = ("kept", "recoverable", "lost")
_POINTS = 500
"""Maximum points of a curve. A longer one is thinned out without losing its peaks."""
_LEFT, _TOP, _BOTTOM = 52, 22, 26
"""Pixels around the curve."""


_ABOUT = (
    "Facts are what was said and done: rules, files with what was done to them, commands with their "
    "outcome. A fact is kept when what stands in the place of the history holds it word for word, "
    "recoverable when the model can still look it up there, else lost."
)


def audit_page(report: Mapping[str, Any]) -> str:
    """Write the page.

    Args:
        report: The output of ``plimsoll audit --json``. The page shows only its numbers.
    """
    audits: Sequence[Mapping[str, Any]] = report["audits"]
    title = audits[0]["title"] if len(audits) == 1 else count(len(audits), "conversation")
    about = _ABOUT if any(audit["compactions"] for audit in audits) else "Nothing was compacted."
    parts = [f'<p class="dim">{_text(about)}</p>']
    if len(audits) > 1:
        parts.append(_totals(report["total"], "Total"))
    for audit in audits:
        parts += _audit(audit)
    return page(
        f"Audit of {safe(title, mask=True)}",
        "\n".join(parts),
        "Made by Plimsoll on this machine; no model was asked. Secrets are masked.",
        "audit.css",
    )


def _audit(audit: Mapping[str, Any]) -> Iterator[str]:
    model = f", counted as {audit['model']}" if audit["model"] else ""
    compactions: Sequence[Mapping[str, Any]] = audit["compactions"]
    yield f"<section><h2>{_text(audit['title'])}</h2>"
    yield f'<p class="dim">{_text(audit["source"])} ({_text(audit["format"])})</p>'
    yield (
        f"<p>{count(audit['messages'], 'message')}, {thousands(audit['tokens'])} tokens"
        f"{_text(model)}, {count(len(compactions), 'compaction')}.</p>"
    )
    if compactions:
        yield _plot(audit, 940, 280, "wide")
        yield _plot(audit, 350, 220, "narrow")
    else:
        yield "<p>This conversation was never compacted: nothing was lost.</p>"
    if len(compactions) > 1:
        yield _totals(audit["total"], "All its compactions")
    for number, compaction in enumerate(compactions, 1):
        yield from _compaction(compaction, number, len(compactions), audit["window"])
    yield "</section>"


def _totals(total: Mapping[str, Any], heading: str) -> str:
    losses = (
        f"{count(total['rules_gone'], 'sentence')} of the user and "
        f"{count(total['errors_gone'], 'open error')} gone, "
        f"{total['claims']:,} of {count(total['statements'], 'statement')} not in the log."
    )
    return (
        f"<h3>{_text(heading)}</h3><p>{count(total['compactions'], 'compaction')}: "
        f"{thousands(total['tokens_before'])} → {thousands(total['tokens_after'])} tokens; {losses}</p>"
        + _kinds(total["facts"])
    )


def _compaction(found: Mapping[str, Any], number: int, of: int, window: int | None) -> Iterator[str]:
    trigger = f" · {found['trigger']}" if found["trigger"] else ""
    undone = " · undone later" if found["undone"] else ""
    place = f"after message {found['message']:,}{undone}"
    yield f"<h3>Compaction {number} of {of} · {place}{_text(trigger)}</h3>"
    reported = [
        f"{thousands(found[key])} {when}"
        for key, when in (("reported_before", "before"), ("reported_after", "after"))
        if found[key]
    ]
    note = f' <span class="dim">(the program itself said {", ".join(reported)})</span>' if reported else ""
    yield (
        f"<p>{thousands(found['tokens_before'])} → {thousands(found['tokens_after'])} tokens, "
        f"{found['messages_before']:,} → {count(found['messages_after'], 'message')}{note}</p>"
    )
    way = "What left can still be looked up." if found["way_back"] else "There is no way back to what left."
    note = "".join(f" {each}." for each in answers_text(found["questions"], found["unanswered"]))
    yield f"<p>{_share(found['retention'])} of the facts by weight were kept. {way}{note}</p>"
    yield _kinds(found["facts"])
    yield from _lost_rows("The user's words that are gone word for word", found["rules_gone"])
    yield from _lost_rows("Open errors that are gone word for word", found["errors_gone"])
    if found["statements"]:
        yield (
            f"<p>Claims that the log does not hold: {len(found['claims']):,} of "
            f"{count(found['statements'], 'statement')}</p>"
        )
        if found["claims"]:
            yield f"<ul>{''.join(f'<li>{_text(claim)}</li>' for claim in found['claims'])}</ul>"
    if found["others_gone"]:
        items = "".join(map(_fact, found["others_gone"]))
        what = count(len(found["others_gone"]), "other fact")
        yield f"<details><summary>{what} that left</summary><ul>{items}</ul></details>"
    if found["policies"]:
        place = f"in a window of {thousands(window or 0)}"
        yield f"<p>What each policy would have kept of these facts, names aside, {place}:</p>"
        heads = ("policy", "by weight", *STATES, "context")
        rows = [
            (
                each["policy"],
                _share(each["retention"]),
                *(f"{number_of(each['facts'], state):,}" for state in STATES),
                thousands(each["tokens"]) + ("" if each["fits"] else " (too large)"),
            )
            for each in found["policies"]
        ]
        yield _table(heads, rows)


def number_of(facts: Mapping[str, Mapping[str, int]], state: str) -> int:
    """Count the facts in a state, without names and details: there are hundreds, few ever needed."""
    return sum(counts[state] for kind, counts in facts.items() if kind != "detail")


def _lost_rows(heading: str, facts: Sequence[Mapping[str, str]]) -> Iterator[str]:
    if facts:
        yield f"<p>{_text(heading)}: {len(facts):,}</p><ul>{''.join(map(_fact, facts))}</ul>"


def _fact(fact: Mapping[str, str]) -> str:
    kind = "" if fact["kind"] in ("rule", "error") else f"{LABELS[fact['kind']]}: "
    return f"<li>{kind}{_text(fact['text'])} <span>{_text(fact['source'])} {fact['state']}</span></li>"


def _kinds(facts: Mapping[str, Mapping[str, int]]) -> str:
    rows = [
        (LABELS[kind], *(f"{counts[state]:,}" for state in STATES))
        for kind, counts in facts.items()
        if any(counts.values())
    ]
    return _table(("facts", *STATES), rows) if rows else "<p>No facts were found.</p>"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="wide-table"><table><tr>{head}</tr>{body}</table></div>'


def _share(share: float) -> str:
    """Return a share as a whole percentage, never 0% or 100% by rounding."""
    return f"{min(99, max(1, round(share * 100))) if 0 < share < 1 else round(share * 100)}%"


def _text(text: str) -> str:
    return escape(safe(text, mask=True))


def _plot(audit: Mapping[str, Any], width: int, height: int, name: str) -> str:
    points: Sequence[Sequence[int]] = audit["context"]
    most, last = max(size for _, size in points) or 1, max(1, points[-1][0])
    right, bottom = width - 8, height - _BOTTOM

    def x(message: int) -> float:
        return round(_LEFT + message / last * (right - _LEFT), 1)

    def y(size: int) -> float:
        return round(bottom - size / (most * 1.05) * (bottom - _TOP), 1)

    line = " ".join(f"{x(message)},{y(size)}" for message, size in _thinned(points))
    parts = [
        f'<svg class="{name}" viewBox="0 0 {width} {height}" role="img">',
        "<title>Tokens of the context after each message; dashed lines are compactions</title>",
        f'<path class="axis" d="M{_LEFT} {_TOP}V{bottom}H{right}"/>',
    ]
    for quarter in range(5):
        size = most * quarter // 4
        label = thousands(size) if size else "0"
        parts.append(f'<text x="{_LEFT - 6}" y="{y(size) + 4}" text-anchor="end">{label}</text>')
    parts.append(f'<polyline class="size" points="{line}"/>')
    for number, compaction in enumerate(audit["compactions"], 1):
        place = x(compaction["message"])
        parts.append(f'<path class="cut" d="M{place} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="number" x="{place}" y="{_TOP - 6}" text-anchor="middle">{number}</text>')
    parts += [f'<text x="{right}" y="{bottom + 18}" text-anchor="end">message {last:,}</text>', "</svg>"]
    return "".join(parts)


def _thinned(points: Sequence[Sequence[int]]) -> Iterator[Sequence[int]]:
    """Thin out the points: of each few keep the lowest and the highest, in order."""
    step = max(1, -(-2 * len(points) // _POINTS))
    for start in range(0, len(points), step):
        few = points[start : start + step]
        ends = {id(point): point for point in (min(few, key=itemgetter(1)), max(few, key=itemgetter(1)))}
        yield from (point for point in few if id(point) in ends)
