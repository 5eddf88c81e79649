"""Rankers: what scores a query and a document. Neural ones can be opened: they have an Encoder."""
