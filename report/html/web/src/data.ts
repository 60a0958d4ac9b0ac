// The view that report/html/view.go writes. Times are milliseconds from the start of a run; pods, nodes, groups and
// texts are numbers into the lists of their run.

export interface Curve {
  t: number[];
  v: number[];
}

export interface Group {
  name: string;
  machine?: string;
  zone?: string;
  min: number;
  max: number;
  /** Nobody recorded max: it is the most nodes seen. */
  guessed?: boolean;
  initial: number;
  final: number;
  up: number;
  down: number;
  delay: string;
  sizes: Curve;
  recorded?: Curve;
  cost?: number;
  hours?: number;
}

/** A workload whose replicas a controller sets, or that has load. */
export interface Workload {
  name: string;
  controller?: string;
  initial: number;
  final: number;
  peak: number;
  up: number;
  down: number;
  unserved?: string;
  wanted: Curve;
  ready: Curve;
  sized?: Sized[];
  marks?: { at: number; kind: string; pods: number }[];
}

/** One resource of all pods of a workload: CPU in cores, memory in GiB; -1 while it is unknown. */
export interface Sized {
  resource: string;
  requested: Curve;
  used?: Curve;
  target?: Curve;
  lower?: Curve;
  upper?: Curve;
}

/** What a controller decided about the replicas of a workload. */
export interface Scale {
  by?: string;
  from: number;
  to: number;
  reason?: string;
  limited?: string[];
  metrics?: { metric: string; value?: string; target?: string; asks: number; error?: string }[];
}

export interface Option {
  group: string;
  nodes: number;
  pods: number;
  names?: number[];
  similar?: string[];
  scores?: Record<string, number>;
  chosen?: boolean;
  reason?: string;
}

export interface Change {
  group: string;
  node: number;
  from: number;
  to: number;
  max?: number;
  reason?: string;
}

export interface Deleting {
  group: string;
  node: number;
  since: number;
  used: number;
  pods?: number[];
}

export type Kind = "up" | "down" | "failed" | "stuck" | "none";

export interface Decision {
  at: number;
  loop: number;
  outcome?: string;
  summary: string;
  kind: Kind;
  /** by is the controller of workloads that decided it; absent: the node autoscaler. */
  by?: string;
  workload?: string;
  scale?: Scale;
  parts?: { title: string; lines: string[] }[];
  short?: number[];
  fit?: number;
  upcoming?: Record<string, number>;
  options?: Option[];
  skipped?: [number, number][];
  rejected?: [number, number][];
  ups?: Change[];
  downs?: Change[];
  failed?: Change[];
  backoff?: { group: string; until: number; reason: string }[];
  awaiting?: number;
  helpless?: number;
  down?: string;
  unneeded?: number[];
  unremovable?: [number, number][];
  deleting?: Deleting[];
  why?: [number, number][];
  notes?: string[];
}

export interface Metric {
  name: string;
  title: string;
  unit: string;
  better: "less" | "more" | "neither";
  definition: string;
  value?: number;
  text?: string;
  missing?: string;
}

export interface Run {
  label: string;
  scenario: string;
  autoscaler: string;
  playback: string;
  start: string;
  length: number;
  batch: string;
  loops: number;
  verdict?: {
    agreed: boolean;
    line: string;
    source: string;
    until?: number;
    questions?: { question: string; verdict: "agreed" | "differs" | "unknown"; recorded: string; replayed: string; text: string; counts?: boolean }[];
    within?: number;
    groups?: string[];
    differences?: { kind: string; at: number; what: string; reason: string }[];
  };
  truth?: string;
  truthOk?: boolean;
  metrics: Metric[];
  settings: string[];
  inputs: string[];
  faults?: string[];
  warnings?: string[];
  notes?: string[];
  events?: { at: number; recorded: string; replayed: string; agreed: boolean }[];
  currency?: string;
  groups: Group[];
  controllers?: string[];
  workloads?: Workload[];
  texts: string[];
  nodes: { name: string[]; group: number[]; asked: number[]; from: number[]; to: number[]; cpu: number[]; memory: number[] };
  pods: { name: string[]; owner: number[]; cpu: number[]; memory: number[]; follows: number[] };
  stays: { pod: number[]; node: number[]; from: number[]; to: number[] };
  /** From at[i] on pod[i] asks for something else. */
  resizes?: { pod: number[]; at: number[]; cpu: number[]; memory: number[] };
  curves: { pending: Curve; nodes: Curve; cpu?: Curve; memory?: Curve; cost?: Curve };
  decisions: Decision[];
  atEnd: [number, number][];
}

export interface First {
  kind: "action" | "reason";
  at: number;
  by?: string;
  a: number;
  b: number;
  actedA: boolean;
  actedB: boolean;
}

export interface View {
  version: number;
  title: string;
  runs: Run[];
  pairs?: { run: number; where?: string; first?: First }[];
}

/** load reads the view out of the page: plain, or gzip in base64, which the browser unpacks without the network. */
export async function load(): Promise<View> {
  const el = document.getElementById("data") as HTMLScriptElement;
  const text = el.textContent ?? "";
  if (el.type !== "application/gzip") return JSON.parse(text) as View;
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return (await new Response(stream).json()) as View;
}
