"""Reports: what a campaign's record says, as statistics (pure functions) and tables."""
