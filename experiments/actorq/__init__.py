"""ActorQ measured: actors of few bits, a learner and a quantiser in their own processes, and in lockstep."""
