#!/usr/bin/env python3
"""A recommender in Python, with the standard library only.

It answers POST /v1/recommend of the scalehist recommender API, so that scalehist can replay a history through it:

    python3 recommender.py --listen 127.0.0.1:8700
    scalehist replay prod.db --autoscaler http://127.0.0.1:8700

The strategy is first fit: pods in the order of their priority, then of the request; each goes to the first node that
takes it, else to a new node of the cheapest group that takes it. README.md tells what is left out.
"""

import argparse
import gzip
import json
import re
import sys
import time
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

API_VERSION = "recommender.scalehist.io/v1"
NODE_GROUP = "scalehist.io/node-group"
MAX_BODY = 64 << 20

SUFFIX = {"": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)}
SUFFIX.update({s: Fraction(1000) ** (i + 1) for i, s in enumerate("kMGTPE")})
SUFFIX.update({s + "i": Fraction(1024) ** (i + 1) for i, s in enumerate("KMGTPE")})
QUANTITY = re.compile(r"^([+-]?[0-9.]+)(?:[eE]([+-]?[0-9]+)|([numkMGTPE]|[KMGTPE]i)?)$")


class BadRequest(Exception):
    """What is wrong with a request, where, and what to do."""

    def __init__(self, path, detail, advice):
        super().__init__(detail)
        self.path, self.detail, self.advice = path, detail, advice


def quantity(text, path):
    """A Kubernetes quantity as an exact number: "500m" is 1/2."""
    match = QUANTITY.match(str(text))
    if not match:
        raise BadRequest(path, f"{text!r} is no quantity", "write one such as 500m or 2Gi")
    number, exponent, suffix = match.groups()
    try:
        return Fraction(number) * (Fraction(10) ** int(exponent) if exponent else SUFFIX[suffix or ""])
    except ValueError:
        raise BadRequest(path, f"{text!r} is no quantity", "write one such as 500m or 2Gi") from None


def amounts(resources, path):
    return {name: quantity(v, f"{path}.{name}") for name, v in (resources or {}).items()}


def requests_of(pod, path):
    """What the scheduler counts for a pod: its containers, or an init container that wants more; overhead; one pod."""
    spec, total = pod.get("spec", {}), {}
    for c in spec.get("containers") or []:
        for name, v in amounts((c.get("resources") or {}).get("requests"), path).items():
            total[name] = total.get(name, 0) + v
    for c in spec.get("initContainers") or []:
        for name, v in amounts((c.get("resources") or {}).get("requests"), path).items():
            total[name] = max(total.get(name, 0), v)
    for name, v in amounts(spec.get("overhead"), path).items():
        total[name] = total.get(name, 0) + v
    total["pods"] = Fraction(1)
    return total


class Node:
    """A node, or one that is to come, with what is free on it."""

    def __init__(self, name, obj, path):
        self.name, self.pods = name, []
        meta, spec, status = obj.get("metadata", {}), obj.get("spec") or {}, obj.get("status") or {}
        self.labels = meta.get("labels") or {}
        self.taints = [t for t in spec.get("taints") or [] if t.get("effect") in ("NoSchedule", "NoExecute")]
        self.closed = spec.get("unschedulable", False)
        self.free = amounts(status.get("allocatable"), path)
        self.free.setdefault("pods", Fraction(110))

    def why_not(self, pod, wants):
        """Why the pod does not fit; None when it does."""
        spec = pod.get("spec", {})
        if self.closed:
            return "the node is cordoned"
        for key, value in (spec.get("nodeSelector") or {}).items():
            if self.labels.get(key) != value:
                return f"nodeSelector {key}={value} does not match"
        for taint in self.taints:
            if not any(tolerates(t, taint) for t in spec.get("tolerations") or []):
                return f"taint {taint['key']} is not tolerated"
        for name in sorted(wants):
            if wants[name] > self.free.get(name, 0):
                return f"not enough {name}"
        return None

    def take(self, name, wants):
        self.pods.append(name)
        for resource, v in wants.items():
            self.free[resource] = self.free.get(resource, 0) - v


def tolerates(toleration, taint):
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if not toleration.get("key"):
        return toleration.get("operator") == "Exists"
    if toleration["key"] != taint["key"]:
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get("value", "")


def ready(node):
    return any(c.get("type") == "Ready" and c.get("status") == "True" for c in (node.get("status") or {}).get("conditions") or [])


def name_of(obj):
    meta = obj.get("metadata", {})
    return f"{meta.get('namespace') or 'default'}/{meta.get('name')}"


def owned_by_daemon_set(pod):
    return any(o.get("kind") == "DaemonSet" and o.get("controller") for o in pod["metadata"].get("ownerReferences") or [])


