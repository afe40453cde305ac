"""Sliders and other figures that a control moves: one module per subject.

Each figure says in words what it shows.
"""
