"""MCP servers: programs and addresses that provide tools."""
