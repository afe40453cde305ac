"""The model of the last page: made of a learner's own answers, it learns, and its cache changes nothing."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attention_lab.characters import CharacterModel, Text, own_answers, train, write
from attention_lab.characters.own_answers import MissingAnswerError
from attention_lab.characters.training import WINDOW

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[1]
PARTS = ("09_kv_cache/kv_cache.ipynb", "10_rotary/rotary.ipynb")


@pytest.fixture
def lessons(tmp_path):
    """A folder with the two lessons, solved."""
    for part in PARTS:
        (tmp_path / part).parent.mkdir()
        shutil.copy(ROOT / "solutions" / part, tmp_path / part)
    return tmp_path


def edited(path, change):
    """Saved with each answer's text changed."""
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = change(cell["id"], "".join(cell["source"]))
    path.write_text(json.dumps(notebook))


def test_saved_answers_are_found_from_the_folder(lessons):
    own = own_answers(lessons)
    layer = own.RotaryAttention(8, 2)
    output, cache = layer(torch.randn(1, 3, 8))
    assert output.shape == (1, 3, 8) and cache[0].shape == (1, 2, 3, 4)
    edited(lessons / PARTS[0], lambda name, text: f"{text}\n\nmark = 41" if name == "generate" else text)
    assert own_answers(lessons / "10_rotary").generate.__globals__["mark"] == 41


STUB = "def rotate(x, angles):\n    raise NotImplementedError()"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rotate", STUB, "`rotate` of lesson 10 has no answer"),
        ("generate", "def generate(step:", "`generate` of lesson 9 does not run"),
        ("generate", "made = 1", "does not define `generate`"),
        (None, None, r"no notebook rotary\.ipynb .*--lessons FOLDER"),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(lessons, name, text, message):
    for part in PARTS:
        edited(lessons / part, lambda cell, old: text if cell == name else old)
    if name is None:
        (lessons / PARTS[1]).unlink()
    with pytest.raises(MissingAnswerError, match=message) as raised:
        own_answers(lessons)
    assert raised.value._render_traceback_() == [str(raised.value)]


def test_any_split_gives_the_logits_of_one_pass():
    own = own_answers(ROOT / "solutions")
    torch.manual_seed(0)
    model = CharacterModel(20, own.RotaryAttention, 16, 2, 2, window=5).eval()
    ids = torch.randint(20, (2, 12))
    with torch.no_grad():
        whole, _ = model(ids)
        cache, logits = None, []
        for piece in ids.split([6, 1, 1, 4], dim=1):
            some, cache = model(piece, cache)
            logits.append(some)
        assert torch.allclose(torch.cat(logits, dim=1), whole, atol=1e-5)
        changed = ids.clone()
        changed[:, 0] = (changed[:, 0] + 1) % 20
        # Two layers with a window of five: what is nine places back no longer counts.
        apart = (model(changed)[0] - whole).abs().amax(dim=-1)
    assert apart[:, :9].gt(1e-6).any(dim=-1).all() and apart[:, 9:].max() < 1e-6


def test_it_learns_what_follows_and_writes_it():
    own = own_answers(ROOT / "solutions")
    text = Text.of("abcdefgh\n" * 100)
    model, losses = train(own.RotaryAttention, text, seconds=100, most_steps=60)
    assert losses[0] > 1.5 and sum(losses[-5:]) / 5 < 0.3 and len(losses) <= 60
    written = write(model, own.generate, text, "cde", length=2 * WINDOW)
    assert written.startswith("cdefgh\nabcdefgh\n") and len(written) == 3 + 2 * WINDOW
    assert write(model, own.generate, text, "c", length=5, seed=1) == "cdefgh"
    for start, message in (("", "a character at least"), ("Z", "never read 'Z'")):
        with pytest.raises(ValueError, match=message):
            write(model, own.generate, text, start)


def run(*words, folder):
    command = [sys.executable, "-m", "attention_lab.characters", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_the_script_trains_and_writes(lessons):
    done = run("--seconds", "1", "--start", "The bank ", folder=lessons)
    assert done.returncode == 0, done.stderr
    assert "\nThe bank " in done.stdout and "parameters" in done.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--lessons", "nothing/here"), "no notebook"),
        (("--seconds", "0"), "Invalid value"),
        (("--temperature", "-1"), "Invalid value"),
        (("--start", "Ünder"), "never read 'Ü'"),
    ],
)
def test_the_script_checks_before_the_training(lessons, words, message):
    (lessons / "nothing/here").mkdir(parents=True)
    done = run(*words, folder=lessons)
    assert done.returncode and message in done.stderr and "Traceback" not in done.stderr
    assert "steps" not in done.stdout
