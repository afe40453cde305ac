"""What a cell shows, put together from messages that may hold anything."""

import base64
import json
import struct
from contextlib import suppress
from io import BytesIO

import nbformat
import pytest
from any_json import json_values, many
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from nbjudge.sandbox.inside import cut_outputs
from nbjudge.sandbox.inside.cut_outputs import (
    COST_OF_A_CODE,
    LONGEST_TEXT,
    MOST_OUTPUTS,
    OUTPUT,
    SHOWABLE,
    SHOWING,
    CellOutputs,
    is_modest,
)

CAPACITY = 2**20
names = ("data", "metadata", "transient", "name", "text", "ename", "evalue", "traceback", "wait", "comm_id")
contents = st.dictionaries(st.sampled_from(names), json_values, max_size=6)
data = st.dictionaries(st.sampled_from([*SHOWABLE, "text/html", "image/svg+xml"]), json_values, max_size=3)
displays = st.fixed_dictionaries({"data": data, "transient": st.just({"display_id": "d"})})
kinds = st.sampled_from([*SHOWING, "clear_output", "comm_open", "comm_msg", "comm_close", "status", "x"])


def shown(*messages: tuple[str, dict], capacity: int = CAPACITY) -> list[dict]:
    cell = CellOutputs(capacity)
    for kind, content in messages:
        if cell.fits(len(json.dumps(content))):
            with suppress(Exception):  # as the reader passes over nonsense
                cell.take(kind, content)
    return cell.as_list()


def stream(text: str, name: str = "stdout") -> tuple[str, dict]:
    return "stream", {"name": name, "text": text}


def display(text: str, kind: str = "display_data", **more: object) -> tuple[str, dict]:
    return kind, {"data": {"text/plain": text}, "metadata": {"points": 2}, "transient": more}


def plain(outputs: list[dict]) -> list[str]:
    return [output.get("text") or output["data"]["text/plain"] for output in outputs]


@many
@given(st.lists(st.tuples(kinds, contents | displays), max_size=8))
def test_outputs_are_a_notebooks_texts_and_pictures(messages):
    """Whatever is sent."""
    shown_outputs = [nbformat.from_dict(output) for output in shown(*messages)]
    cell = nbformat.v4.new_code_cell(outputs=shown_outputs)
    nbformat.validate(nbformat.v4.new_notebook(cells=[cell]))
    for output in shown_outputs:
        assert set(output.get("data", {})) <= set(SHOWABLE)
        assert not output.get("metadata")
        assert "transient" not in output


A, B = stream("a"), stream("b")
FIRST, UPDATE = display("1 %", display_id="bar"), display("100 %", "update_display_data", display_id="bar")
CLEAR, CLEAR_LATER = ("clear_output", {}), ("clear_output", {"wait": True})
BEGIN = ("comm_open", {"comm_id": "w", "data": {"state": {"_model_name": "OutputModel", "msg_id": ""}}})
ENTER, LEAVE = (
    ("comm_msg", {"comm_id": "w", "data": {"method": "update", "state": {"msg_id": now}}})
    for now in ("m", "")
)


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        # What was printed in one go is one output.
        ([A, B, stream("c", "stderr"), A, display("picture"), A, B], ["ab", "c", "a", "picture", "ab"]),
        ([FIRST, UPDATE], ["100 %"]),  # in its own cell only
        ([UPDATE], []),
        ([display("1 %", "execute_result", display_id="bar"), UPDATE], ["1 %"]),  # a result stays
        ([A, CLEAR, B], ["b"]),
        ([A, CLEAR_LATER], ["a"]),
        ([A, CLEAR_LATER, B], ["b"]),
        # What is shown in an output widget is the widget's.
        ([BEGIN, A, ENTER, stream("b", "stderr"), LEAVE, stream("c")], ["ac"]),
    ],
)
def test_displays_are_updated_and_outputs_cleared(messages, expected):
    assert plain(shown(*messages)) == expected


