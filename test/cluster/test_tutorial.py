"""TUTORIAL.md: every command that a reader types does what the page says."""

from conftest import Cost
from tutorial import Tutorial


def test_every_command_of_the_tutorial(tutorial: Tutorial, cost: Cost) -> None:
    status, said = tutorial.result()
    assert status == 0, said[-6000:]
    assert said.count("is up already") == 1
    assert "DROPPED (OTHER_TENANT)" in said
    assert said.count(" 0% packet loss") == 2 and said.count("100% packet loss") == 1
