"""One session being driven: what the screen, the commands and other programs hold."""
