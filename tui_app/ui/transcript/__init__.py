"""The transcript: what was said, as lines on the screen."""
