from pipe_fixtures import kit, plain_results, running_sim, sim

__all__ = ["kit", "plain_results", "running_sim", "sim"]
