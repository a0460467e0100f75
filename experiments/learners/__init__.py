"""The study of Gogineni, Wei, Lan and Venkataramani again: phases, replay arms, returns."""
