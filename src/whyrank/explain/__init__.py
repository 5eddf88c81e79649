"""Explanations: which words cause a score; `whyrank.explain(...)` is the verb."""

from whyrank.core.callable_package import callable_package

callable_package(__name__, "whyrank.explain.api:explain")
