// What a run looked like at a moment, and what its decisions say.

import type { Curve, Decision, Group, Run, View } from "./data";
import * as workloads from "./workloads";

export const WAITING = -1;

/** at is a curve's value at a moment. */
export function at(c: Curve | undefined, t: number): number {
  if (!c?.t?.length) return 0;
  const i = last(c.t, t);
  return i < 0 ? 0 : c.v[i]!;
}

/** last is the index of the last entry of a sorted list that is not after t, -1 when all are. */
export function last(list: ArrayLike<number>, t: number): number {
  let lo = 0;
  let hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (list[mid]! <= t) lo = mid + 1;
    else hi = mid;
  }
  return lo - 1;
}

export interface NodeState {
  row: number;
  pods: number[];
  cpu: number;
  memory: number;
  unknown: number;
  leaving: boolean;
  unneeded: boolean;
}

export interface Moment {
  t: number;
  nodes: NodeState[];
  byGroup: Map<number, NodeState[]>;
  waiting: { pod: number; since: number }[];
  running: number;
}

export class Model {
  readonly times: number[];
  readonly moments: number[];
  /** workload names what a pod is a copy of, workloads ranks these names. */
  readonly workload: string[];
  readonly workloads: Map<string, number>;
  /** changes are the rows of resizes by pod. */
  private readonly changes = new Map<number, number[]>();
  /** ofNodes are the numbers of the decisions of the node autoscaler. */
  private readonly ofNodes: number[];
  private readonly nodeTimes: number[];
  private readonly to: Float64Array;
  private readonly nodeTo: Float64Array;
  private readonly leaving = new Map<number, number>();

  constructor(
    readonly run: Run,
    readonly name: string,
  ) {
    this.times = run.decisions.map((d) => d.at);
    this.ofNodes = run.decisions.flatMap((d, i) => (d.by ? [] : [i]));
    this.nodeTimes = this.ofNodes.map((i) => this.times[i]!);
    const end = (v: number) => (v < 0 ? Infinity : v);
    this.to = Float64Array.from(run.stays.to, end);
    this.nodeTo = Float64Array.from(run.nodes.to, end);
    for (const d of run.decisions) for (const x of d.deleting ?? []) if (!this.leaving.has(x.node)) this.leaving.set(x.node, d.at);
    const all = new Set<number>([0, run.length]);
    const replicas = (run.workloads ?? []).flatMap((w) => [w.wanted.t, w.ready.t]);
    for (const list of [this.times, run.stays.from, run.stays.to, run.nodes.from, run.nodes.to, run.nodes.asked, ...replicas]) {
      for (const t of list) if (t >= 0 && t <= run.length) all.add(t);
    }
    run.resizes?.pod.forEach((pod, i) => this.changes.set(pod, [...(this.changes.get(pod) ?? []), i]));
    this.moments = [...all].sort((a, b) => a - b);
    // Workloads get colours in the order of how many pods they have; those of a node are grey.
    this.workload = run.pods.name.map((n, i) => workload(n, run.texts[run.pods.owner[i]!]));
    const counts = new Map<string, number>();
    this.workload.forEach((w, i) => {
      if (!run.pods.follows[i]) counts.set(w, (counts.get(w) ?? 0) + 1);
    });
    const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    this.workloads = new Map(sorted.map(([w], i) => [w, i]));
  }

  /** decisionAt is the decision in force: the last one by t; of several at that instant the first that acted, else the last. */
  decisionAt(t: number): number {
    return this.inForce(this.times, (i) => i, t);
  }

  /** nodesAt is the decision of the node autoscaler in force. */
  nodesAt(t: number): number {
    return this.inForce(this.nodeTimes, (i) => this.ofNodes[i]!, t);
  }

  private inForce(times: number[], number: (i: number) => number, t: number): number {
    const i = last(times, t);
    if (i < 0) return -1;
    let first = i;
    while (first > 0 && times[first - 1] === times[i]) first--;
    for (let k = first; k <= i; k++) if (acted(this.run.decisions[number(k)]!)) return number(k);
    return number(i);
  }

