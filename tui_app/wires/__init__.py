"""Wires: the requests and responses of each protocol, and the deviations of servers from it."""
