"""Truth, scores and targets: what counts as kept, as lost, and as a false claim."""

import asyncio

import pytest
from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, says, shell, user
from tests.quality.cases import Case
from tests.quality.chains import chained
from tests.quality.contexts import Context, what_cannot_leave
from tests.quality.governed import Governed, context_of
from tests.quality.scores import average, invented, score, wrong_claims
from tests.quality.synthetic import BEFORE, CASE, FIRST, GOOD, LATEST, OPEN_LINE, RULE, characters, scored
from tests.quality.text import files_in, identifiers_in, sentences, steering, text_of, typed_in
from tests.quality.truth import Call, deeds_of, plain_command, shell_deeds, truth_of
from tui_app.context.counting.encodings import TextCounter

# The ground truth, derived from the calls alone.


def test_the_truth_of_a_session() -> None:
    truth = truth_of(CASE)
    assert truth.touched == {
        "/w/src/importer.py": ["created"],
        "/w/src/model.py": ["edited"],
        "/w/src/old.py": ["deleted"],
    }
    assert truth.read == {"/w/src/model.py"}
    assert truth.rules == [RULE, "Actually, use semicolons instead of commas."]
    assert truth.corrections == ["Actually, use semicolons instead of commas."]
    assert (truth.first, truth.latest) == (f"{FIRST} {RULE}", LATEST)
    assert [(failure.command, failure.solved) for failure in truth.failures] == [
        ("make lint", True),
        ("pytest -x", False),
    ]
    assert truth.needed_files == {"importer.py"}
    assert truth.needed_identifiers == {"importRows", "rareHelper"}, "names of arguments are no needs"


@pytest.mark.parametrize(
    ("command", "deeds"),
    [
        ("rm -f a.py b.py", [("a.py", "deleted"), ("b.py", "deleted")]),
        ("cd /w && mv a.py lib/b.py", [("/w/a.py", "deleted"), ("/w/lib/b.py", "created")]),
        ("make 2> log.txt; echo x >> notes.md", [("notes.md", "edited")]),
        ("cat > conf.ini <<'EOF'\nrm x.py\nEOF", [("conf.ini", "written")]),
        ("sed -i 's/a/b/' src/x.py | tee out.txt", [("src/x.py", "edited"), ("out.txt", "written")]),
        ("mkdir -p d && cp a.json d/b.json", [("d/b.json", "written")]),
        ("echo \"unbalanced > 'quotes", []),
    ],
)
def test_what_simple_commands_do(command: str, deeds: list[tuple[str, str]]) -> None:
    assert list(shell_deeds(command)) == deeds


def test_failed_and_refused_calls_do_nothing() -> None:
    for outcome in ("failed", "denied", "interrupted"):
        assert list(deeds_of(Call("Write", {"file_path": "a.py"}, "no", outcome))) == []
    patch = Call("apply_patch", {"patch": "*** Delete File: b.py\n*** Update File: c.py"}, "ok", "success")
    assert list(deeds_of(patch)) == [("b.py", "deleted"), ("c.py", "edited")]


def test_a_pipe_hides_whether_its_beginning_worked() -> None:
    red = shell("make check", "error: bad\nexit code 2", "failed")
    for later, solved in (
        (shell("make check | grep error", ""), False),
        (shell("make check | tail -3", "src: error: bad"), False),
        (shell("make check | tail -3", "all good"), True),
        (shell("make", "all good"), True),
        (shell("git add . && make check", "all good"), True),
        (shell("make docs", "all good"), False),
    ):
        case = Case("x", "none", False, (*user("Go on with it."), *red, *later), (), 1)
        assert [failure.solved for failure in truth_of(case).failures] == [solved], later


def test_only_what_a_person_typed_is_typed() -> None:
    declined = call("Edit", {"file_path": "a.py"}, "Rejected. To go on, the user said:\nuse b.py", "denied")
    messages = [
        *user("Do it.<system-reminder>Always be brief.</system-reminder>"),
        *user("[Request interrupted by user]"),
        *says("Never mind."),
        *declined,
    ]
    assert typed_in(messages) == ["Do it.", "use b.py"]


def test_sentences_and_names() -> None:
    text = "Keep it small. Don't add tests!\n- only use tabs here\n```\nnever in code\n```\n$ x=1;{}"
    assert sentences(text) == ["Keep it small.", "Don't add tests!", "only use tabs here"]
    assert steering(["Why not use that one?", "Can you only use tabs?"]) == ["Can you only use tabs?"]
    assert files_in("see src/a_b.py, cmd.Env and console.log; README.MD") == {"a_b.py", "README.MD"}
    assert identifiers_in("a_b.py holds someName and some_name, not Plain") == {"someName", "some_name"}


def test_commands_are_compared_without_decoration() -> None:
    assert plain_command("cd /w && make  check 2>&1 | tail -40") == "make check"


