"""Dialogs about servers, skills, agents, memory and background commands."""
