"""What is checked of certificates under `timeloop` only."""
