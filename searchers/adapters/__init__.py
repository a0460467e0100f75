"""Problems as other libraries have them, so that their optimisers lead their own searches (docs/suites.md).

A file a library, each optional. `study` is a run at the gate (`problem.ask_tell`): what a library evaluates
costs samples of it, and BudgetExhausted ends its block. Numbers are log2 of the loss, with penalties by how
much does not fit (`Values`): no library here takes infinities.
"""
