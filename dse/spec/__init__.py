"""What is mapped onto what: layers, accelerators, mappings, objectives and reasons.

`hierarchy` has machines of any number of levels and mappings onto them. Imports `support`.
"""
