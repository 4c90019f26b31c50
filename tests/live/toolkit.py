"""
title: Live test tools
description: Two tools that only work side by side, and one that waits for a sign.
"""

import asyncio
from pathlib import Path


class Tools:
    """`weigh` begins, then fails; `forecast` answers once `weigh` has begun: called one after the other they hang."""

    def __init__(self) -> None:
        self.weighing = asyncio.Event()

    async def forecast(self, city: str) -> dict:
        """
        Tell tomorrow's weather.

        :param city: the city's name
        """
        async with asyncio.timeout(20):
            await self.weighing.wait()
        self.weighing.clear()
        return {"city": city, "sky": "clear", "high_celsius": 21}

    async def weigh(self, what: str) -> str:
        """
        Weigh a thing.

        :param what: the thing
        """
        self.weighing.set()
        raise ValueError(f"the scale is broken, {what} was not weighed")

    async def hold(self, sign: str) -> str:
        """
        Wait for a sign.

        :param sign: the file that is the sign
        """
        async with asyncio.timeout(60):
            while not Path(sign).exists():
                await asyncio.sleep(0.05)
        return f"{Path(sign).name} was seen"