class Group:
    """A node group: what a fresh node of it is, and how many more may come."""

    def __init__(self, obj, path, members, prices, daemon_sets):
        self.obj, self.name, self.path = obj, obj.get("name", ""), path
        if not self.name:
            raise BadRequest(path + ".name", "it is missing", "every node group has a name")
        self.target, self.max = obj.get("targetSize", 0), obj.get("maxSize", 0)
        self.new = []
        self.template = members[0] if members else obj.get("template")
        self.pods = obj.get("templatePods") or []
        self.daemon_sets = daemon_sets
        labels = ((self.template or {}).get("metadata") or {}).get("labels") or {}
        self.machine = labels.get("node.kubernetes.io/instance-type") or obj.get("machineType", "")
        self.zone = obj.get("zone") or labels.get("topology.kubernetes.io/zone", "")
        self.price = None
        if prices is not None:
            self.price = (prices.get("nodeGroups") or {}).get(self.name, (prices.get("machineTypes") or {}).get(self.machine))
            if self.price is None:
                raise BadRequest(path, f"node group {self.name}: machine type {self.machine!r} has no price in prices.machineTypes", "give its price")

    def fresh(self, name):
        """A new node, with the DaemonSet and static pods that come with it."""
        node = Node(name, self.template, f"{self.path}.template")
        node.closed = False
        node.labels = dict(node.labels, **{"kubernetes.io/hostname": name})
        come = list(self.pods)
        for ds in self.daemon_sets:
            pod = {"metadata": {"name": ds["metadata"]["name"]}, "spec": ds["spec"]["template"]["spec"]}
            if node.why_not(pod, {}) is None:
                come.append(pod)
        for pod in come:
            wants = requests_of(pod, f"{self.path}.template")
            node.take(None, wants)
        node.pods = []
        return node


