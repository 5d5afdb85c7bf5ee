"""The screen in a browser: a small web server on this machine, and who may use it."""
