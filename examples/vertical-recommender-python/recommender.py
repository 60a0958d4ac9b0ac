#!/usr/bin/env python3
"""A recommender of requests in Python, with the standard library only.

It answers the API of docs/vertical.openapi.json, so that scalehist can try it on a history:

    python3 recommender.py --listen 127.0.0.1:8610
    scalehist backtest prod.db --vertical url:http://127.0.0.1:8610

It recommends the highest usage of a window and a margin: Workload is the place for a better idea.
"""

import argparse
import base64
import json
import math
import re
import sys
import threading
from collections import deque
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MAX_BODY = 1 << 20
RESOURCES = ("cpuMilli", "memoryBytes")


class BadRequest(Exception):
    """What is wrong with a request."""

    def __init__(self, status, detail, advice):
        super().__init__(detail)
        self.status, self.detail, self.advice = status, detail, advice


def instant(text):
    """Nanoseconds since 1970 of an RFC 3339 instant; datetime knows microseconds only."""
    match = re.fullmatch(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)", str(text))
    if not match:
        raise BadRequest(400, f"{text!r} is no instant", "write one such as 2026-01-05T00:00:00Z")
    zone = "+00:00" if match[3] in "Zz" else match[3]
    since = datetime.fromisoformat(match[1].upper() + zone) - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return (since // timedelta(seconds=1)) * 10**9 + int((match[2] or "0").ljust(9, "0"))


class Workload:
    """What is remembered of a workload: for each container and resource, the peaks of the window, each higher than the next."""

    def __init__(self, margin, window):
        self.margin, self.window, self.peaks, self.lock = margin, window, {}, threading.Lock()

    def observe(self, seen):
        """Takes an observation. Memory that ran out counts as what upstream's recommender takes for needed."""
        if seen.get("ended"):
            return  # usage of a pod that is gone counts on
        at, amounts = instant(seen["at"]), {name: seen[name] for name in RESOURCES if name in seen}
        if seen.get("oom"):
            asked = seen.get("requestedBytes", 0)
            amounts = {"memoryBytes": max(asked + asked // 5, asked + (100 << 20))}
        of = self.peaks.setdefault(seen["container"], {name: deque() for name in RESOURCES})
        for name, value in amounts.items():
            if not isinstance(value, int) or value < 0:
                raise ValueError(f"{name} {value!r}: want a whole number, 0 or more")
            while of[name] and of[name][-1][1] <= value:
                of[name].pop()
            of[name].append((at, value))

    def recommend(self, now):
        """What is recommended now, one for each container of which something is known."""
        out = []
        for container in sorted(self.peaks):
            most = {}
            for name, peaks in self.peaks[container].items():
                while peaks and peaks[0][0] <= now - self.window:
                    peaks.popleft()
                if peaks:
                    most[name] = peaks[0][1]
            if most:
                def times(by, most=most):
                    return {name: math.ceil(value * by - 1e-6) for name, value in most.items()}
                out.append({"container": container, "lower": most, "target": times(1 + self.margin), "upper": times(1 + 2 * self.margin)})
        return out

    def save(self):
        return json.dumps({c: {name: list(p) for name, p in of.items()} for c, of in self.peaks.items()}).encode()

    def load(self, state):
        try:
            loaded = json.loads(state)
            self.peaks = {c: {name: deque((int(at), int(v)) for at, v in of[name]) for name in RESOURCES} for c, of in loaded.items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise BadRequest(422, "this recommender did not save that", "send what it saved") from None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: apart, each answer waits 40 ms for an acknowledgement

    def answer(self, status, body=None, content_type="application/json"):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if body is not None:
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def body(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY:
            self.close_connection = True
            raise BadRequest(413, f"the request is larger than {MAX_BODY} bytes", "send less at once")
        data = json.loads(self.rfile.read(length) or b"{}")
        if not isinstance(data, dict):
            raise BadRequest(400, "it is no object", "see docs/vertical.openapi.json")
        return data

    def handle_request(self):
        path, _, query = self.path.partition("?")
        body = self.body()
        if path in ("/healthz", "/readyz"):
            return 200, {"ok": True}
        parts = path.strip("/").split("/")
        if parts[:2] != ["v1", "workloads"] or len(parts) > 4:
            raise BadRequest(404, f"there is no {path}", "POST /v1/workloads")
        server = self.server
        if len(parts) == 2 and self.command == "POST":
            with server.lock:
                server.made += 1
                server.workloads[str(server.made)] = Workload(server.margin, server.window)
                return 201, {"id": str(server.made)}
        of = server.workloads.get(parts[2]) if len(parts) > 2 else None
        if of is None:
            raise BadRequest(404, f"there is no workload at {path}", "POST /v1/workloads makes one")
        with of.lock:
            return self.workload(of, parts, self.command + " " + "".join(parts[3:]), body, query)

    def workload(self, of, parts, what, body, query):
        if what == "DELETE ":
            self.server.workloads.pop(parts[2], None)
            return 204, None
        if what == "PUT ":
            return 204, None  # policies are no concern of this recommender: scalehist caps by them
        if what == "POST reset":
            of.peaks = {}
            return 204, None
        if what == "GET state":
            return 200, {"state": base64.b64encode(of.save()).decode()}
        if what == "PUT state":
            of.load(base64.b64decode(body["state"]))
            return 204, None
        if what not in ("POST observe", "POST recommend"):
            raise BadRequest(405, f"there is no {what} of a workload", "see docs/vertical.openapi.json")
        refused = {"number": 0, "first": ""}
        for i, seen in enumerate(body.get("observed") or []):
            try:
                of.observe(seen)
            except (BadRequest, KeyError, TypeError, ValueError) as e:
                refused = {"number": refused["number"] + 1, "first": refused["first"] or f"observed[{i}]: {type(e).__name__}: {e}"}
        out = {"refused": refused} if refused["number"] else {}
        if what == "POST recommend":
            out["recommendations"] = of.recommend(instant(body.get("now")))
        return 200, out

    def do_POST(self):
        try:
            self.answer(*self.handle_request())
        except BadRequest as e:
            self.problem(e.status, e.detail, e.advice)
        except (AttributeError, KeyError, TypeError, ValueError) as e:
            self.problem(400, f"it does not follow the API: {type(e).__name__}: {e}", "see docs/vertical.openapi.json")

    do_GET = do_PUT = do_DELETE = do_POST

    def problem(self, status, detail, advice):
        self.answer(status, {"type": "about:blank", "title": self.responses[status][0], "status": status, "detail": detail, "advice": advice}, "application/problem+json")

    def log_message(self, format, *args):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", default="127.0.0.1:8610", help="host:port; port 0 takes any that is free")
    parser.add_argument("--margin", type=float, default=0.15, help="what is added to the highest usage, as a fraction of it")
    parser.add_argument("--window-hours", type=float, default=192, help="how long usage counts")
    options = parser.parse_args()
    host, _, port = options.listen.rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    server.daemon_threads, server.lock, server.workloads, server.made = True, threading.Lock(), {}, 0
    server.margin, server.window = options.margin, int(options.window_hours * 3600 * 10**9)
    print(f"serving http://{host}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
