"""The command line: one file per command, using the same conversation as the screen."""
