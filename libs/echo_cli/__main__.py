"""`python -m echo_cli` is `echoctl`."""

from echo_cli import main

main()
