"""
title: ECHO
id: echo_orchestrator
description: Says what it is told.
version: 0.0.1
"""

from pydantic import BaseModel


class Pipe:
    class Valves(BaseModel):
        GREETING: str = "You said:"
        LIMIT: int = 3

    def __init__(self) -> None:
        self.valves = self.Valves()

    async def pipe(self, body: dict, __task__: str | None = None):
        if __task__:
            return '{"title": "A title"}'
        return self.words(body["messages"][-1]["content"])

    async def words(self, text: str):
        for word in f"{self.valves.GREETING} {text}".split(" "):
            yield word + " "
