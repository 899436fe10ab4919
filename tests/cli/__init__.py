"""The command line: every command, its habits, and what a terminal shows."""
