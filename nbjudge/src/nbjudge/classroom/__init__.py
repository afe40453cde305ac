"""The tutor of a class: one process that all learners' kernels ask, and a board for whoever teaches.

It runs as a service of a JupyterHub, which says who is asking. References, checks and mistakes stay in this
process; a learner's kernel holds none of them and can tell lies about nobody but its owner.
"""
