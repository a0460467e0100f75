"""Published energies by process, as data files: see `dse.core.technology`."""
