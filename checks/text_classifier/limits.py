"""The classifier's own limits: its questions train models, and its first optimizer imports for seconds."""

from attention_lab.authoring import Limits

LIMITS = Limits(cell=60, answer=30, notebook=600)
