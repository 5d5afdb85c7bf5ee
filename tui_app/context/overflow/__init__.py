"""Requests that are too long: recognise refusals, and cut a request to fit."""
