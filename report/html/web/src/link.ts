// What stands behind the # of the address: #t=+20s, #loop=2, #pod=default/api-1, #node=large-0, #group=large,
// #workload=Deployment/shop/web, #t=+20s&by=hpa for a decision of a controller; with &run=B it is about
// the second run, and &a=, &b= say which runs of several are shown.

import { offset, parseOffset } from "./dom";
import { WAITING, type Model } from "./model";
import type { State } from "./store";
import type { Decision } from "./data";

export function parse(hash: string): Map<string, string> {
  const out = new Map<string, string>();
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, ...rest] = part.split("=");
    if (!key || rest.length === 0) continue;
    try {
      out.set(key, decodeURIComponent(rest.join("=")));
    } catch {
      out.set(key, rest.join("="));
    }
  }
  return out;
}

/** resolve is the state that a link asks for; what the runs do not have is said in problem. */
export function resolve(link: Map<string, string>, models: Model[]): { state: Partial<State>; problem: string } | null {
  const run = link.get("run") === "B" && models.length > 1 ? 1 : 0;
  const m = models[run]!;
  const { run: r } = m;
  const state: Partial<State> = { playing: false };
  let problem = "";
  let asked = false;
  const thing = (kind: "pod" | "node" | "group" | "workload", names: string[], when: (row: number) => number) => {
    let name = link.get(kind);
    if (name === undefined) return;
    asked = true;
    if (kind === "pod" && !name.includes("/")) name = "default/" + name;
    const row = names.lastIndexOf(name);
    if (row < 0) {
      problem = `There is no ${kind} ${name} in this replay.`;
      return;
    }
    state.selected = { kind, run, row };
    state.t = when(row);
  };
  thing("pod", r.pods.name, (row) => {
    const story = m.story(row);
    const wait = story.find((s) => s.node === WAITING);
    const about = r.decisions.filter((d) => d.short?.includes(row));
    const looked = about.find((d) => d.kind !== "none") ?? about[0];
    return looked?.at ?? wait?.from ?? story[0]?.from ?? 0;
  });
  thing("node", r.nodes.name, (row) => r.nodes.from[row]!);
  thing("group", r.groups.map((g) => g.name), (row) => r.groups[row]!.sizes.t[1] ?? 0);
  thing("workload", (r.workloads ?? []).map((w) => w.name), (row) => r.workloads![row]!.wanted.t[1] ?? 0);
  const loop = link.get("loop");
  if (loop !== undefined) {
    asked = true;
    const i = r.decisions.findIndex((d) => !d.by && d.loop === Number(loop));
    if (i < 0) problem = `Loop ${loop} is not among the decisions: nothing new happened in it.`;
    else Object.assign(state, { t: r.decisions[i]!.at, pick: i, pickRun: run });
  }
  const t = link.get("t");
  if (t !== undefined) {
    asked = true;
    const ms = parseOffset(t);
    if (Number.isNaN(ms)) problem = `${t} is no moment: write +1m40s.`;
    else if (state.pick === undefined || ms !== state.t) state.t = ms;
  }
  const by = link.get("by");
  if (by !== undefined && state.t !== undefined && !problem) {
    const i = r.decisions.findIndex((d) => d.by === by && d.at === state.t);
    if (i < 0) problem = `${by} decided nothing at ${offset(state.t)}.`;
    else Object.assign(state, { pick: i, pickRun: run });
  }
  return asked ? { state, problem } : null;
}

/** write is the link to a state. */
export function write(now: State, models: Model[], extra: string): string {
  const parts: string[] = [];
  let run = 0;
  const name = (s: string) => encodeURIComponent(s).replaceAll("%2F", "/").replaceAll("%2B", "+");
  if (now.selected) {
    const { kind, row } = now.selected;
    run = now.selected.run;
    const r = models[run]!.run;
    parts.push(`${kind}=${name(kind === "pod" ? r.pods.name[row]! : kind === "node" ? r.nodes.name[row]! : kind === "workload" ? r.workloads![row]!.name : r.groups[row]!.name)}`);
  }
  const d = now.pick >= 0 ? models[now.pickRun]!.run.decisions[now.pick] : undefined;
  const first = (same: (x: Decision) => boolean) => models[now.pickRun]!.run.decisions.findIndex(same) === now.pick;
  if (d?.by && !now.selected) {
    parts.push(`t=${offset(d.at)}`);
    if (first((x) => x.by === d.by && x.at === d.at)) parts.push(`by=${name(d.by)}`);
    run = now.pickRun;
  } else if (d && !now.selected && first((x) => !x.by && x.loop === d.loop)) {
    parts.push(`loop=${d.loop}`);
    run = now.pickRun;
  } else parts.push(`t=${offset(Math.round(now.t))}`);
  if (run > 0) parts.push("run=B");
  return "#" + parts.join("&") + extra;
}
