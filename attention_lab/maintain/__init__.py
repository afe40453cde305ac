"""What instructors and maintainers run: build the course, bundle it, grade a simulated class, make the site.

Lessons import none of this, and a student's package leaves it out.
"""
