"""The scores: what counts as kept, what as lost, and what as a false claim."""

import pytest

from tests.context.facts_kit import call, says, user
from tests.quality.contexts import Context, what_cannot_leave
from tests.quality.scores import average, invented, score, wrong_claims
from tests.quality.synthetic import BEFORE, CASE, FIRST, GOOD, LATEST, OPEN_LINE, RULE, characters, scored
from tests.quality.text import text_of
from tests.quality.truth import truth_of


def test_a_good_summary_gets_everything() -> None:
    good = scored(GOOD)
    assert (good.files, good.hard, good.touched, good.verbs, good.rules) == (1.0, 1.0, 1.0, 1.0, 1.0)
    assert (good.first, good.latest, good.corrections, good.open_errors) == (1.0, 1.0, 1.0, 1.0)
    assert (good.false_claims, good.solved_listed, good.invented) == (0.0, 0.0, 0.0)
    assert good.size == good.written == characters(GOOD) / CASE.tokens


def test_nothing_kept_is_nothing_scored() -> None:
    empty = scored(" ")
    assert (empty.files, empty.hard, empty.touched, empty.verbs, empty.rules) == (0.0, 0.0, 0.0, 0.0, 0.0)
    assert (empty.first, empty.latest, empty.open_errors) == (0.0, 0.0, 0.0)
    assert empty.density is None


@pytest.mark.parametrize(
    ("kept", "column"),
    [
        (RULE.replace("the migrations", "…[4 characters omitted]… migrations"), "rules"),
        (FIRST.replace("please", "pl…"), "first"),
        (LATEST.replace("docs", "doc"), "latest"),
        (OPEN_LINE.replace("header", "head"), "open_errors"),
    ],
)
def test_what_is_clipped_or_reworded_is_lost(kept: str, column: str) -> None:
    assert getattr(scored(kept), column) == 0.0


def test_a_name_without_what_was_done_is_only_half_a_file() -> None:
    bare = scored("importer.py\nmodel.py\nold.py", ours=False)
    assert bare.touched == 1.0
    assert bare.verbs == 0.0
    assert scored("Created importer.py, removed old.py, edited model.py", ours=False).verbs == 1.0


@pytest.mark.parametrize(
    ("kept", "right"),
    [
        ("look at model.py\n- Latest request: minor, this is a big change", 0),
        ("- model.py\n- Updated the docs", 0),
        ("> see importer.py", 0),
        ("AddressBook -> importer.py", 0),
        ("old.py is to be deleted, importer.py was never created", 0),
        ("Write content: # see model.py", 0),
        ("echo 2> importer.py", 0),
        ("Read file_path: /w/src/model.py", 0),
        ("## What must be done\nEdit model.py, delete old.py", 0),
        ("## Modified files\n- model.py", 1),
        ("**Deleted:**\n- old.py", 1),
        ("echo x > importer.py", 1),
        ("bash command: rm -f /w/src/old.py", 1),
        ("Edit file_path: /w/src/model.py", 1),
        ("- src/model.py · edited 2× (#8)", 1),
    ],
)
def test_what_was_done_must_be_said_in_the_line_or_the_heading_above(kept: str, right: int) -> None:
    assert scored(kept, ours=False).verbs == right / 3


@pytest.mark.parametrize(
    ("claim", "true"),
    [
        ("- /w/src/importer.py · created (#6)", True),
        ("- …/src/model.py · edited (#8)", True),
        ("- /w/src/\n  model.py · edited (#8)\n  old.py · deleted (#10)\n", True),
        ("- /w/src/model.py · read (#4)", True),
        ("- /w/src/model.py · deleted (#8)", False),
        ("- /w/src/importer.py · created, deleted (#6)", False),
        ("- /w/src/never.py · edited 2× (#6)", False),
        ("- /w/src/\n  model.py · edited (#8)\n  model.py · created (#8)\n", False),
    ],
)
def test_claims_are_held_against_the_calls(claim: str, true: bool) -> None:
    assert (wrong_claims(claim, truth_of(CASE)) == []) is true
    assert (scored(claim).false_claims == 0.0) is true


def test_a_solved_error_listed_as_open_is_a_fault() -> None:
    assert scored("## Errors\n- `make lint` · failed: error: unused import (#12)\n").solved_listed == 1.0
    assert scored("## Current state\n- `make lint` · failed (#12)\n").solved_listed == 0.0


def test_names_numbers_and_addresses_out_of_nowhere_are_invented() -> None:
    source = truth_of(CASE).source
    written = "model.py:importRows at https://example.org/x in 2031 (#77), edited 12×, 34 characters omitted"
    assert invented(written, source) == ["2031", "https://example.org/x"]
    assert invented("src/modal.py uses importCells", source) == ["importCells", "modal.py"]


def test_hard_names_are_those_a_tail_of_that_length_does_not_hold() -> None:
    whole = text_of(BEFORE)
    tail = Context("tail", whole[-400:], 100)
    assert score(tail, truth_of(CASE), CASE.tokens, characters).hard == 0.0
    everything = Context("all", whole, characters(whole))
    assert score(everything, truth_of(CASE), CASE.tokens, characters).hard is None, (
        "the tail holds all as well"
    )


def test_density_is_against_a_bare_list_of_names() -> None:
    needed = "importRows\nrareHelper\nimporter.py\n" + "and so on, and so on. " * 6
    listed = scored(needed, ours=False)
    padded = scored(needed + "\n".join(f"other_{number}" for number in range(30)), ours=False)
    assert listed.density is not None
    assert padded.density is not None
    assert listed.density > padded.density


def test_means_leave_out_what_had_no_object() -> None:
    rows = [scored(GOOD), scored(" ")]
    means = average(rows)
    assert means["rules"] == 0.5
    assert means["density"] == rows[0].density
    assert average([])["size"] is None


def test_what_nobody_has_read_yet_cannot_leave() -> None:
    reminder = user("<system-reminder>Be brief.</system-reminder>")
    unread = call("read", {"path": "b"}, "x")
    asked, latest = user("Go on."), user("Now this.")
    before = [*user("Begin."), *says("Right."), *asked, *call("read", {"path": "a"}), *reminder, *unread]
    assert what_cannot_leave(before) == [*asked, *unread]
    assert what_cannot_leave([*before, *latest]) == [*unread, *latest]
    assert what_cannot_leave(latest) == latest
