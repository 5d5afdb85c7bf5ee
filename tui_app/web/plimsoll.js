// Typing must reach the terminal without a click.
new MutationObserver((_, observer) => {
  if (!document.body.classList.contains("-first-byte")) return;
  document.querySelector(".xterm-helper-textarea")?.focus();
  observer.disconnect();
}).observe(document.documentElement, { attributes: true, subtree: true, attributeFilter: ["class"] });
