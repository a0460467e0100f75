"""Cost models that price by something outside of the framework: a function, a program, a library.

What they share: an answer a mapping (`answers`), each asked for once (`model`, `memory`). What answers may
be slow, crash, hang or lie: then the mapping is not valid, with a reason.
"""
