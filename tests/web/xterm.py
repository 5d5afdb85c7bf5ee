"""What stands in the terminal of the page: xterm.js's own buffer, read from outside."""

from tests.servers.chromium import Page

# The page keeps its terminal to itself. xterm's public class sets ``_core``, which is seen here; so the page
# that is tested is the one that is served.
_KEEP = """
Object.defineProperty(Object.prototype, "_core", {
  configurable: true,
  set(core) {
    Object.defineProperty(this, "_core", { value: core, writable: true, configurable: true });
    if (typeof this.loadAddon === "function") window.shownTerminal = this;
  },
});
"""
_ROWS = """(() => {
  const buffer = window.shownTerminal?.buffer.active;
  if (!buffer) return [];
  const rows = Array.from({ length: window.shownTerminal.rows }, (_, row) => buffer.getLine(row));
  return rows.map(line => line?.translateToString(true) ?? "");
})()"""


async def watch(page: Page) -> None:
    """Keep the terminal of every page that is opened from now on."""
    await page.call("Page.addScriptToEvaluateOnNewDocument", source=_KEEP)


async def rows(page: Page) -> list[str]:
    """The lines of the terminal, as they are shown."""
    return list(await page.evaluate(_ROWS))


async def says(page: Page, *words: str) -> str:
    """Wait until all of these stand in the terminal; its text then."""
    for each in words:
        await page.until(f"{_ROWS}.join('\\n').includes({each!r})")
    return "\n".join(await rows(page))


async def pixels(page: Page, first: float, last: float) -> bytes:
    """A part of the page as PNG, from one share of its height to another; the same pixels, the same bytes."""
    width, height = await page.evaluate("[innerWidth, innerHeight]")
    clip = {"x": 0, "y": height * first, "width": width, "height": height * (last - first), "scale": 1}
    return await page.screenshot(clip)
