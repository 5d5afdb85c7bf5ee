"""Widgets of the chat screen; they show what they are given and post what a person does."""
