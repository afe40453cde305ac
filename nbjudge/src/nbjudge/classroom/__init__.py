"""The tutor of a class: one process that all learners' kernels ask, and a board for the teacher.

It runs as a service of a JupyterHub, which identifies the learner of each request. References, checks and
mistakes stay in this process. A kernel holds none of them, and can report wrong answers of its owner only.
"""
