"""The built-in assistant that needs no key, no network and no model weights."""
