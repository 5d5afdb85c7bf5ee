"""Names worth keeping: who used them, where they stand, and which files were only seen."""

from pydantic_ai.messages import ModelMessage

from tests.context.facts_kit import call, characters, history, says, shell, texts, user
from tui_app.context.facts import extract_facts
from tui_app.context.facts.details import NAMES_IN_A_LINE, detail_facts, grouped, index_names, reports
from tui_app.context.facts.observations import read_items
from tui_app.context.summaries.writer import extractive_summary

LISTING = "web/src/chat.tsx\nweb/src/app.tsx\nweb/lib/util.ts"
REPORT = "The entry is chat.tsx, which calls openSocket."


def details(*groups: list[ModelMessage]) -> dict[str, float]:
    return {fact.text: fact.weight for fact in extract_facts(history(*groups)) if fact.kind == "detail"}


def test_a_definition_says_so_and_counts_more_than_a_mention() -> None:
    source = "class CartStore:\n    def add_item(self): return price_of(item_id)"
    found = details(call("Read", {"file_path": "src/cart.py"}, source))
    assert {"`CartStore` · defined in src/cart.py", "`price_of` · in src/cart.py"} <= found.keys()
    assert found["`CartStore` · defined in src/cart.py"] > found["`price_of` · in src/cart.py"]


def test_files_that_were_only_seen_stand_by_folder() -> None:
    facts = detail_facts(read_items(history(shell("git ls-files", LISTING))))
    assert {text for text, _ in grouped(facts)} == {
        "files: web/src/: chat.tsx, app.tsx; web/lib/util.ts",
    }, "what came up together stands together"


def test_an_opened_file_is_not_listed_as_seen() -> None:
    found = details(shell("git ls-files", LISTING), call("Read", {"file_path": "/w/web/src/chat.tsx"}, "x"))
    assert not any("chat.tsx`" in text for text in found)
    assert "`app.tsx` · in web/src/" in found


def test_what_another_agent_reports_is_heard_like_talk() -> None:
    listed = details(shell("git ls-files", LISTING))
    reported = details(shell("git ls-files", LISTING), call("Task", {"prompt": "look"}, REPORT))
    assert "`openSocket`" in reported
    assert reported["`chat.tsx` · in web/src/"] > listed["`chat.tsx` · in web/src/"]
    assert "`chat.tsx`" not in reported, "told by its bare name, it is still the one file"
    actions = read_items(history(call("Task", {}, REPORT), call("Read", {}, REPORT))).actions
    assert [reports(action) for action in actions] == [True, False]


def test_names_in_files_the_work_is_about_count_more() -> None:
    read = call("Read", {"file_path": "a.py"}, "callHome()")
    plain = details(call("Edit", {"file_path": "b.py"}), read)["`callHome` · in a.py"]
    assert details(call("Edit", {"file_path": "a.py"}), read)["`callHome` · in a.py"] > plain
    assert details(user("Look at a.py."), says("ok"), read)["`callHome` · in a.py"] > plain


def test_code_is_no_file_and_dunders_are_no_names() -> None:
    printed = (
        "process.env.HOME console.log(x) cmd.Env = 1 __init__ __name__ app.log ../lib/x.ts ./y.ts @z/w.ts"
    )
    names = index_names(read_items(history(shell("cat x", printed))))
    assert set(names.files) == {"app.log", "lib/x.ts", "y.ts", "z/w.ts"}
    assert not any("__" in name for name in names.code)


def test_marked_words_are_taken_whole_and_calls_without_brackets() -> None:
    found = texts(
        extract_facts(history(says("Run `npm:build` and `openDoor()`, not `undefined,`."))), "detail"
    )
    assert {"`npm:build`", "`openDoor`"} <= set(found)
    assert not any("undefined" in text for text in found)


def test_a_file_is_known_by_the_place_a_compiler_names() -> None:
    printed = "src/tide.ts(3,8): error TS1259: no default\nrun.sh(now) open.py()"
    names = index_names(read_items(history(shell("tsc", printed))))
    assert set(names.files) == {"src/tide.ts"}


