"""What one cell shows, put together from a kernel's messages: text and pictures, within a limit.

No HTML, script, widget or metadata of a student's is kept, and nothing of an output's identity: what
is handed on are lists, dicts and texts in the form of a notebook's outputs.
"""

import base64
import binascii
import re
import struct
from itertools import islice
from typing import Any

PICTURES = ("image/png", "image/jpeg")
SHOWABLE = ("text/plain", *PICTURES)
LONGEST_TEXT = 2_000_000  # characters of one output, enough for a picture
MOST_LINES = 100  # of a traceback
MOST_OUTPUTS = 1_000  # of one cell
OUTPUT = 1_000  # bytes that an output takes, however little it shows
# The formgrader's nbconvert copies all that is left of an output at each terminal code in it.
MOST_COPIED = 10**9  # characters of a notebook, if a code by itself counts as so many:
COST_OF_A_CODE = 10_000
CODE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~])?")
COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")
CUT = "\n… (the rest is left out)\n"
SHOWING = ("stream", "display_data", "execute_result", "error", "update_display_data")
# A picture of a few kilobytes can hold billions of points, more than a browser has memory for.
MOST_POINTS = 50_000_000  # of one picture
LONGEST_SIDE = 30_000
PNG_BEGINS = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
JPEG_BEGINS = b"\xff\xd8\xff"
# The markers that begin a frame, whose size follows; the others of this range are tables.
JPEG_FRAMES = set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
WITHOUT_LENGTH = {0x01, *range(0xD0, 0xD8)}
MOST_SEGMENTS = 1_000

Output = dict[str, Any]


class CellOutputs:
    """The outputs of one cell, of which at most `limit` bytes and `MOST_OUTPUTS` are kept.

    A display that is updated is updated in this cell only. What is sent to an output widget is
    the widget's, as in JupyterLab, and is not kept.
    """

    def __init__(self, limit: int, earlier: "CellOutputs | None" = None) -> None:
        self.limit = limit
        self.shown = 0  # bytes that were kept, or left out as one output too many
        self.beyond = 0  # bytes that came when there was no space left
        self.was_cut = False
        self._outputs: list[Output] = []
        self._displays: dict[str, list[Output]] = {}  # those that can still be updated
        self._clear_first = False
        self._copied: int = earlier._copied if earlier else 0
        # The output widgets, those of the earlier cells too, and whether each takes what is shown.
        self._widgets: dict[str, bool] = dict(
            islice(earlier._widgets.items() if earlier else (), MOST_OUTPUTS)
        )

    def fits(self, size: int) -> bool:
        """Return whether so many bytes fit; they count from now on, one way or the other."""
        if self.beyond or self.shown + size > self.limit:
            self.beyond += size
            self.was_cut = True
            return False
        self.shown += size
        return True

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """Take in one message of the kernel's. Raises whatever nonsense in it brings about."""
        if kind == "clear_output":
            self._clear_first = bool(content.get("wait"))
            if not self._clear_first:
                self._clear()
        elif kind in ("comm_open", "comm_msg"):
            self._follow_widget(kind, content)
        elif kind in SHOWING and not any(self._widgets.values()):
            self._show(kind, content)

    def as_list(self) -> list[Output]:
        """The outputs; what was printed in one go is one of them, for how it came in pieces is chance."""
        return [self._with_few_codes(_one_text(output)) for output in self._outputs]

    def _show(self, kind: str, content: dict[str, Any]) -> None:
        name = _display_id(content)
        if kind == "update_display_data":
            self._update(self._displays.get(name, []), _showable(content.get("data")))
            return
        if self._clear_first:
            self._clear()
        output = _output(kind, content)
        last = self._outputs[-1] if self._outputs else {}
        if kind == "stream" and last.get("name") == output["name"]:
            last["pieces"].append(output["pieces"][0])
        elif len(self._outputs) >= MOST_OUTPUTS:
            self.was_cut = True
        elif self.fits(OUTPUT):
            self._outputs.append(output)
            if name and kind == "display_data":
                self._displays.setdefault(name, []).append(output)

    def _update(self, displays: list[Output], data: dict[str, str]) -> None:
        """Count an update once for every output that shows it."""
        if self.fits(sum(map(len, data.values())) * len(displays)):
            for output in displays:
                output["data"] = data

    def _with_few_codes(self, output: Output) -> Output:
        """The output without terminal codes but colours; without those, too, where there are too many."""
        data = output.get("data", {})
        texts = [*output.get("traceback", ()), output.get("text", ""), data.get("text/plain", "")]
        codes = sum(each.count("\x1b") for each in texts)
        if not codes:
            return output
        copied = self._copied + codes * (COST_OF_A_CODE + sum(map(len, texts)))
        few = copied <= MOST_COPIED
        self._copied = copied if few else self._copied
        *trace, printed, plain = (CODE.sub(_colour if few else "", each) for each in texts)
        changed = {"traceback": trace, "text": printed, "data": {**data, "text/plain": plain}}
        return {name: changed.get(name, content) for name, content in output.items()}

    def _clear(self) -> None:
        self._outputs.clear()
        self._displays.clear()
        self._clear_first = False

    def _follow_widget(self, kind: str, content: dict[str, Any]) -> None:
        name, state = str(content["comm_id"])[:200], content["data"].get("state", {})
        if kind == "comm_open" and state.get("_model_name") == "OutputModel":
            self._widgets[name] = bool(state.get("msg_id"))
        elif name in self._widgets and "msg_id" in state:
            self._widgets[name] = bool(state["msg_id"])


