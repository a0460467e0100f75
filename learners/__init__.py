"""Reinforcement-learning algorithms on any environment: one file an algorithm, and what they share.

An algorithm takes a PettingZoo parallel environment (a Gymnasium one by `learners.team.OneAgent`) whose
agents all have discrete or all have box actions. It knows no mapping, and nothing of `dse`.
`import learners` is light: torch comes with the modules that compute.

    from learners.maddpg import MADDPG
    from learners.settings import STUDY
    from learners.training import train
    policies = train(MADDPG(**STUDY), env, steps=25_000, rng=np.random.default_rng(0))
"""
