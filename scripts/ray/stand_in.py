"""A stand-in for a vLLM on a Ray cluster: `stand_in.py PORT NODES`, run with the Python of Ray. No engine runs here.

It is a driver of the cluster with an actor on each node, like vLLM's workers, and answers /health, /metrics and
completions; each completion queries every node. It ends with code 1 if a node is lost, as vLLM's engine does.
"""

from __future__ import annotations

import http.server
import json
import os
import sys
import threading
import time

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

LOOK_EVERY_S = 1.0
ANSWER_WITHIN_S = 30.0
HELD_BYTES = 8 << 20  # in the object store of each node
METRICS = """# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{{engine="0",model_name="stand-in"}} {tokens}
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{{engine="0",model_name="stand-in"}} 0
"""


@ray.remote(num_cpus=1)
class Worker:
    """Actor on one node; holds an object in shared memory."""

    def __init__(self) -> None:
        self._held = ray.put(bytes(HELD_BYTES))

    def node(self) -> str:
        """Return the id of its node."""
        return str(ray.get_runtime_context().get_node_id())


class ClusterServer(http.server.ThreadingHTTPServer):
    """State shared by all answers."""

    tokens = 0

    def __init__(self, port: int, nodes: int) -> None:
        self.workers = [_worker_on(node["NodeID"]) for node in _nodes(nodes)]
        self.ask_all()
        super().__init__(("127.0.0.1", port), Handler)

    def ask_all(self) -> list[str]:
        """Return the node of each worker; raises if one is lost."""
        node_ids: list[str] = ray.get([worker.node.remote() for worker in self.workers], timeout=ANSWER_WITHIN_S)
        return node_ids


class Handler(http.server.BaseHTTPRequestHandler):
    """GET /health, /metrics, /v1/models; POST /v1/completions."""

    server: ClusterServer

    def do_GET(self) -> None:
        self._say(METRICS.format(tokens=self.server.tokens) if self.path == "/metrics" else "{}")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        nodes = self.server.ask_all()
        self.server.tokens += len(nodes)
        self._say(json.dumps({"choices": [{"text": "the"}], "nodes": nodes}))

    def _say(self, text: str) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())


def _nodes(count: int) -> list[dict[str, str]]:
    while len(living := [node for node in ray.nodes() if node["Alive"]]) < count:
        time.sleep(0.2)
    return living


def _worker_on(node_id: str) -> ray.actor.ActorHandle:
    return Worker.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node_id, soft=False)).remote()


def watch(served: ClusterServer) -> None:
    """End the process when a node is lost."""
    while True:
        try:
            served.ask_all()
        except ray.exceptions.RayError as error:
            print(f"a node was lost: {error}", flush=True)
            os._exit(1)
        time.sleep(LOOK_EVERY_S)


def main() -> None:
    ray.init(address="auto", log_to_driver=False)
    served = ClusterServer(int(sys.argv[1]), int(sys.argv[2]))
    threading.Thread(target=watch, args=(served,), daemon=True).start()
    print("serving on", len(served.workers), "nodes", flush=True)
    served.serve_forever()


if __name__ == "__main__":
    main()
