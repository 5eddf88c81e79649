"""What everything stands on: errors, whole-or-nothing files, the cache, runs."""
