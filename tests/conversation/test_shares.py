"""What stands behind a category, on the scale of the figures above it."""

from hypothesis import given
from hypothesis import strategies as st

from tui_app.conversation.message_actions import Share, on_scale
from tui_app.usage import Breakdown

SIZES = st.lists(st.integers(1, 5_000), min_size=1, max_size=8)


@given(SIZES, SIZES, st.integers(1, 60_000), st.integers(0, 60_000))
def test_tools_add_up_to_the_token_and_memory_is_on_the_same_scale(
    tools: list[int], files: list[int], whole: int, memory: int
) -> None:
    shares = [Share("tools", f"server {size}", size) for size in tools]
    shares += [Share("memory", f"file {size}", size) for size in files]
    scaled = on_scale(shares, Breakdown(tools=whole, memory=memory))
    assert [share.name for share in scaled] == [share.name for share in shares]
    assert sum(share.tokens for share in scaled if share.category == "tools") == whole
    for size, share in zip(files, scaled[len(tools) :], strict=True):
        assert share.tokens == min(memory, round(size * whole / sum(tools)))
    exact = on_scale(shares, Breakdown(tools=sum(tools), memory=sum(files)))
    assert exact == tuple(shares)


def test_without_tools_there_is_no_scale() -> None:
    shares = (Share("memory", "AGENTS.md", 12),)
    assert on_scale(shares, Breakdown(memory=40)) == shares
    assert on_scale((), Breakdown()) == ()