def test_the_sides_of_a_diff_are_no_folders() -> None:
    printed = "diff --git a/src/tide.py b/src/tide.py\n--- a/src/tide.py\n+++ b/src/tide.py\nsee a/plan.md\n"
    names = index_names(read_items(history(shell("git diff", printed))))
    assert set(names.files) == {"src/tide.py", "a/plan.md"}


def test_a_file_has_one_line_with_what_it_defines_first() -> None:
    printed = "def open_berth(): ...\n" + "\n".join(f"use_rope_{number}()" for number in range(40))
    items = history(user("Look at pier.py."), says("ok"), call("Read", {"file_path": "pier.py"}, printed))
    text = extractive_summary(items, budget_tokens=900, count=characters)
    lines = [line for line in text.splitlines() if "use_rope_" in line]
    assert len(lines) == 1, "a page of names is read by nobody"
    assert lines[0].startswith("- pier.py defines open_berth; also use_rope_")
    assert lines[0].count(",") == NAMES_IN_A_LINE - 2


def test_files_that_were_only_seen_stand_apart() -> None:
    items = history(user("Look around."), shell("git ls-files", LISTING))
    once = extractive_summary(items, budget_tokens=900, count=characters)
    seen = once.partition("## Seen but not opened\n")[2].splitlines()
    assert "- web/src/: chat.tsx, app.tsx; web/lib/util.ts (#3)" in seen
    again = extractive_summary(history(user("Go on.")), budget_tokens=900, count=characters, previous=once)
    assert again.partition("## Seen but not opened\n")[2].splitlines() == seen
    below = "**Details**\n- files in web/src/: chat.tsx (#3)\n- files: alone.py (#3)"
    moved = extractive_summary(history(user("Go on.")), budget_tokens=900, count=characters, previous=below)
    assert "## Seen but not opened\n- web/src/: chat.tsx (#3)\n- alone.py (#3)" in moved


def test_no_piece_of_a_key_is_told_as_a_name() -> None:
    found = details(
        shell("cat .env", "VAULT=hvs." + "jKuiHcAF2o0D7LNrbuKMJhFi" + "\nDB_PASS=Hunter2Secret"),
        says("Key hvs." + "jKuiHcAF2o0D7LNrbuKMJhFi and DB_PASS=Hunter2Secret of `mainPort2Use`."),
    )
    assert not any("jKuiHc" in text or "Hunter2Secret" in text for text in found)
    assert any("mainPort2Use" in text for text in found)


def test_what_a_line_says_already_is_not_said_again() -> None:
    found = details(
        shell("git ls-files", "src/tide_table.py\nsrc/moon.py"),
        says("See `src/moon.py:12-40`: `tide_table` asks `moon_phase`."),
    )
    assert {"`moon_phase`", "`tide_table.py` · in src/"} <= found.keys()
    assert not found.keys() & {"`tide_table`", "`src/moon.py:12-40`"}


def test_a_path_whose_beginning_is_left_out_is_the_whole_one() -> None:
    found = details(shell("git diff --stat", ".../src/chat.tsx | 2 +-"), shell("git ls-files", LISTING))
    assert [text for text in found if "chat.tsx" in text] == ["`chat.tsx` · in web/src/"]


def test_names_that_can_be_read_beside_the_notes_are_left_out() -> None:
    printed = "def call_home(): far_away(); near_by()\n# see lib/b.py, lib/c.py"
    items = history(
        call("Read", {"file_path": "a.py"}, printed),
        says("All of call_home, far_away and near_by are at fault."),
        call("Read", {"file_path": "d.py"}, "near_by(); call_home()\n# see lib/b.py"),
    )
    texts = {fact.text for fact in detail_facts(read_items(items, in_sight={items[-1].key}))}
    assert {"`call_home` · defined in a.py", "`far_away` · in a.py", "`c.py` · in lib/"} <= texts
    assert not any("near_by" in text or "b.py" in text for text in texts), "where one is defined is news"
