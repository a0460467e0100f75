"""What several searchers share, a file a tool.

`visited`: which designs a search has been to; `history`: what it knows of them; `scores`: a number for every
point, infeasible ones too; `choices`: what a block of genes may be set to; `features`: those of a space that
vary; `acquisition`: what to evaluate next by a posterior; `descent`: samples
that led to one another; `sub_budget`: a part of a budget; `settings`: checks; `sb3_env`: environments for
stable-baselines3.
"""
