"""The page a student gets back: nbgrader's feedback, made from the graded notebook.

Named in `nbgrader_config.py` as `attention_lab.feedback.exporter.FeedbackExporter`. The page is one
file without scripts that asks nothing of any network.
"""
