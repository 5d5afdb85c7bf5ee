"""Sessions driven by an editor: the Agent Client Protocol (ACP) over stdin and stdout."""
