"""The course, as nbgrader reads it.

nbjudge plugs in by nbgrader's settings. What nbgrader has no setting for, `nbjudge.nbgrader_hooks` replaces
for the time of a run.
"""

from contextlib import suppress

from attention_lab.students import EXPOSED_MODULES

c = get_config()  # noqa: F821 - nbgrader provides it

c.CourseDirectory.course_id = "attention-lab"
c.CourseDirectory.solution_directory = "solutions"

# Written questions carry their mark scheme in the locked cell that asks them.
c.ClearMarkScheme.enforce_metadata = False

# Solution notebooks are handed out after the deadline and run by CI: no hidden region, no widget state.
# (Preprocessors by name: code that only reads the folders need not import them.)
c.GenerateSolution.preprocessors = [
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.Execute",
]
c.Execute.store_widget_state = False
c.Execute.record_timing = False
c.Execute.coalesce_streams = True  # of a progress bar its last line, not every update
c.Execute.timeout = 300

# Grading: student code never shares a process with an input generator, a reference or a verdict. Feedback:
# one page a student, without scripts, that asks nothing of any network.
with suppress(ImportError):  # nbjudge is optional: learners do not need it
    from nbjudge import configure

    configure(c)

# The modules of the course that notebooks import: the sandbox exposes these and no others.
c.RunAndJudge.exposed_modules = list(EXPOSED_MODULES)
# What they import later on than at their top: every lesson uses it.
c.RunAndJudge.modules = ["attention_lab.examples", "nbjudge.tutor.learner.checking", "seaborn"]
# In grading a cell has less time than above, where it may be a training run.
c.RunAndJudge.cell_seconds = 30
c.RunAndJudge.build_command = "make build"
