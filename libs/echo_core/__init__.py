"""The engine without IO: ports, records, the turn machine and the Suture's planning."""