  /** moment is the cluster at t. One pass over all stays: tens of thousands take less than a millisecond. */
  moment(t: number): Moment {
    const { nodes, stays, pods } = this.run;
    const states: (NodeState | undefined)[] = new Array(nodes.name.length);
    const out: Moment = { t, nodes: [], byGroup: new Map(), waiting: [], running: 0 };
    const now = this.run.decisions[this.nodesAt(t)];
    const unneeded = new Set(now?.unneeded ?? []);
    for (let row = 0; row < nodes.name.length; row++) {
      if (nodes.from[row]! > t || this.nodeTo[row]! <= t) continue;
      const s: NodeState = {
        row, pods: [], cpu: 0, memory: 0, unknown: 0,
        leaving: (this.leaving.get(row) ?? Infinity) <= t, unneeded: unneeded.has(row),
      };
      states[row] = s;
      out.nodes.push(s);
      const g = nodes.group[row]!;
      const list = out.byGroup.get(g);
      if (list) list.push(s);
      else out.byGroup.set(g, [s]);
    }
    for (let i = 0; i < stays.pod.length; i++) {
      if (stays.from[i]! > t || this.to[i]! <= t) continue;
      const pod = stays.pod[i]!;
      const node = stays.node[i]!;
      if (node === WAITING) out.waiting.push({ pod, since: stays.from[i]! });
      else {
        const s = states[node];
        if (!s) continue;
        s.pods.push(pod);
        if (!pods.follows[pod]) out.running++;
        const [cpu, memory] = this.asks(pod, t);
        if (cpu < 0) s.unknown++;
        else {
          s.cpu += cpu;
          s.memory += memory;
        }
      }
    }
    for (const s of out.nodes) {
      s.pods.sort((a, b) => pods.follows[b]! - pods.follows[a]! || this.rank(a) - this.rank(b) || pods.cpu[b]! - pods.cpu[a]! || a - b);
    }
    out.waiting.sort((a, b) => a.since - b.since || (pods.name[a.pod]! < pods.name[b.pod]! ? -1 : 1));
    return out;
  }

  /** asks are the CPU (milli) and the memory (MiB) that a pod asks for at a moment, below 0 where the report does not have it. */
  asks(pod: number, t: number): [number, number] {
    const { pods, resizes } = this.run;
    let out: [number, number] = [pods.cpu[pod]!, pods.memory[pod]!];
    for (const i of this.changes.get(pod) ?? []) if (resizes!.at[i]! <= t) out = [resizes!.cpu[i]!, resizes!.memory[i]!];
    return out;
  }

  rank(pod: number): number {
    return this.workloads.get(this.workload[pod]!) ?? 0;
  }

  /** story is where a pod was, in order. */
  story(pod: number): { node: number; from: number; to: number }[] {
    const { stays } = this.run;
    const out: { node: number; from: number; to: number }[] = [];
    for (let i = 0; i < stays.pod.length; i++) {
      if (stays.pod[i] === pod) out.push({ node: stays.node[i]!, from: stays.from[i]!, to: stays.to[i]! });
    }
    return out.sort((a, b) => a.from - b.from);
  }

  /** why says why a pod waits, as far as a decision tells. */
  why(pod: number, d: Decision | undefined): string {
    const { texts } = this.run;
    if (d) {
      const said = d.why?.find(([p]) => p === pod);
      if (said) return texts[said[1]]!;
      const pick = d.options?.find((o) => o.chosen);
      if (pick && d.ups?.length) {
        if (pick.names?.includes(pod)) return `waits for ${pick.nodes === 1 ? "the node" : pick.nodes + " nodes"} of ${pick.group} this loop asked for`;
        if (d.short?.includes(pod)) return `${pick.group} grows for ${pick.pods} of the waiting pods`;
      }
      if (d.short?.includes(pod)) {
        const reasons = [...(d.rejected ?? []), ...(d.skipped ?? [])].map(([g, r]) => `${texts[g]}: ${texts[r]}`);
        if (reasons.length > 0) return reasons.join("; ");
      }
    }
    const end = this.run.atEnd.find(([p]) => p === pod);
    if (end) return texts[end[1]]!;
    const coming = Object.entries(d?.upcoming ?? {}).map(([g, n]) => `${n} of ${g}`);
    if (coming.length > 0) return `expected to fit on nodes that are on their way: ${coming.join(", ")}`;
    return d && d.at > 0 ? "the autoscaler has not looked at it yet, or it is expected to fit" : "the autoscaler has not looked yet";
  }

  size(g: number, t: number): number {
    return at(this.run.groups[g]?.sizes, t);
  }
}

