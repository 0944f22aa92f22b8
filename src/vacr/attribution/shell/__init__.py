"""Shell commands: the files that a command changed or showed, as far as its text proves it."""
