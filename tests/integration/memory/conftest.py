from pipe_fixtures import plain_results, running_sim, sim

__all__ = ["plain_results", "running_sim", "sim"]
