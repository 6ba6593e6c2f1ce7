"""The algorithms of the paper, one file each: the learner and every number it uses."""
