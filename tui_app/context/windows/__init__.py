"""Context windows: their sizes, and what was learnt about them."""
