"""Text: words and their places, and the analysis that makes search terms of them."""

from whyrank.text.words import Analyzer, word_spans, words

__all__ = ["Analyzer", "word_spans", "words"]
