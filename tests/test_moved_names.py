"""A configuration of before the grader was a package of its own works, and is told the new names."""

from __future__ import annotations

import importlib
import sys

import pytest
from tiny_course import FOLDER, FULL, ROOT, GradedClass, answered, hand_in, make_course, nbgrader

MOVED = {
    "attention_lab.grading.nbgrader_plugin.SubmissionExporter": "nbjudge.plugin.SubmissionExporter",
    "attention_lab.grading.nbgrader_plugin.Rebuild": "nbjudge.plugin.Rebuild",
    "attention_lab.grading.nbgrader_plugin.RunAndJudge": "nbjudge.plugin.RunAndJudge",
    "attention_lab.grading.check": "nbjudge.check",
    "attention_lab.feedback.exporter.FeedbackExporter": "nbjudge.feedback.FeedbackExporter",
    "attention_lab.exports.canvas.CanvasExporter": "nbjudge.exports.canvas.CanvasExporter",
    "attention_lab.exports.moodle.MoodleExporter": "nbjudge.exports.moodle.MoodleExporter",
}

OLD_PACKAGES = ("attention_lab.grading", "attention_lab.feedback", "attention_lab.exports")


def found(name: str) -> object:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_name_is_the_new_one_and_says_so(old, new):
    module, home = old.rpartition(".")[0], new.rpartition(".")[0]
    for name in [name for name in sys.modules if name.startswith(OLD_PACKAGES)]:
        del sys.modules[name]
    with pytest.warns(FutureWarning, match=rf"{module} is now {home}: write that instead"):
        assert found(old) is found(new)


OLD_LINES = """
c.Autograde.exporter_class = "attention_lab.grading.nbgrader_plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = [
    "attention_lab.grading.nbgrader_plugin.Rebuild",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "attention_lab.grading.nbgrader_plugin.RunAndJudge",
    "nbgrader.preprocessors.IgnorePattern",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.GenerateFeedback.exporter_class = "attention_lab.feedback.exporter.FeedbackExporter"
"""


def test_an_old_configuration_grades_as_before_and_is_told(tmp_path):
    """With the lines of version 0.1: no helpers, the old names."""
    config = (ROOT / "nbgrader_config.py").read_text()
    own = config[: config.index("# Grading:")].replace("from attention_lab.students import HELPERS\n", "")
    old = own + OLD_LINES
    assert "nbjudge" not in old
    make_course(tmp_path / "course", old)
    hand_in(tmp_path / "course", "ada", answered())
    run = nbgrader(tmp_path / "course", "autograde", FOLDER)
    assert run.returncode == 0, run.stderr
    assert GradedClass(tmp_path / "course").points("ada") == FULL
    assert run.stderr.count("attention_lab.grading.nbgrader_plugin is now nbjudge.plugin") == 1
