"""The categories of tokens: every token of a minimal pair has exactly one."""

from __future__ import annotations

#: `qterm+` are occurrences of the selected term in the original text, `qterm-` the other query words.
CATEGORIES = ("cls", "query", "inj", "filler", "qterm+", "qterm-", "other", "sep")
