"""Moved to `nbjudge.exports.moodle`."""

from attention_lab.moved import say_moved
from nbjudge.exports.moodle import MoodleExporter

__all__ = ["MoodleExporter"]
say_moved("attention_lab.exports.moodle", "nbjudge.exports.moodle")
