"""Has the installed wheel's own collector take a segment from its own agent and show it: prints what its API says.

python collect.py
"""

from __future__ import annotations

import anyio
import httpx

import swagent
from swagent.testing import collector


async def main() -> None:
    """Report over each protocol, then ask the page's server."""
    async with collector() as arrived:
        for protocol, address in (("grpc", arrived.address), ("http", arrived.http_address)):
            async with swagent.Agent(swagent.Config(service=protocol, protocol=protocol, collector=address)):
                with swagent.entry_span("GET:/wheel"):
                    pass
        await arrived.wait_for(lambda arrived: len(arrived.segments) == 2)
        async with httpx.AsyncClient(base_url=f"http://{arrived.page_address}", trust_env=False) as client:
            page = await client.get("/")
            found = (await client.get("/api/services")).json()["services"]
    print(page.status_code, *((each["name"], each["calls"]) for each in found))


if __name__ == "__main__":
    anyio.run(main)