def _colour(code: re.Match[str]) -> str:
    """A terminal code if it is a colour or the like; nothing of any other."""
    return code[0] if COLOUR.fullmatch(code[0]) else ""


def text(value: Any) -> str:
    """Text that can be written to a file and read by a person; pictures pass, as they are text too."""
    if isinstance(value, list):
        value = "".join(part for part in value[:MOST_OUTPUTS] if isinstance(part, str))
    if not isinstance(value, str):
        return ""
    value = value if len(value) <= LONGEST_TEXT else value[:LONGEST_TEXT] + CUT
    return str(value.encode("utf-8", "replace").decode())


def _output(kind: str, content: dict[str, Any]) -> Output:
    if kind == "stream":
        name = "stderr" if content.get("name") == "stderr" else "stdout"
        return {"output_type": kind, "name": name, "pieces": [text(content.get("text"))]}
    if kind == "error":
        return error(content.get("ename"), content.get("evalue"), content.get("traceback"))
    data = _showable(content.get("data"))
    extra = {"execution_count": None} if kind == "execute_result" else {}
    return {"output_type": kind, "data": data, "metadata": {}, **extra}


def error(name: Any, value: Any, trace: Any) -> Output:
    """An error as a notebook keeps it."""
    lines = [text(line) for line in trace[:MOST_LINES]] if isinstance(trace, list) else []
    return {"output_type": "error", "ename": text(name), "evalue": text(value), "traceback": lines}


def _showable(data: Any) -> dict[str, str]:
    if not isinstance(data, dict):
        return {}
    shown = {mime: text(data[mime]) for mime in SHOWABLE if mime in data}
    return {mime: data for mime, data in shown.items() if mime not in PICTURES or is_modest(data)}


def _display_id(content: dict[str, Any]) -> str:
    transient = content.get("transient")
    name = transient.get("display_id") if isinstance(transient, dict) else None
    return name[:200] if isinstance(name, str) else ""


def _one_text(output: Output) -> Output:
    if "pieces" not in output:
        return output
    joined = text("".join(output["pieces"]))
    return {key: value for key, value in output.items() if key != "pieces"} | {"text": joined}


def is_modest(encoded: str) -> bool:
    """Return whether the text is the base64 of a PNG or JPEG picture of modest size."""
    try:
        data = base64.b64decode("".join(encoded.split()), validate=True)
        width, height = _size(data)
    except (binascii.Error, ValueError, struct.error, IndexError):
        return False
    return 0 < width <= LONGEST_SIDE and 0 < height <= LONGEST_SIDE and width * height <= MOST_POINTS


def _size(data: bytes) -> tuple[int, int]:
    """Width and height, as the picture says. Raises ValueError and the like for what is no picture."""
    if data.startswith(PNG_BEGINS):
        width, height = struct.unpack(">II", data[len(PNG_BEGINS) : len(PNG_BEGINS) + 8])
        return width, height
    if not data.startswith(JPEG_BEGINS):
        raise ValueError("no picture of a kind that is shown")
    place = 2
    for _ in range(MOST_SEGMENTS):
        if data[place] != 0xFF:
            raise ValueError("broken off")
        marker = data[place + 1]
        if marker == 0xFF:  # filling
            place += 1
        elif marker in JPEG_FRAMES:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return width, height
        elif marker in WITHOUT_LENGTH:
            place += 2
        else:
            place += 2 + int(struct.unpack(">H", data[place + 2 : place + 4])[0])
    raise ValueError("it does not say how large it is")
