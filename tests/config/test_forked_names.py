"""The name of an instance that was not chosen belongs to one process."""

from __future__ import annotations

from kit.forks import FORKS, said_by_a_child
from swagent import Config

pytestmark = FORKS


def in_a_child(config: Config) -> str:
    """The instance's name that an agent with this configuration would report from a forked child."""
    return said_by_a_child(lambda: config.for_this_process().instance)


def test_a_drawn_name_stays_in_its_process_and_a_child_draws_its_own() -> None:
    config = Config(service="shop")
    assert config.for_this_process() is config
    names = {config.instance, in_a_child(config), in_a_child(config)}
    assert len(names) == 3


def test_a_name_that_was_given_stays() -> None:
    config = Config(service="shop", instance="one")
    assert config.for_this_process() is config
    assert in_a_child(config) == "one"
