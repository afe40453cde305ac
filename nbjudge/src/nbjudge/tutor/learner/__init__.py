"""The learner's half of the tutor: `check`, its panel, and the record of what a learner has done.

It runs in the learner's kernel, knows nothing of what is right, and imports nothing else of nbjudge before
there is a tutor: the sandbox that grades exposes this package alone.
"""
