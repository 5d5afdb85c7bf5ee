"""The machine: processes, sandbox, files, git, trust, environment."""
