"""What a recording keeps comes back as what it was."""

from types import SimpleNamespace

from nbjudge.authoring import Exercise, case
from nbjudge.tutor.recordings import read, record


def parts(numbers):
    return {(number, "a"): {number, "b"} for number in numbers} | {None: complex(1, -2), 3: b"\x00\xff"}


def test_sets_complex_numbers_bytes_and_keys_are_recorded():
    exercise = Exercise("parts", results=("parts",))

    @exercise.group("one", points=1)
    def one(draw):
        yield case({4, 7}, label=frozenset(("x", 2)))

    def reference(numbers, label=None):
        return parts(numbers), label

    assignment = SimpleNamespace(
        folder="01",
        names=("parts",),
        coded=("parts",),
        exercise=lambda _: (exercise, reference),
        hints=lambda _: (),
    )
    (recorded,) = read(record(assignment)).exercises.values()
    (group,) = recorded.groups
    assert group.fields["expected"][0].value == (parts({4, 7}), frozenset(("x", 2)))
    (recorded_case,) = group.fields["cases"]
    assert recorded_case.args == ({4, 7},) and recorded_case.kwargs == {"label": frozenset(("x", 2))}
