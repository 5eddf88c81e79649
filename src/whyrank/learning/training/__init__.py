"""Training of models: what is learned from, how, fold by fold and seed by seed, and what comes of it."""
