from sim_fixture import running_sim, sim

__all__ = ["running_sim", "sim"]
