"""The simulator for the tests of this folder."""

from sim_fixture import running_sim, sim  # noqa: F401
