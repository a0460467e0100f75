"""Statistics on arrays: pure, seeded, and ignorant of campaigns and files."""
