"""The audit: does a ranker behave? Its result and its report; `whyrank.audit(...)` is the verb."""

from whyrank.core.callable_package import callable_package

callable_package(__name__, "whyrank.audit.api:audit")
