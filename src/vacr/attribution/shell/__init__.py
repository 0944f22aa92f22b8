"""Shell commands: which files a command changed or showed, as far as its text proves it."""
