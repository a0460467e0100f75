"""What every kind of design has: layers, objectives, reasons, figures, protocols.

Imports `support` alone."""
