"""Token counts and prices: one count for gauge, triggers and reports."""
