"""MCP servers: programs and addresses that bring tools along."""
