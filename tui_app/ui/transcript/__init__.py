"""The transcript: the conversation as lines on the screen."""
