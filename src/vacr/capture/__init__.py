"""Record conversations as they happen: hooks, a watcher, and a journal chained by hash."""
