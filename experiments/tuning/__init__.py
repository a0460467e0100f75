"""How the searchers' settings were chosen, on development problems only."""
