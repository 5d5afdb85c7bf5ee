"""Speed, always as a ratio to something measured beside it: machines differ, ratios hardly do."""
