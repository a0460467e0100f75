"""Our searchers and cost models beside those of others."""
