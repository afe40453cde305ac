"""Things to play with in the lessons: figures that a control moves, and that say in words what they show."""
