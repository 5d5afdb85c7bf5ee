"""One log of everything said, its two views, and the files beside it."""
