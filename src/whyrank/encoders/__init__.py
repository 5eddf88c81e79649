"""The opened transformer: our own forward pass over the checkpoint's own weights, and its adapters."""