# The scores: what counts as kept, as lost, and as a false claim.


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
        ("- /w/src/\n  - model.py · edited (#8)\n  - old.py · deleted (#10)\n", True),
        ("- /w/src/model.py · read (#4)", True),
        ("- /w/src/model.py · deleted (#8)", False),
        ("- /w/src/importer.py · created, deleted (#6)", False),
        ("- /w/src/never.py · edited 2× (#6)", False),
        ("- /w/src/\n  - model.py · edited (#8)\n  - model.py · created (#8)\n", False),
    ],
)
def test_claims_are_held_against_the_calls(claim: str, true: bool) -> None:
    assert (wrong_claims(claim, truth_of(CASE)) == []) is true
    assert (scored(claim).false_claims == 0.0) is true


def test_a_solved_error_listed_as_open_is_a_fault() -> None:
    listed = "- `make lint` · failed: error: unused import · no success since (#12)\n"
    assert scored(listed).solved_listed == 1.0
    assert scored("- `make lint` · ok, after exit 1 (#12)\n").solved_listed == 0.0


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


# The targets of docs/quality.md on a made-up history; the command on that page measures real ones.


WINDOW = 32_000
PAGES = 60
RULES = "Never touch the migrations folder. Always use tabs in the templates."
AIMS_FIRST = "Build the harbour's site, page by page."
OPEN = "ValueError: no berth in timetable.py"
TEXT = TextCounter("o200k_base")
"""Four characters per token, so no tokenizer has to be loaded."""


def page(turn: int) -> list[ModelMessage]:
    path = f"/w/site/pages/page{turn}.py"
    seen = " ".join(
        f"old line {turn * 1_000 + line} legacyCell{turn * 1_000 + line}();" for line in range(70)
    )
    return [
        *call("Read", {"file_path": f"/w/old/page{turn}.html"}, seen),
        *call("Write", {"file_path": path, "content": f"def renderPage{turn}(): ..."}, "File created"),
        *shell(f"pytest pages/test_page{turn}.py", "passed " * 200),
        *says(f"Page {turn} is done: renderPage{turn} draws it."),
    ]


def before() -> list[ModelMessage]:
    messages = [*user(f"{AIMS_FIRST} {RULES}"), *says("I begin.")]
    clock = {
        "file_path": "/w/site/tides.py",
        "old_string": "now()",
        "new_string": "return harbourClock(berth)",
    }
    messages += call("Edit", clock)
    for turn in range(PAGES):
        messages += page(turn)
        if turn % 20 == 5:
            messages += user(f"Actually, put the menu of page{turn}.py on the left instead of the right.")
    messages += shell("make lint", "error: unused import\nexit code 1", "failed")
    messages += call("Edit", {"file_path": "/w/site/menu.py", "old_string": "a", "new_string": "tideTable"})
    messages += shell("make lint", "clean")
    messages += shell("rm /w/site/pages/page7.py")
    messages += shell("make timetable", f"{OPEN}\nexit code 1", "failed")
    return [*messages, *says("The timetable fails, page 7 is gone."), *user("Now the start page.")]


def case() -> Case:
    after = [
        *says(
            "I mend timetable.py first: harbourClock in tides.py is what it lacks, then tideTable in menu.py."
        ),
        *call("Read", {"file_path": "/w/site/tides.py"}),
        *call("Read", {"file_path": "/w/site/menu.py"}),
        *says("Then the menus of page5.py, page25.py and page45.py, and page59.py as the pattern."),
    ]
    told = before()
    return Case("made-up", "none", False, tuple(told), tuple(after), Governed(TEXT, WINDOW).size(told))


def test_a_compaction_that_is_asked_for_reaches_every_aim() -> None:
    made = case()
    assert made.tokens >= 1.4 * WINDOW
    governed = Governed(TEXT, WINDOW)
    kept = context_of(asyncio.run(governed.compacted(made.before)), governed)
    scores = score(kept, truth_of(made), made.tokens, TEXT.count)
    assert scores.size <= 0.15
    assert scores.written is not None
    assert scores.written <= 0.055
    assert (scores.touched, scores.false_claims, scores.invented) == (1.0, 0.0, 0.0)
    assert (scores.rules, scores.first, scores.latest, scores.corrections) == (1.0, 1.0, 1.0, 1.0)
    assert (scores.open_errors, scores.solved_listed) == (1.0, 0.0)
    least = {"verbs": 0.97, "files": 0.95, "hard": 0.5, "density": 1.3}
    reached = {name: getattr(scores, name) for name in least}
    assert all(reached[name] >= least[name] for name in least), reached


def test_five_compactions_in_a_row_lose_next_to_nothing() -> None:
    made = case()
    kept = (asyncio.run(chained(made.before, times, WINDOW, TEXT)) for times in (1, 5))
    once, often = (score(each, truth_of(made), made.tokens, TEXT.count) for each in kept)
    for name in ("touched", "verbs", "rules", "first", "latest", "open_errors"):
        assert getattr(often, name) > getattr(once, name) - 0.03, name
    assert (often.false_claims, often.invented) == (0.0, 0.0)
