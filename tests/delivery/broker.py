"""A Kafka broker in a process of its own: prints its address, and ends when its standard input does.

python -m delivery.broker TOPIC...
"""

from __future__ import annotations

import asyncio
import sys

from kit.kafka_log import KafkaLog


async def main(topics: list[str]) -> None:
    """Serve for as long as whoever has started this lives."""
    broker = KafkaLog(topics)
    await broker.start()
    print(broker.address, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await broker.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
