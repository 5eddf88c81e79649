"""The audit: does a ranker behave? Its result and its report."""