def test_one_output_too_many_stops_no_one():
    """Outputs that show nothing take up capacity as well; what is printed in one go is one output."""
    cell = CellOutputs(limit=10)
    assert cell.fits(6) and not cell.was_cut
    assert not cell.fits(5) and cell.was_cut
    assert not cell.fits(1)  # it would fit, but what was cut stays cut
    assert (cell.shown, cell.beyond) == (6, 6)  # what comes is counted
    cell = CellOutputs(limit=16 * CAPACITY)
    for _ in range(3 * MOST_OUTPUTS):
        assert cell.fits(50)
        cell.take(*display("x"))
    assert plain(cell.as_list()) == ["x"] * MOST_OUTPUTS
    assert cell.was_cut and not cell.beyond
    assert len(shown(*[display("")] * MOST_OUTPUTS, capacity=100 * OUTPUT)) < 100
    (output,) = shown(*[stream("x")] * (5 * MOST_OUTPUTS))
    assert output["text"] == "x" * 5 * MOST_OUTPUTS


def test_a_long_text_is_shortened():
    """An update of many places counts as often."""
    many_times = [display("x", display_id="d")] * 100
    update = display("y" * 5_000, "update_display_data", display_id="d")
    assert plain(shown(*many_times, update, capacity=CAPACITY)) == ["y" * 5_000] * 100
    assert plain(shown(*many_times, update, capacity=CAPACITY // 2)) == ["x"] * 100
    (output,) = shown(stream("x" * 2 * LONGEST_TEXT), capacity=4 * LONGEST_TEXT)
    assert LONGEST_TEXT / 2 < len(output["text"]) < 1.1 * LONGEST_TEXT
    (joined,) = shown(*[stream("x" * LONGEST_TEXT)] * 3, capacity=4 * LONGEST_TEXT)
    assert len(joined["text"]) < 1.1 * LONGEST_TEXT


def test_colours_are_kept_and_other_codes_are_not():
    """A traceback stays coloured; codes that move the cursor, or that no end is near of, are left out."""
    coloured = "\x1b[0;31mE\x1b[0m"
    trace = [f"{coloured}\x1b[2K\x1b[A", f"\x1b[{'1;' * 20}mx"]
    outputs = shown(stream(f"{coloured}\x1b"), display(f"{coloured}\x1b[H"), ("error", {"traceback": trace}))
    assert (outputs[0]["text"], outputs[1]["data"]) == (coloured, {"text/plain": coloured})
    assert outputs[2]["traceback"] == [coloured, "x"]


def test_a_notebook_has_only_so_many_codes(monkeypatch):
    """What has more than a reader can take is plain; it takes nothing from later outputs, of any cell."""
    monkeypatch.setattr(cut_outputs, "MOST_COPIED", 5 * COST_OF_A_CODE)
    plain_texts, two, many = [], "\x1b[1mx" * 2, "\x1b[1mx" * 9
    cell = None
    for texts in ([many, two], [two, many], [two]):
        cell = CellOutputs(CAPACITY, cell)
        for text, name in zip(texts, ("stdout", "stderr"), strict=False):
            cell.take(*stream(text, name))
        plain_texts.append([output["text"] for output in cell.as_list()])
    assert plain_texts == [["x" * 9, two], [two, "x" * 9], ["xx"]]


def picture(kind: str, width: int, height: int) -> str:
    figure = Figure(figsize=(width / 100, height / 100), dpi=100)
    figure.subplots().plot([1, 2])
    drawn = BytesIO()
    figure.savefig(drawn, format=kind)
    return base64.encodebytes(drawn.getvalue()).decode()


def test_a_picture_that_is_not_huge_is_shown():
    """One that claims billions of points, or is broken, is not."""

    def seen(kind: str, drawn: str) -> dict:
        (output,) = shown(("display_data", {"data": {"text/plain": "x", f"image/{kind}": drawn}}))
        return output["data"]

    for kind in ("png", "jpeg"):
        drawn = picture(kind, 640, 480)
        assert seen(kind, drawn)[f"image/{kind}"] == drawn
        for broken in (drawn[:8], "é" + drawn, drawn[40:], "", "A" * 99):
            assert not is_modest(broken) and seen(kind, broken) == {"text/plain": "x"}
    png = base64.b64decode(picture("png", 640, 480))
    for width, height in ((60_000, 60_000), (2**31 - 1, 1), (1, 2**31 - 1), (0, 10), (20_000, 20_000)):
        claimed = png[:16] + struct.pack(">II", width, height) + png[24:]
        assert not is_modest(base64.b64encode(claimed).decode())
    jpeg = base64.b64decode(picture("jpeg", 640, 480))
    assert not is_modest(base64.b64encode(jpeg.replace(b"\x01\xe0\x02\x80", b"\xff" * 4)).decode())
