"""Sessions in an editor: the Agent Client Protocol (ACP) over stdin and stdout."""
