"""The style of exported pages: the reader's own fonts, light or dark as the reader's system is."""

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #5b6470; --page: #ffffff; --box: #f4f6f8;
  --line: #d5dae0; --user: #0b57a4; --mark: #9a4a00; --markbox: #fff4e5; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e8ec; --dim: #98a2ad; --page: #14171a;
  --box: #1e2327; --line: #343b42; --user: #7db7f2; --mark: #f0b26b; --markbox: #2c2317; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
main, footer { max-width: 52rem; margin: 0 auto; padding: 1rem 1.25rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
article { border-top: 1px solid var(--line); padding: .75rem 0; }
article > header { display: flex; gap: 1rem; justify-content: space-between; align-items: baseline; }
article > header span, footer { color: var(--dim); font-size: .8rem; }
.prose { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--box); padding: .6rem .8rem;
  border-radius: .3rem; font: .85rem/1.45 ui-monospace, monospace; }
summary { cursor: pointer; color: var(--dim); }
.user { border-left: .25rem solid var(--user); padding-left: .9rem; }
.user h2 { color: var(--user); }
.tool h2, .notice h2, .system h2 { color: var(--dim); font-weight: 500; }
.compaction { border: 2px solid var(--mark); background: var(--markbox); padding: .75rem .9rem; }
.compaction h2 { color: var(--mark); }
@media print { details > pre { display: block; } }
"""
"""CSS without anything from elsewhere."""
