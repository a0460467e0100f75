"""The commands that bring learners and mappings together, by the entry points of `dse.commands`."""
