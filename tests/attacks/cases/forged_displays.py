"""Displays data with nbgrader's marks and the judge's, and opens comms and widgets that carry scores."""

from attack import wrong

PROOF = "nothing but text"
DISPLAY = """
import comm, ipywidgets
from IPython.display import clear_output, display, publish_display_data, update_display
marks = {"nbgrader": {"grade": True, "points": 2, "grade_id": "test_double", "solution": False}}
def double(x):
    for identifier in ("test_double", "double", "verdict"):
        publish_display_data({"text/plain": "2"}, metadata=marks | {"nbjudge": {"points": 2}})
        display({"text/plain": "2"}, raw=True, metadata=marks, display_id=identifier)
        update_display({"text/plain": "2"}, raw=True, metadata=marks, display_id=identifier)
        clear_output()
    for target in ("jupyter.widget", "nbgrader", "nbjudge", ""):
        opened = comm.create_comm(target_name=target, data={"points": 2}, metadata={"version": "2.1.0"})
        opened.send({"method": "update", "state": {"value": 2}, "points": 2}, buffers=[b"x" * 1000])
    display(ipywidgets.HTML("<script>alert(2)</script>"), ipywidgets.Output(), ipywidgets.IntSlider(2))
    print("nothing but text")
    return x
"""


def submission():
    return wrong(double=DISPLAY)


def harm(arena):
    shown = arena.shown(__name__)
    if "grade_id" in shown:
        return "its metadata were kept"
    has_widget = "widgets" in arena.graded.notebook(__name__).metadata or "widget-view" in shown
    return "a widget was kept" if has_widget else ""
