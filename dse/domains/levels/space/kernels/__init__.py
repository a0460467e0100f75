"""The compiled functions of a hierarchy's space: only what is in this folder has them compiled anew."""
