"""Files: the user's cache, writes that are whole or not at all, text read line by line, package downloads."""
