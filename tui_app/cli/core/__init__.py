"""What every command shares: options, output, signals, exit codes."""