/** workload is what a pod is a copy of: its owner's name where the report has it, else its own; without what tells copies apart. */
function workload(pod: string, owner: string | undefined): string {
  const name = owner ? owner.slice(owner.indexOf("/") + 1) : pod.slice(pod.indexOf("/") + 1);
  const base = name.replace(/(-(\d+|(?=[a-z]*\d)[a-z\d]{5,10}))+$/, "");
  return base || name;
}

/** acted says whether a decision asked anything of the provider or began to remove a node; of a controller, whether it changed a workload. */
export const acted = (d: Decision): boolean => (d.by ? d.kind !== "none" : !!(d.ups?.length || d.downs?.length || d.failed?.length || d.deleting?.length));

/** headline is a decision in a few words. */
export function headline(m: Model, d: Decision): string {
  if (d.by) return workloads.headline(d);
  const { nodes } = m.run;
  const parts: string[] = [];
  for (const s of d.ups ?? []) parts.push(`${s.group} ${s.from} → ${s.to}`);
  for (const f of d.failed ?? []) parts.push(`${f.group} +${f.to} refused`);
  const going = d.deleting ?? [];
  if (going.length > 0) {
    parts.push(going.length <= 2 ? `removing ${going.map((x) => nodes.name[x.node]).join(", ")}` : `removing ${going.length} nodes of ${[...new Set(going.map((x) => x.group))].join(", ")}`);
  }
  const downs = new Map<string, { from: number; to: number }>();
  for (const s of d.downs ?? []) {
    const seen = downs.get(s.group);
    if (seen) seen.to = s.to;
    else downs.set(s.group, { from: s.from, to: s.to });
  }
  for (const [g, s] of downs) parts.push(`${g} ${s.from} → ${s.to}`);
  if (parts.length > 0) return parts.join(", ");
  if (d.kind === "none" && d.short?.length && d.notes?.length) return d.notes[0]!;
  if (d.short?.length) return `no room for ${d.short.length === 1 ? m.run.pods.name[d.short[0]!] : d.short.length + " pods"}`;
  if (d.unneeded?.length) return `${d.unneeded.length === 1 ? m.run.nodes.name[d.unneeded[0]!] + " is" : d.unneeded.length + " nodes are"} unneeded`;
  if (d.fit) return `${d.fit === 1 ? "1 pod fits" : d.fit + " pods fit"} on what is there or coming`;
  return d.notes?.[0] ?? "nothing to do";
}

const outcomes: Record<string, string> = {
  ScaleUpSuccessful: "Scaled up",
  ScaleUpError: "The scale-up failed",
  ScaleUpNoOptionsAvailable: "No group can help",
  ScaleUpNotNeeded: "No scale-up needed",
  ScaleUpNotTried: "No scale-up tried",
  ScaleUpInCooldown: "Waiting for more pods",
  ScaleUpLimitedByMaxNodesTotal: "The cluster is as large as it may be",
};

/** outcome is the result of a loop in plain words. */
export function outcome(d: Decision): string {
  if (d.by) return workloads.outcome(d);
  if (d.deleting?.length && !d.ups?.length) return "Nodes are being removed";
  if (d.downs?.length && !d.ups?.length) return "Scaled down";
  return outcomes[d.outcome ?? ""] ?? d.outcome ?? "Work between two loops";
}

/** differing are the stretches in which two lists of curves differ, as [from, to) pairs. */
export function differing(a: (Curve | undefined)[], b: (Curve | undefined)[], length: number): [number, number][] {
  const cuts = new Set<number>([0]);
  for (const list of [a, b]) for (const c of list) for (const t of c?.t ?? []) if (t < length) cuts.add(t);
  const sorted = [...cuts].sort((x, y) => x - y);
  const out: [number, number][] = [];
  sorted.forEach((t, i) => {
    if (!a.some((c, k) => at(c, t) !== at(b[k], t))) return;
    const to = sorted[i + 1] ?? length;
    const open = out[out.length - 1];
    if (open && open[1] === t) open[1] = to;
    else out.push([t, to]);
  });
  return out;
}

/** pairUp chooses what a page shows: one run, or two of them over each other. */
export function pairUp(view: View, a: number, b: number): Model[] {
  const out = [new Model(view.runs[a]!, "A")];
  if (view.runs.length > 1 && b >= 0 && b !== a) out.push(new Model(view.runs[b]!, "B"));
  return out;
}

/** bounds are a group's, "1–3", or "0–3?" where nobody recorded the limit. */
export function bounds(g: Group): string {
  return `${g.min}–${g.max}${g.guessed ? "?" : ""}`;
}
