"""The order of an answer's calls."""

import pytest

from workflows.domain.call_order import Act, Extent, find_waits

A, B, SUB, ROOT = "/p/a.py", "/p/b.py", "/p/sub", "/p"


def change(*paths: str) -> Extent:
    return Extent(act=Act.CHANGE, paths=paths)


def look(*paths: str) -> Extent:
    return Extent(act=Act.LOOK, paths=paths)


COMMAND, WORK, REST, NOTHING = (Extent(act=act) for act in (Act.COMMAND, Act.WORK, Act.REST, Act.NOTHING))

HERE, ELSEWHERE = Extent(act=Act.CHANGE, server="a"), Extent(act=Act.SERVE, server="b")


@pytest.mark.parametrize(
    ("earlier", "call", "waits"),
    [
        (change(A), change(A), True),
        (change(A), change(B), False),
        (change(A), look(A), True),
        (change(A), look(B), False),
        (change(A), look(ROOT), True),
        (change(A), look(SUB), False),
        (change(f"{SUB}/x"), look(SUB), True),
        (change("/p/subway"), look(SUB), False),
        (change(A), look(), True),
        (change(A), COMMAND, True),
        (change(A), change(), True),
        (change(A), WORK, True),
        (change(A), REST, True),
        (change(A), NOTHING, False),
        (change(A), HERE, True),
        (change(A), ELSEWHERE, False),
        (HERE, change(A), True),
        (HERE, COMMAND, True),
        (HERE, HERE, True),
        (HERE, ELSEWHERE, False),
        (ELSEWHERE, ELSEWHERE, True),
        (ELSEWHERE, change(A), False),
        (ELSEWHERE, COMMAND, False),
        (ELSEWHERE, Extent(act=Act.SERVE, server="c"), False),
        (change(), change(A), True),
        (look(A), change(A), True),
        (look(ROOT), change(A), True),
        (look(B), change(A), False),
        (look(A), look(A), False),
        (look(A), COMMAND, False),
        (look(A), change(), True),
        (COMMAND, COMMAND, False),
        (COMMAND, look(A), False),
        (COMMAND, change(A), True),
        (WORK, change(A), True),
        (WORK, COMMAND, True),
        (WORK, look(A), False),
        (WORK, WORK, False),
        (WORK, REST, False),
        (REST, change(A), False),
        (NOTHING, change(), False),
        (change(A, B), change(B), True),
        (change(A), change(B, A), True),
        (change(A, B), look(SUB), False),
        (look(A), change(B, f"{SUB}/x"), False),
        (look(SUB), change(B, f"{SUB}/x"), True),
    ],
)
def test_a_call_waits_where_it_could_see_the_difference(earlier: Extent, call: Extent, waits: bool) -> None:
    assert find_waits([earlier, call]) == [(), (0,) if waits else ()]


def test_edits_of_two_files_and_a_test_run() -> None:
    assert find_waits([change(A), change(B), change(A), look(A), change(), COMMAND]) == [
        (),
        (),
        (0,),
        (0, 2),
        (0, 1, 2, 3),
        (0, 1, 2, 4),
    ]
