"""The name of an instance that was not chosen belongs to one process."""

from __future__ import annotations

import os

from kit.forks import FORKS
from swagent import Config

pytestmark = FORKS


def in_a_child(config: Config) -> str:
    """The instance's name that an agent with this configuration would report from a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, config.for_this_process().instance.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        name = answer.read()
    assert os.waitpid(child, 0)[1] == 0
    return name


def test_a_drawn_name_stays_in_its_process_and_a_child_draws_its_own() -> None:
    config = Config(service="shop")
    assert config.for_this_process() is config
    names = {config.instance, in_a_child(config), in_a_child(config)}
    assert len(names) == 3


def test_a_name_that_was_given_stays() -> None:
    config = Config(service="shop", instance="one")
    assert config.for_this_process() is config
    assert in_a_child(config) == "one"
