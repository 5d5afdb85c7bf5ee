"""Screens: one for the chat, and the dialogs that stand above it."""
