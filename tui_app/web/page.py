"""The page that holds the terminal in the browser. It loads nothing from elsewhere."""

from html import escape

SOCKET = "/ws"
STATIC = "/static"
_PAGE = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Plimsoll</title>
    <link rel="stylesheet" href="{static}/css/xterm.css">
    <link rel="stylesheet" href="/plimsoll.css">
    <script src="{static}/js/textual.js"></script>
    <script src="/plimsoll.js"></script>
  </head>
  <body>
    <p class="waiting">⊖ Plimsoll is starting …</p>
    <p class="ended">⊖ The session has ended; it is kept. <a href="/">Start again</a></p>
    <div id="terminal" class="textual-terminal" data-session-websocket-url="{socket}"
         data-font-size="{size}"></div>
  </body>
</html>
"""
STYLE = """@font-face { font-family: "Roboto Mono";
  src: url("/static/fonts/RobotoMono-VariableFont_wght.ttf"); }
body { margin: 0; background: #0c1a24; color: #d6e4ee; font-family: "Roboto Mono", monospace; }
.waiting, .ended { position: absolute; inset: 0; margin: 0; padding-top: 40vh; text-align: center;
  z-index: 2; }
.ended, body.-first-byte .waiting { display: none; }
body.-closed .waiting { display: none; }
body.-closed .ended { display: block; background: #0c1a24; }
a { color: #6cb6e8; }
.textual-terminal { opacity: 0; }
body.-first-byte .textual-terminal { opacity: 1; }
"""
SCRIPT = """// Typing must reach the terminal without a click.
new MutationObserver((_, observer) => {
  if (!document.body.classList.contains("-first-byte")) return;
  document.querySelector(".xterm-helper-textarea")?.focus();
  observer.disconnect();
}).observe(document.documentElement, { attributes: true, subtree: true, attributeFilter: ["class"] });
"""
SAFETY = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; "
        "img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Headers of every answer: nothing from elsewhere is loaded, and no other page may frame this one."""


def page(host: str, font_size: int) -> str:
    """The page for one visit.

    Args:
        host: The Host header that the browser sent; the web socket goes to the same address.
        font_size: Pixels.
    """
    return _PAGE.format(static=STATIC, socket=escape(f"ws://{host}{SOCKET}", quote=True), size=font_size)
