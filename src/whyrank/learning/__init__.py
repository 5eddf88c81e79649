"""Learning: fine-tuning and training rankers."""