def recommend(q):
    """A Recommendation for a request; the same one for the same request."""
    objects = []
    for i, o in enumerate(q.get("objects") or []):
        objects += [(x, f"objects[{i}]") for x in (o.get("items") or [] if o.get("kind") == "List" else [o])]
    of_kind = lambda kind: [(o, path) for o, path in objects if o.get("kind") == kind]
    constraints, prices = q.get("constraints") or {}, q.get("prices")
    group_of = dict(q.get("nodeGroupOf") or {})
    nodes, members = [], {}
    for o, path in of_kind("Node"):
        group = group_of.get(o["metadata"]["name"]) or (o["metadata"].get("annotations") or {}).get(NODE_GROUP)
        if ready(o):
            nodes.append(Node(o["metadata"]["name"], o, path + ".status.allocatable"))
            members.setdefault(group, []).append(o)
    daemon_sets = [o for o, _ in of_kind("DaemonSet")]
    groups = [Group(g, f"nodeGroups[{i}]", members.get(g.get("name")), prices, daemon_sets) for i, g in enumerate(q.get("nodeGroups") or [])]
    taken = {o["metadata"]["name"] for o, _ in of_kind("Node")}
    for group in groups:
        for name in group.obj.get("upcoming") or []:
            if name not in taken and group.template:
                nodes.append(group.fresh(name))
                taken.add(name)

    by_name, pending = {n.name: n for n in nodes}, []
    cutoff = constraints.get("expendablePriorityCutoff")
    for order, (pod, path) in enumerate(of_kind("Pod")):
        spec, status = pod.get("spec", {}), pod.get("status") or {}
        priority = spec.get("priority") or 0
        if status.get("phase") in ("Succeeded", "Failed") or cutoff is not None and priority < cutoff:
            continue
        node, wants = spec.get("nodeName") or status.get("nominatedNodeName"), requests_of(pod, path)
        if node:
            if node in by_name:
                by_name[node].take(name_of(pod), wants)
        elif not spec.get("schedulingGates") and not owned_by_daemon_set(pod) and not pod["metadata"].get("deletionTimestamp"):
            pending.append((-priority, order, pod, wants))

    total = len(taken)
    limit = constraints.get("maxNodesTotal") or 0
    backoff = constraints.get("backoff") or {}
    cheapest = sorted(range(len(groups)), key=lambda i: (groups[i].price or 0, i))
    fits, unplaced, steps = [], [], []
    for _, _, pod, wants in sorted(pending, key=lambda p: p[:2]):
        name = name_of(pod)
        old = next((n for n in nodes if n.why_not(pod, wants) is None), None)
        if old:
            old.take(name, wants)
            fits.append({"pod": name, "node": old.name})
            continue
        new = next((n for g in groups for n in g.new if n.why_not(pod, wants) is None), None)
        if new:
            new.take(name, wants)
            continue
        reasons = []
        for i in cheapest:
            group = groups[i]
            if group.name in backoff:
                why = "in backoff: " + backoff[group.name]
            elif not group.template:
                why = "there is no template and no node"
            elif group.target + len(group.new) >= group.max:
                why = f"max size {group.max} reached"
            elif limit and total >= limit:
                why = f"maxNodesTotal {limit} reached"
            else:
                number = 0
                while f"{group.name}-{number}" in taken:
                    number += 1
                node = group.fresh(f"{group.name}-{number}")
                why = node.why_not(pod, wants)
                if why is None:
                    node.take(name, wants)
                    group.new.append(node)
                    taken.add(node.name)
                    total += 1
                    steps.append({"nodeGroup": group.name, "node": node.name, "reason": f"the cheapest group whose node takes {name}"})
                    break
            reasons.append((i, {"nodeGroup": group.name, "reason": why}))
        else:
            unplaced.append({"pod": name, "priority": pod.get("spec", {}).get("priority") or 0, "groups": [r for _, r in sorted(reasons, key=lambda r: r[0])]})

    scale_ups = []
    for g in groups:
        if g.new:
            up = {"nodeGroup": g.name, "zone": g.zone, "machineType": g.machine, "from": g.target, "to": g.target + len(g.new), "count": len(g.new),
                  "nodes": [{"name": n.name, "pods": sorted(n.pods)} for n in g.new]}
            if g.price is not None:
                up["pricePerHour"] = g.price
            scale_ups.append(up)
    cost = sum(up.get("pricePerHour", 0) * up["count"] for up in scale_ups)
    return {
        "strategy": "first-fit", "scoring": "least-price", "scoringRule": "price of a node: lower is better; ties: order of the groups",
        "scaleUps": scale_ups, "fits": sorted(fits, key=lambda f: f["pod"]), "unplaced": sorted(unplaced, key=lambda u: u["pod"]), "steps": steps,
        "optimality": {"unit": (prices or {}).get("currency", "price") + " per hour", "cost": cost, "lowerBound": 0, "gap": 0, "exact": False,
                       "optimal": not scale_ups, "method": "none: this recommender computes no bound"},
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: apart, each answer waits 40 ms for an acknowledgement

    def answer(self, status, body, content_type="application/json"):
        data = (json.dumps(body, indent=2) + "\n").encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def problem(self, status, detail, path="", advice=""):
        self.close_connection = True
        self.answer(status, {"type": "about:blank", "title": self.responses[status][0], "status": status, "detail": detail, "path": path, "advice": advice},
                    "application/problem+json")

    def do_GET(self):
        if self.path in ("/healthz", "/readyz"):
            self.answer(200, {"ok": True})
        elif self.path == "/v1/strategies":
            self.answer(200, {"apiVersion": API_VERSION, "name": "recommender-python", "strategies": ["first-fit"]})
        else:
            self.problem(404, f"there is no {self.path}", advice="POST /v1/recommend")

    def do_POST(self):
        if self.path.split("?")[0] != "/v1/recommend":
            return self.problem(404, f"there is no {self.path}", advice="POST /v1/recommend")
        length = int(self.headers.get("Content-Length") or 0)
        if length > MAX_BODY:
            return self.problem(413, f"the request is larger than {MAX_BODY} bytes", advice="leave objects out")
        data = self.rfile.read(length)
        begin = time.monotonic()
        try:
            if self.headers.get("Content-Encoding") == "gzip":
                data = gzip.decompress(data)
            q = json.loads(data)
            if not isinstance(q, dict) or q.get("apiVersion") != API_VERSION:
                raise BadRequest("apiVersion", "it is missing or not known", f"write {API_VERSION}")
            if q.get("strategy") not in (None, "", "first-fit"):
                raise BadRequest("strategy", f"{q['strategy']!r} is not known", "choose first-fit")
            if q.get("snapshot"):
                raise BadRequest("snapshot", "this recommender reads objects and nodeGroups", "let 'scalehist recommend -o request' turn it into objects")
            recommendation = recommend(q)
        except BadRequest as e:
            return self.problem(400, e.detail, e.path, e.advice)
        except (ValueError, OSError) as e:
            return self.problem(400, f"it is not JSON: {e}", advice="correct it")
        except (AttributeError, KeyError, TypeError) as e:
            return self.problem(400, f"it does not follow the API: {type(e).__name__}: {e}", advice="see docs/recommender.openapi.json")
        took = f"{(time.monotonic() - begin) * 1000:.3f}ms"
        self.answer(200, {"apiVersion": API_VERSION, "recommendation": recommendation, "run": {"runTime": took, "server": "recommender-python"}})

    def log_message(self, format, *args):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--listen", default="127.0.0.1:8700", help="host:port; port 0 takes any that is free")
    host, _, port = parser.parse_args().listen.rpartition(":")
    server = ThreadingHTTPServer((host, int(port)), Handler)
    server.daemon_threads = True
    print(f"serving http://{host}:{server.server_address[1]}", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
