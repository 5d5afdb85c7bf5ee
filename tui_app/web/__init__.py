"""The screen in a browser: a small web server on this machine, with access control."""
