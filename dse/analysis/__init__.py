"""From runs to tidy tables and statistics: pure, nothing is drawn. Imports `campaign` and below."""
