"""What is mapped onto what: layers, accelerators, mappings, objectives and reasons.

Imports `support`.
"""
