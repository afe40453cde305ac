"""Controls with a text that a notebook keeps: nbjudge's, for the course's sliders."""

from nbjudge.tutor import LiveBox as LiveBox
