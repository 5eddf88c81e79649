"""Paper A, 'Reproducing and Extending Causal Insights Into Term Frequency Computation in Neural Rankers'."""
