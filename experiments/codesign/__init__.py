"""Co-design against what others published: DOSA's networks and machines, and chips of a given area."""
