"""Hands in, beside a notebook of another name, a link to what an honest student handed in."""

from attack import wrong


def prepare(folder, arena):
    (folder / "tiny.ipynb").unlink()
    neighbour = arena.root / "submitted" / "right_control" / "01_tiny" / "tiny.ipynb"
    if not neighbour.exists():  # asked for alone, without the controls
        from tiny_course import answered, hand_in

        hand_in(arena.root, "right_control", answered())
    (folder / "Tiny (1).ipynb").symlink_to(neighbour)


def submission():
    return wrong()
