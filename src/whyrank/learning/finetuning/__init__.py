"""Fine-tuning a cross-encoder: all of it or its embeddings, aligned with IDF or not."""
