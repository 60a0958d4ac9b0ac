#!/usr/bin/env python3
"""A client of `scalehist env` for learners, with the standard library only.

    scalehist env prod.db --listen 127.0.0.1:8700
    python3 scalehist_env.py http://127.0.0.1:8700

VerticalEnv has the interface of gymnasium.Env: where Gymnasium is installed it is one, with numpy arrays, and --check lets Gymnasium's
own checker look at it. Where it is not, observations are lists. VectorEnv steps many environments in one request.

An observation has, for each container, memory used, CPU used, memory requested and CPU requested; an action has lower bound, target and
upper bound, each of memory and CPU. Memory is in MB, CPU in millicores. README.md says more.
"""

import argparse
import json
import random
import sys
import urllib.error
import urllib.request

try:
    import gymnasium
    import numpy
except ImportError:
    gymnasium = numpy = None


class ServerError(Exception):
    """What the server says is wrong with a request."""


def call(url, method, path, body=None):
    """Sends a request and returns its JSON."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, data=data, method=method, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ServerError(json.load(error).get("error", str(error))) from None


class VectorEnv:
    """Many environments that step at once. One that is done is reset at its next step, whose action is not looked at."""

    def __init__(self, url, number=0, workloads=(), updater="", reward="", round_robin=False, random_start=False):
        self.url = url.rstrip("/")
        made = call(self.url, "POST", "/v1/envs", {
            "workloads": list(workloads), "number": number, "updater": updater, "reward": reward,
            "roundRobin": round_robin, "randomStart": random_start})
        self.id, self.num_envs, self.containers = made["id"], made["number"], made["containers"]
        self.observation_high, self.action_high = made["observationHigh"], made["actionHigh"]

    def reset(self, seed=0):
        """Resets all; the first has that seed, each further one the next. Returns observations."""
        return call(self.url, "POST", f"/v1/envs/{self.id}/reset", {"seed": seed})["observations"]

    def step(self, actions):
        """Steps all; returns observations, rewards, whether each is done, and infos."""
        actions = [[float(v) for v in action] for action in actions]
        results = call(self.url, "POST", f"/v1/envs/{self.id}/step", {"actions": actions})["results"]
        return tuple([r[key] for r in results] for key in ("observation", "reward", "done", "info"))

    def close(self):
        """Removes the environments from the server."""
        if self.id is not None:
            call(self.url, "DELETE", f"/v1/envs/{self.id}")
            self.id = None


class VerticalEnv(gymnasium.Env if gymnasium else object):
    """One environment, as Gymnasium has them.

    A learner's action may have bounds and target in any order: they are sorted, so that every action of the action space is one."""

    metadata = {"render_modes": []}

    def __init__(self, url, workload=None, **options):
        self.render_mode = None
        self._seeds = random.Random(0)
        self._vector = VectorEnv(url, number=1, workloads=[workload] if workload else [], **options)
        if gymnasium:
            self.observation_space = self._box(self._vector.observation_high)
            self.action_space = self._box(self._vector.action_high)

    @staticmethod
    def _box(high):
        high = numpy.array(high, dtype=numpy.float32)
        return gymnasium.spaces.Box(numpy.zeros_like(high), high, dtype=numpy.float32)

    def _observation(self, values):
        if not gymnasium:
            return values
        return numpy.clip(numpy.array(values, dtype=numpy.float32), self.observation_space.low, self.observation_space.high)

    def reset(self, *, seed=None, options=None):
        """Returns the first observation and an empty info; the same seed begins at the same step."""
        if gymnasium:
            super().reset(seed=seed)
        if seed is not None:
            self._seeds = random.Random(seed)
        return self._observation(self._vector.reset(self._seeds.getrandbits(32))[0]), {}

    def step(self, action):
        """Returns observation, reward, terminated, truncated and info. The end of the usage truncates: it is no end of the task."""
        observations, rewards, done, infos = self._vector.step([ordered(action)])
        return self._observation(observations[0]), float(rewards[0]), False, bool(done[0]), infos[0]

    def close(self):
        """Removes the environment from the server."""
        self._vector.close()


def ordered(action):
    """Sorts lower bound, target and upper bound of each container and resource."""
    out = [float(v) for v in action]
    for container in range(0, len(out), 6):
        for resource in range(2):
            places = [container + resource + 2 * k for k in range(3)]
            for place, value in zip(places, sorted(out[p] for p in places)):
                out[place] = value
    return out


def follow(observation):
    """A learner that has learned nothing: the target is what is used now and 15 %, the bounds are that by half and by two."""
    action = []
    for at in range(0, len(observation), 4):
        target = [float(v) * 1.15 + 1 for v in observation[at:at + 2]]
        action += [v / 2 for v in target] + target + [v * 2 for v in target]
    return action


def main():
    """Runs an episode, and prints what it came to."""
    parser = argparse.ArgumentParser(description="Run an episode of scalehist env")
    parser.add_argument("url")
    parser.add_argument("--steps", type=int, default=1000, help="most steps")
    parser.add_argument("--reward", default="weighted")
    parser.add_argument("--check", action="store_true", help="let Gymnasium's checker look at the environment")
    args = parser.parse_args()
    env = VerticalEnv(args.url, reward=args.reward)
    if args.check:
        if not gymnasium:
            sys.exit("Gymnasium is not installed: pip install gymnasium")
        from gymnasium.utils.env_checker import check_env
        check_env(env, skip_render_check=True)
        print("Gymnasium's checker has nothing to say")
    observation, _ = env.reset(seed=1)
    steps = recreated = ooms = 0
    total, ended = 0.0, False
    while not ended and steps < args.steps:
        observation, reward, terminated, truncated, info = env.step(follow(observation))
        ended = terminated or truncated
        steps, total = steps + 1, total + reward
        recreated += info["recreated"]
        ooms += sum(c["oom"] for c in info["containers"])
    env.close()
    print(f"steps {steps}, reward {total:.3f}, recreated {recreated}, OOMs {ooms}")


if __name__ == "__main__":
    main()
