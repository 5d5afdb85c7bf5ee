"""What messages cost: one count for gauge, triggers and reports."""
