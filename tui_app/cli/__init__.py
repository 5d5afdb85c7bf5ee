"""The command line: one file for each command, over the same conversation as the screen."""
