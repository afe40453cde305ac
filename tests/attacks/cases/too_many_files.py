"""Puts more files beside its notebook than its kernel can hold."""

from attack import wrong

PROOF = "."


def prepare(folder):
    for number in range(9):
        (folder / f"data{number}.bin").write_bytes(b"\0" * 9 * 2**20)
    (folder / "many").mkdir()
    for number in range(3000):
        (folder / "many" / str(number)).touch()


def submission():
    return wrong()
