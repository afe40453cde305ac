"""What happens to a class during a term: deadlines, students who are renamed, feedback that is returned."""
