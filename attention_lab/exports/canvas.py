"""Moved to `nbjudge.exports.canvas`."""

from attention_lab.moved import say_moved
from nbjudge.exports.canvas import CanvasExporter

__all__ = ["CanvasExporter"]
say_moved("attention_lab.exports.canvas", "nbjudge.exports.canvas")
