"""Paths told short, and spelt out again."""

from hypothesis import given
from hypothesis import strategies as st

from tui_app.context.facts.files import common_root, folder_of, root_in, root_line, shortened, whole_paths

ROOT = "/home/ann/shop/src"
PATHS = [f"{ROOT}/a.py", f"{ROOT}/web/b.py", f"{ROOT}/web/c.py", "/etc/hosts"]


def test_the_root_is_the_deepest_folder_of_most_paths() -> None:
    assert common_root(PATHS) == ROOT
    assert common_root(PATHS[:2]) == "", "two paths are not worth a line"
    assert common_root(["a/b.py"] * 9) == "", "relative paths are short already"
    assert common_root(["/a/1", "/a/2", "/a/3"]) == ""
    near = [f"{ROOT}/web/admin/{name}" for name in "abcde"]
    assert common_root([*near, *PATHS[:2], f"{ROOT}/d.py"]) == ROOT, "what saves most"
    assert common_root([*PATHS, *(f"/opt/tools/lib/{name}" for name in "xyzu")]) == ""


def test_a_shortened_summary_can_be_spelt_out() -> None:
    summary = (
        f"- {root_line(ROOT)}\n- …/web/\n  b.py · read (#2)\n  c.py · edited (#4)\n- …/a.py · read (#1)\n- x"
    )
    assert root_in(summary) == ROOT
    assert whole_paths(summary).splitlines() == [
        "",
        "",
        f"- {ROOT}/web/b.py · read (#2)",
        f"- {ROOT}/web/c.py · edited (#4)",
        f"- {ROOT}/a.py · read (#1)",
        "- x",
    ]


def test_a_later_root_holds_for_what_follows_it() -> None:
    text = f"- {root_line('/one/and/more')}\n- …/a\n- {root_line('/two/and/more')}\n- …/a"
    assert whole_paths(text).split() == ["-", "/one/and/more/a", "-", "/two/and/more/a"]


def test_only_plain_folders_can_be_headings() -> None:
    assert folder_of("src/a.py") == "src/"
    assert [folder_of(path) for path in ("a.py", "/a.py", "my files/a.py", "`x/y")] == [""] * 4


@given(st.lists(st.text("abc/ …-", max_size=12), max_size=6))
def test_shortening_and_spelling_out_are_opposites(paths: list[str]) -> None:
    absolute = [f"/long/enough/{path}" for path in paths if "…" not in path]
    root = common_root(absolute)
    text = "\n".join([f"- {root_line(root)}", *(shortened(f"* {path}", root) for path in absolute)])
    if root:
        assert whole_paths(text).splitlines()[1:] == [f"* {path}" for path in absolute]
