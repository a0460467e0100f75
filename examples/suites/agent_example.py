"""A scripted agent, over the Model Context Protocol, on each problem of suite `short`."""

import asyncio
import os
import sys

from mcp import Client, StdioServerParameters

ASKED = ["-m", "dse", "mcp", "short", "--searcher", "scripted", "--out=runs"]


async def play(served: StdioServerParameters) -> None:
    async with Client(served) as client:
        for problem in range(12):
            known = (await client.call_tool("describe", {"problem": problem})).structured_content
            await client.call_tool("evaluate", {"problem": problem, "points": [*known["templates"].values()]})
            print((await client.call_tool("submit", {"problem": problem})).structured_content)


asyncio.run(play(StdioServerParameters(command=sys.executable, args=ASKED, env=dict(os.environ))))
