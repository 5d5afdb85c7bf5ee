"""What asks the user or answers for them before a tool runs: questions, modes, guards."""
