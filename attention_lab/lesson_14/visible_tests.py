"""The visible tests of 14 · Language model. Each example is small enough to check by hand."""

import torch

from attention_lab.examples import example, refuses, with_weights


def test_RMSNorm(layer_class):
    numbers = torch.tensor([1.0, 2.0, 3.0, 4.0])
    layer = with_weights(layer_class(4, 2), project=torch.diag(numbers))
    x = numbers.view(1, 1, 4)  # (B, T, D); projected, it is 1, 4, 9, 16
    example("four numbers in two parts", layer, x, gives=[[[5.0, 10.0]]])
    refuses("five numbers in two parts", layer_class, 5, 2, naming=(5, 2))


def test_GatedMLP(layer_class):
    numbers = torch.tensor([1.0, 2.0, 3.0, 4.0])
    layer = with_weights(layer_class(4, 2), project=torch.diag(numbers))
    x = numbers.view(1, 1, 4)  # (B, T, D); projected, it is 1, 4, 9, 16
    example("four numbers in two parts", layer, x, gives=[[[5.0, 10.0]]])
    refuses("five numbers in two parts", layer_class, 5, 2, naming=(5, 2))


def test_GroupedRotaryAttention(layer_class):
    numbers = torch.tensor([1.0, 2.0, 3.0, 4.0])
    layer = with_weights(layer_class(4, 2), project=torch.diag(numbers))
    x = numbers.view(1, 1, 4)  # (B, T, D); projected, it is 1, 4, 9, 16
    example("four numbers in two parts", layer, x, gives=[[[5.0, 10.0]]])
    refuses("five numbers in two parts", layer_class, 5, 2, naming=(5, 2))


def test_DecoderBlock(layer_class):
    numbers = torch.tensor([1.0, 2.0, 3.0, 4.0])
    layer = with_weights(layer_class(4, 2), project=torch.diag(numbers))
    x = numbers.view(1, 1, 4)  # (B, T, D); projected, it is 1, 4, 9, 16
    example("four numbers in two parts", layer, x, gives=[[[5.0, 10.0]]])
    refuses("five numbers in two parts", layer_class, 5, 2, naming=(5, 2))


def test_load_decoder(answer):
    example("two numbers", answer, torch.tensor([1.0, 3.0]), gives=[2.0, 6.0])
    example("whole numbers stay whole", answer, torch.tensor([1, 3]), gives=[2, 6])


def test_sample(answer):
    example("two numbers", answer, torch.tensor([1.0, 3.0]), gives=[2.0, 6.0])
    example("whole numbers stay whole", answer, torch.tensor([1, 3]), gives=[2, 6])
