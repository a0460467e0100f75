"""What several searchers share: visited mappings, choices by block, acquisition, SB3 glue."""
