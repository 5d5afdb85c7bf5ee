"""Names worth keeping: who used them, where they occur, and which will be needed."""

import pytest
from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, characters, history, says, shell, user
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.name_lines import RankedName, chosen_names, name_lines, names_to_carry
from tui_app.context.ledger.names import Names
from tui_app.context.ledger.passages import passages

LISTING = "web/src/chat.tsx\nweb/src/app.tsx\nweb/lib/util.ts"
REPORT = "The entry is chat.tsx, which calls openSocket."


def ranked(*groups: list[ModelMessage], in_sight: frozenset[int] = frozenset()) -> dict[str, RankedName]:
    items = history(*groups)
    found = names_to_carry(list(passages(items)), Ledger.from_items(items).files().values(), in_sight)
    return {one.name: one for one in found}


def names_in(*groups: list[ModelMessage]) -> Names:
    return Names.from_passages(passages(history(*groups)))


def test_names_have_the_file_that_they_were_seen_in() -> None:
    source = "class CartStore:\n    def add_item(self): return price_of(item_id)"
    found = ranked(
        user("Make retry_limit configurable, see https://example.org/spec and v2.3.1; wait 250 ms."),
        call("Read", {"file_path": "src/cart.py"}, source),
        shell("git ls-files", LISTING),
    )
    assert {"retry_limit", "https://example.org/spec", "v2.3.1", "250 ms"} <= found.keys()
    assert (found["CartStore"].place, found["CartStore"].defined) == ("src/cart.py", True)
    assert (found["price_of"].place, found["price_of"].defined) == ("src/cart.py", False)
    assert (found["app.tsx"].place, found["app.tsx"].is_file) == ("web/src", True)
    assert found["CartStore"].key == 3


def test_files_with_lines_of_their_own_are_no_names() -> None:
    edited = call("edit_file", {"path": "/w/web/src/chat.tsx", "new_text": "x"})
    assert "chat.tsx" not in ranked(shell("git ls-files", LISTING), edited)
    assert "app.tsx" in ranked(shell("git ls-files", LISTING), edited)


def test_what_will_be_needed_counts_more_than_what_came_up() -> None:
    found = ranked(
        user("Close the pier."),
        call("Read", {"file_path": "idle.py"}, "\n".join(f"idle_{number}_part()" for number in range(6))),
        call("Read", {"file_path": "pier.py"}, "open_berth()\nclose_berth()\nturn_berth()"),
        call("Edit", {"file_path": "pier.py", "old_string": "open_berth()", "new_string": "open_pier_now()"}),
    )
    names = ["open_pier_now", "turn_berth", "idle_1_part"]
    scores = [found[name].score for name in names]
    assert scores == sorted(scores, reverse=True), "written by the agent, beside what it used, and idle"
    assert found["close_berth"].score > found["turn_berth"].score, "whose words the user typed"


def test_what_another_agent_reports_is_heard_like_talk() -> None:
    listed = ranked(shell("git ls-files", LISTING))
    reported = ranked(shell("git ls-files", LISTING), call("Task", {"prompt": "look"}, REPORT))
    assert "openSocket" in reported
    assert reported["chat.tsx"].score > listed["chat.tsx"].score
    assert reported["chat.tsx"].place == "web/src", "told by its bare name, it is still the one file"


@pytest.mark.parametrize(
    ("printed", "files"),
    [
        ("process.env.HOME console.log(x) cmd.Env = 1 app.log ../lib/x.ts ./y.ts @z/w.ts",
         {"app.log", "lib/x.ts", "y.ts", "z/w.ts"}),
        ("src/tide.ts(3,8): error TS1259: no default\nrun.sh(now) open.py()", {"src/tide.ts"}),
        ("diff --git a/src/tide.py b/src/tide.py\n--- a/src/tide.py\n+++ b/src/tide.py\nsee a/plan.md\n",
         {"src/tide.py", "a/plan.md"}),
    ],
)  # fmt: skip
def test_code_is_no_file_and_the_sides_of_a_diff_are_no_folders(printed: str, files: set[str]) -> None:
    assert set(names_in(shell("show", printed)).files) == files


def test_marked_words_are_taken_whole_and_dunders_not_at_all() -> None:
    names = names_in(says("Run `npm:build` and `openDoor()`, not `undefined,` in __init__ or `plain`."))
    assert set(names.code) == {"npm:build", "openDoor"}


def test_no_piece_of_a_key_is_told_as_a_name() -> None:
    key = "hvs." + "jKuiHcAF2o0D7LNrbuKMJhFi"
    found = ranked(
        shell("cat .env", f"VAULT={key}\nDB_PASS=Hunter2Secret"),
        says(f"Key {key} and DB_PASS=Hunter2Secret of `mainPort2Use`."),
    )
    assert not any("jKuiHc" in name or "Hunter2Secret" in name for name in found)
    assert "mainPort2Use" in found


def test_a_path_whose_beginning_is_left_out_is_the_whole_one() -> None:
    found = names_in(shell("git diff --stat", ".../src/chat.tsx | 2 +-"), shell("git ls-files", LISTING))
    assert "web/src/chat.tsx" in found.files
    carried = ranked(shell("git diff --stat", ".../src/chat.tsx | 2 +-"), shell("git ls-files", LISTING))
    assert [one.place for one in carried.values() if one.name == "chat.tsx"] == ["web/src"]


def test_names_that_can_be_read_in_what_stays_are_left_out() -> None:
    groups = (
        call("Read", {"file_path": "a.py"}, "def call_home(): far_away(); near_by()\n# lib/b.py, lib/c.py"),
        call("Read", {"file_path": "d.py"}, "near_by(); call_home()\n# see lib/b.py"),
    )  # fmt: skip
    found = ranked(*groups, in_sight=frozenset({4}))
    assert {"far_away", "c.py"} <= found.keys()
    assert not {"near_by", "b.py"} & found.keys()


def name(text: str, place: str = "", **more: bool) -> RankedName:
    return RankedName(text, place, 1, 1.0, **more)


def test_names_stand_by_file_and_files_by_folder() -> None:
    lines = name_lines(
        [
            name("open_berth", "web/src/pier.py", defined=True),
            name("use_rope", "web/src/pier.py"),
            name("turn_rope", "web/src/pier.py"),
            name("lonely_name", "web/src/other.py"),
            name("v2.3.1"),
            name("chat.tsx", "web/src", is_file=True),
            name("app.tsx", "web/src", is_file=True),
            name("alone.py", is_file=True),
        ]
    )
    assert lines == [
        "- src/pier.py: defines open_berth; also use_rope, turn_rope",
        "- lonely_name, `v2.3.1`",
        "- files: web/src/ chat.tsx, app.tsx; alone.py",
    ]


@pytest.mark.parametrize("budget", [0, 2, 20, 60, 200])
def test_names_keep_their_budget_the_likeliest_first(budget: int) -> None:
    every = [name(f"name_number_{place}", "a/b.py" if place % 2 else "") for place in range(40)]
    chosen = chosen_names(every, budget, characters)
    assert chosen == every[: len(chosen)]
    assert characters("\n".join(name_lines(chosen))) <= budget + 1
    assert bool(chosen) is (budget >= 20)
