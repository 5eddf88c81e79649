"""Paper B, end to end: the semantic-BM25 circuit of a cross-encoder."""
