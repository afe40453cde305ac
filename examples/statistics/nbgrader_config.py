"""A small course on statistics, as nbgrader's quickstart would have it: nothing here is nbjudge's yet."""

c = get_config()  # noqa: F821 - nbgrader provides it

c.CourseDirectory.course_id = "statistics"
