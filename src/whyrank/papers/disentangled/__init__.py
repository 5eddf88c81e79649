"""Paper C, DGRe, on any judged collection: its tables and figures, and the trained models opened."""
