"""How long a warm start takes until `initialize` and `tools/list` are answered. The data folder has been served before.

python tests/benchmarks/start.py --rounds 5
"""

from __future__ import annotations

import argparse
import contextlib
import socket
import statistics
import subprocess
import time

import anyio
from running import MEMSCOPE, command, folder, session, variables

ORGANIZATION = '[organization]\nslug = "start"\n[[people]]\nemail = "ada@start.example"\n'


async def listed(url: str, token: str) -> int:
    """How many tools a new session is told of."""
    async with session(url, token) as client:
        return len((await client.list_tools()).tools)


def main() -> None:
    """Start, ask, stop, some times over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with folder() as data_dir:
        environ = variables(data_dir)
        data_dir.mkdir(mode=0o711)
        (data_dir / "start.toml").write_text(ORGANIZATION)
        command(environ, "org", "apply", str(data_dir / "start.toml"))
        token = command(environ, "token", "create", "ada@start.example", "--org", "start", "--client", "benchmark").strip()
        took = []
        for _ in range(chosen.rounds + 1):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            started = time.perf_counter()
            server = subprocess.Popen([*MEMSCOPE, "serve", "--port", str(port)], env=environ, stdout=subprocess.DEVNULL)
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
            tools = anyio.run(listed, f"http://127.0.0.1:{port}", token)
            took.append(time.perf_counter() - started)
            server.terminate()
            server.wait(60)
    print(
        f"{tools} tools; first start {took[0]:.2f} s, warm starts median {statistics.median(took[1:]):.2f} s, slowest {max(took[1:]):.2f} s"
    )


if __name__ == "__main__":
    main()
