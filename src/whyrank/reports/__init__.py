"""What commands leave for people: run folders with their manifest, and figures."""
