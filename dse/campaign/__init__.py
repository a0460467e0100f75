"""Campaigns: every searcher on every problem from every seed, run in parallel, recorded and resumable."""
