"""A web server that turns slow and quick, for benchmarks, and does not like to be hurried.

    python benchmarks/throttled_store.py PORT_FILE

It answers at most MOST requests at a time; others wait. *Slow*: 20 ms each, whatever else is under
way. *Quick*: 6 ms each, but for more than CROWD at a time they get in each other's way, as on a
disk that seeks: by the square of how many there are. `/turn/slow` and `/turn/quick` turn it, and
`/count` says how many rows it has answered since that was asked last. Rows are `/rows/NUMBER`.
"""

import asyncio
import sys
from pathlib import Path

SLOW_S, QUICK_S = 0.020, 0.006
MOST, CROWD = 16, 4
BODY = bytes(range(256)) * 64  # 16 KiB


class Store:
    def __init__(self) -> None:
        self.slow = True
        self.serving = self.answered = 0
        self.room = asyncio.Semaphore(MOST)

    async def row(self) -> bytes:
        async with self.room:
            self.serving += 1
            crowd = max(1.0, self.serving / CROWD) ** 2
            await asyncio.sleep(SLOW_S if self.slow else QUICK_S * crowd)
            self.serving -= 1
        self.answered += 1
        return BODY

    async def body(self, path: str, head: bool) -> bytes:
        if path.startswith("/turn/"):
            self.slow = path.endswith("slow")
            return b"turned"
        if path == "/count":
            counted, self.answered = self.answered, 0
            return str(counted).encode()
        return BODY if head else await self.row()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                method, path, _ = request.split(b" ", 2)
                head = method == b"HEAD"
                body = await self.body(path.decode(), head)
                writer.write(
                    b'HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: "1"\r\n'
                    b"Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n\r\n" % len(body)
                )
                if not head:
                    writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main() -> None:
    store = Store()
    server = await asyncio.start_server(store.serve, "127.0.0.1", 0, backlog=512)
    Path(sys.argv[1]).write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
