"""Exams: each student's paper is drawn from one blueprint, `checks/NOTEBOOK/exam.toml` of each notebook.

A paper has tasks, which are wrong answers to fix (`nbjudge.tutor.hunts`), and questions with numbers of the
student's own or with choices (`nbjudge.quiz`).
"""
