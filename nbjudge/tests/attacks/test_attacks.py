"""Every attack in `cases` earns no more than the wrong control, does no harm, costs no neighbour a point."""

import os
import warnings
from collections.abc import Iterator

import pytest
from arena import PATIENCE, VARIABLE, Arena, all_attacks, wrong
from tiny_course import FULL, NOTHING, answered

from nbjudge.sandbox.fork_server_client import close_fork_server

ATTACKS = all_attacks()
DAILY = [attack for attack in ATTACKS if not attack.daily]
pytestmark = [
    pytest.mark.integration,
    pytest.mark.attack,
    pytest.mark.filterwarnings("default"),
    pytest.mark.filterwarnings("ignore:Object of type:sqlalchemy.exc.SAWarning"),  # nbgrader's own
]


@pytest.fixture(scope="session")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(*VARIABLE)
        arena = Arena(tmp_path_factory.mktemp("numbat") / "course")
        yield arena
        if arena.unfollowed:
            suspects = ", ".join(arena.unfollowed)
            with warnings.catch_warnings():  # nbgrader's own; this is no test that says so itself
                warnings.simplefilter("ignore")
                assert arena.neighbour(answered()) == FULL, f"{suspects} cost a neighbour points"
    close_fork_server()


def test_the_controls_get_full_marks_and_nothing(arena: Arena):
    assert arena.grade("right_control", answered()) == FULL
    assert arena.grade("wrong_control", wrong()) == NOTHING


def test_each_attack_says_what_it_tries():
    assert len(ATTACKS) >= 77 and len(DAILY) >= 74
    assert {attack.daily for attack in ATTACKS} - {""} <= {attack.name for attack in DAILY}
    assert len({attack.tries for attack in ATTACKS}) == len(ATTACKS)
    assert all(attack.tries.endswith(".") for attack in ATTACKS)
    families = [attack.represents for attack in DAILY if attack.represents]
    assert len(families) == len(set(families)) >= 9


@pytest.mark.parametrize(
    "attack",
    [
        pytest.param(attack, marks=pytest.mark.smoke if attack.represents else (), id=attack.name)
        for attack in (ATTACKS if os.environ.get("EVERY_SEED") else DAILY)
    ],
)
def test_an_attack_is_withstood(attack, arena: Arena, record_property):
    record_property("attack", attack.tries)
    before = arena.fingerprint()
    points = arena.attack(attack)
    assert points == NOTHING, f"it earned {points}"
    assert arena.strays() == [], "it left something running"
    if attack.next_looks or len(arena.unfollowed) >= PATIENCE:
        suspects = ", ".join(arena.unfollowed)
        assert arena.neighbour(attack.neighbour()) == FULL, f"{suspects} cost a neighbour points"
    assert arena.secrets_in(attack.name) == []
    assert attack.done(arena) == ""
    assert not list(arena.mark.iterdir()), "it wrote outside its sandbox"
    assert arena.fingerprint() == before, "it changed the course"
    assert arena.database_is_sound()
