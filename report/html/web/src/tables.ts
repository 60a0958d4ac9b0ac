// What is said once about a run: its header, key figures, the tables below.

import { clock, h, icon, offset, span } from "./dom";
import type { Metric, Run, View } from "./data";
import type { Model } from "./model";
import type { Store } from "./store";
import * as workloads from "./workloads";

const find = (r: Run, name: string): Metric | undefined => r.metrics.find((m) => m.name === name);

/** badge is a run's verdict: against a truth file where there is one, else against the recording. */
export function badge(r: Run): Node {
  const truth = r.truth ? !!r.truthOk : undefined;
  const ok = truth ?? r.verdict?.agreed;
  if (ok === undefined) return h("span", { class: "verdict-badge plain" }, "nothing recorded to compare with");
  const what = truth === undefined ? "the recording" : "the real autoscaler's runs";
  // Which questions differ is said where the recording decides: "differs from the recording in scaled-down".
  const where = truth === undefined && !ok ? (/^differs( in .*)$/.exec(r.verdict!.line)?.[1] ?? `: ${r.verdict!.line}`) : "";
  return h("span", { class: `verdict-badge ${ok ? "ok" : "bad"}` }, icon(ok ? "check" : "failed"), ok ? `agrees with ${what}` : `differs from ${what}${where}`);
}

export function header(view: View, models: Model[]): Node {
  const r = models[0]!.run;
  const window = `${clock(r.start, 0).replace(" UTC", "")} to ${clock(r.start, r.length).replace(/^.*? /, clock(r.start, r.length).slice(0, 10) === clock(r.start, 0).slice(0, 10) ? "" : clock(r.start, r.length).slice(0, 10) + " ")}`;
  return h("div", { class: "title" },
    h("div", null, h("p", { class: "kicker" }, models.length > 1 ? "Two replays over each other" : `${r.playback === "per-event" ? "Per-event replay" : "Replay"}`), h("h1", null, view.title),
      h("p", { class: "meta" }, models.length > 1 ? null : `${r.autoscaler} · `, `${window} (${span(r.length)})${r.batch === "0s" ? "" : ` · batches of ${r.batch}`} · ${r.loops.toLocaleString("en")} loops`)),
    h("div", { class: "verdicts" }, models.map((m) => h("div", { class: "run-line" }, models.length > 1 ? h("span", { class: `run-tag run-${m.name}` }, m.name) : null, models.length > 1 ? h("strong", null, m.run.label) : null, badge(m.run)))));
}

interface Figure {
  label: string;
  value: (r: Run) => string | null;
  /** For a number that is cut: two runs that differ are written with as many digits as it takes to see that. */
  exact?: { of: (r: Run) => number | undefined; digits: number; unit?: string };
  note?: (r: Run) => string;
  better?: string;
}

const text = (name: string) => (r: Run) => find(r, name)?.text ?? null;

const figures: Figure[] = [
  { label: "Nodes up", value: (r) => `${r.groups.some((g) => g.up) ? "+" : ""}${r.groups.reduce((n, g) => n + g.up, 0)}`, note: (r) => `${r.groups.filter((g) => g.up > 0).length} of ${r.groups.length} groups` },
  { label: "Nodes down", value: (r) => `${r.groups.some((g) => g.down) ? "−" : ""}${r.groups.reduce((n, g) => n + g.down, 0)}`, note: (r) => (text("nodes.peak")(r) ? `${text("nodes.peak")(r)} at most` : "") },
  { label: "Wait, median", value: text("pending.p50"), note: () => "of all pods", better: "pending.p50" },
  { label: "Wait, 95th", value: text("pending.p95"), note: (r) => `${text("pending.pods")(r) ?? "?"} pods waited`, better: "pending.p95" },
  { label: "Longest wait", value: text("pending.max"), note: (r) => `${text("pending.pod-seconds")(r) ?? "?"} all waits`, better: "pending.max" },
  { label: "Unschedulable", value: text("unschedulable"), note: () => "at the end", better: "unschedulable" },
  { label: "CPU utilisation", value: () => null, exact: { of: (r) => find(r, "utilization.cpu")?.value, digits: 1, unit: " %" }, note: () => "requested, mean", better: "utilization.cpu" },
  { label: "Most replicas", value: text("replicas.peak"), note: (r) => `${text("replicas.churn")(r) ?? "?"} up and down` },
  { label: "Unserved work", value: text("work.unserved"), note: () => "lost or waits", better: "work.unserved" },
  { label: "Cost", value: () => null, exact: { of: (r) => (r.currency ? find(r, "cost")?.value : undefined), digits: 2 }, note: (r) => `${r.currency}, ${(find(r, "node-hours")?.value ?? 0).toFixed(1)} node-h`, better: "cost" },
];

/** written are the figures of all runs; null where a run has none. */
function written(f: Figure, runs: Run[]): (string | null)[] {
  if (!f.exact) return runs.map(f.value);
  const { of, digits, unit } = f.exact;
  const values = runs.map(of);
  const known = new Set(values.filter((v) => v !== undefined));
  for (let d = digits; ; d++) {
    const texts = values.map((v) => (v === undefined ? null : v.toFixed(d) + (unit ?? "")));
    if (d >= 9 || new Set(texts.filter((t) => t !== null)).size === known.size) return texts;
  }
}

export function keyFigures(models: Model[]): Node {
  const runs = models.map((m) => m.run);
  const cards = figures.filter((f) => written(f, runs).some((t) => t !== null)).map((f) => {
    const [a, b] = written(f, runs);
    const changed = models.length > 1 && a !== b;
    const verdict = changed && f.better ? compare(find(models[0]!.run, f.better), find(models[1]!.run, f.better)) : "";
    return h("div", { class: "figure" }, h("dt", null, f.label),
      h("dd", null, h("span", { class: "big" }, a ?? "–"), models.length > 1 ? h("span", { class: `other ${verdict}` }, h("span", { class: "run-tag run-B" }, "B"), b ?? "–", verdict ? h("span", { class: "sub" }, verdict) : null) : f.note ? h("span", { class: "sub" }, f.note(models[0]!.run)) : null));
  });
  const r = models[0]!.run;
  if (models.length === 1 && r.verdict) {
    const off = new Set((r.verdict.groups ?? []).map((g) => g.slice(0, g.lastIndexOf(": ")))).size;
    cards.push(h("div", { class: "figure" }, h("dt", null, "Groups"), h("dd", null, h("span", { class: `big ${off ? "bad" : ""}` }, `${r.groups.length - off}/${r.groups.length}`), h("span", { class: "sub" }, "as recorded"))));
  }
  return h("dl", { class: "figures" }, cards);
}

function compare(a: Metric | undefined, b: Metric | undefined): string {
  if (a?.value === undefined || b?.value === undefined || a.value === b.value || a.better === "neither") return "";
  return a.value > b.value === (a.better === "less") ? "better" : "worse";
}

/** below are the tables under the charts, folded but the first. */
export function below(models: Model[], store: Store): Node[] {
  const jump = (t: number) => h("button", { type: "button", class: "link", onclick: () => store.set({ t, playing: false }) }, offset(t));
  const fold = (title: string, count: string, open: boolean, ...body: (Node | null)[]) => h("details", { class: "card fold", open }, h("summary", null, h("h2", null, title), count ? h("span", { class: "sum" }, count) : null), body);
  const out: Node[] = [];
  const r = models[0]!.run;
  const both = models.length > 1;
  const recorded = !both && !!r.verdict;

  const names = [...new Set(models.flatMap((m) => m.run.groups.map((g) => g.name)))].sort();
  const of = (m: Model, name: string) => m.run.groups.find((g) => g.name === name);
  out.push(fold("Node groups", String(names.length), true, scroll("Node groups", h("table", null,
    h("thead", null, h("tr", null, ["node group", "machine", "zone"].map((c) => h("th", { scope: "col" }, c)), ["min", "max"].map((c) => h("th", { scope: "col", class: "n" }, c)),
      models.flatMap((m) => ["initial", "final", "up", "down", ...(m.run.currency ? ["cost"] : [])].map((c) => h("th", { scope: "col", class: "n" }, both ? `${m.name} ${c}` : c))), recorded ? h("th", { scope: "col", class: "n" }, "recorded final") : null)),
    h("tbody", null, names.map((name) => {
      const g = models.map((m) => of(m, name)).find(Boolean)!;
      const end = recorded ? of(models[0]!, name)!.recorded : undefined;
      const final = end?.v[end.v.length - 1];
      return h("tr", null, h("th", { scope: "row" }, name), h("td", null, g.machine ?? ""), h("td", null, g.zone ?? ""), h("td", { class: "n" }, g.min), h("td", { class: "n", title: g.guessed ? "a guess: the most nodes seen" : undefined }, `${g.max}${g.guessed ? "?" : ""}`),
        models.map((m) => {
          const x = of(m, name);
          return [x?.initial, x?.final, x ? (x.up ? `+${x.up}` : 0) : "", x ? (x.down ? `−${x.down}` : 0) : "", ...(m.run.currency ? [x?.cost?.toFixed(4)] : [])].map((v) => h("td", { class: "n" }, v ?? "–"));
        }), recorded ? h("td", { class: final !== undefined && final !== g.final ? "n bad" : "n" }, final ?? "–") : null);
    }))))));

  const scaled = workloads.names(models).length;
  if (scaled > 0) out.push(fold("Workloads", String(scaled), true, scroll("Workloads", workloads.table(models, (run, row) => store.set({ selected: { kind: "workload", run, row } })))));
  if (!both && r.verdict) out.push(againstRecording(r.verdict, fold, jump));
  if (r.truth) out.push(fold("Against the real autoscaler's runs", r.truthOk ? "agrees" : "differs", !r.truthOk, h("pre", null, r.truth)));
  const metrics = (label: string, list: number[]) => scroll(label, h("table", null,
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "metric"), models.map((m) => h("th", { scope: "col", class: "n" }, both ? m.name : "value")), both ? h("th", { scope: "col" }, "B is") : null, h("th", { scope: "col" }, "meaning"))),
    h("tbody", null, list.map((i) => {
      const values = models.map((m) => m.run.metrics[i]!);
      const verdict = both ? compare(values[0], values[1]) : "";
      return h("tr", null, h("th", { scope: "row" }, values[0]!.title, h("span", { class: "sub mono" }, values[0]!.name)), values.map((v) => h("td", { class: "n nowrap" }, v.text ?? "–")), both ? h("td", null, verdict ? h("span", { class: `badge ${verdict === "better" ? "chosen" : "bad"}` }, verdict) : "") : null,
        h("td", { class: "why" }, values.find((v) => v.missing)?.missing ?? values[0]!.definition));
    }))));
  const every = r.metrics.map((_, i) => i);
  const changed = every.filter((i) => both && models[0]!.run.metrics[i]!.value !== models[1]!.run.metrics[i]!.value);
  if (both) out.push(fold("Metrics that differ", `${changed.length} of ${every.length}`, true, changed.length > 0 ? metrics("Metrics that differ", changed) : h("p", { class: "note" }, "None: both runs measure the same.")));
  out.push(fold("All metrics", String(r.metrics.filter((m) => m.value !== undefined).length), false, metrics("All metrics", every)));
  const said = models.flatMap((m) => [...(m.run.faults ?? []).map((f) => `fault: ${f}`), ...(m.run.warnings ?? []), ...(m.run.notes ?? [])].map((w) => (both ? `${m.name}: ${w}` : w)));
  if (said.length > 0) out.push(fold("To know when reading this", String(said.length), true, h("ul", { class: "plain" }, [...new Set(said)].map((w) => h("li", null, w)))));
  out.push(fold("Settings and inputs", "", false, ...models.map((m) => h("div", null, both ? h("h3", null, `${m.name} · ${m.run.label} · ${m.run.autoscaler}`) : null, h("ul", { class: "plain mono" }, [...m.run.settings, ...m.run.inputs].map((s) => h("li", null, s)))))));
  return out;
}

type Fold = (title: string, count: string, open: boolean, ...body: (Node | null)[]) => HTMLElement;

/** againstRecording has the answer to each question, and the steps that are not as recorded. */
function againstRecording(v: NonNullable<Run["verdict"]>, fold: Fold, jump: (t: number) => Node): Node {
  const questions = v.questions ?? [];
  const differences = v.differences ?? [];
  const off = questions.filter((q) => q.verdict === "differs").length;
  const head = (cells: string[]) => h("thead", null, h("tr", null, cells.map((c) => h("th", { scope: "col" }, c))));
  return fold("Against the recording", off > 0 ? `differs in ${off} of ${questions.length} questions` : "", !v.agreed,
    questions.length === 0 ? null : scroll("Questions of the verdict", h("table", null, head(["question", "verdict", "recorded", "replayed", "meaning"]),
      h("tbody", null, questions.map((q) => h("tr", null, h("th", { scope: "row" }, q.question),
        h("td", null, h("span", { class: `badge ${q.verdict === "agreed" ? "chosen" : q.verdict === "differs" && q.counts ? "bad" : ""}` }, q.verdict)),
        h("td", null, q.recorded || "–"), h("td", null, q.replayed || "–"), h("td", { class: "why" }, q.verdict === "differs" && !q.counts ? `${q.text} (shown only: the verdict does not depend on it)` : q.text)))))),
    h("p", { class: "note" }, `Source of the recorded sizes: ${v.source}${v.until === undefined ? "" : `; compared up to ${offset(v.until)}, where the recording ends`}.`),
    v.groups?.length ? h("ul", { class: "plain bad-list" }, v.groups.map((g) => h("li", null, g))) : null,
    differences.length === 0 ? null : scroll("Differences from the recording", h("table", null, head(["moment", "kind", "what", "why"]),
      h("tbody", null, differences.slice(0, 500).map((d) => h("tr", null, h("td", null, jump(d.at)), h("td", null, d.kind), h("td", null, d.what), h("td", { class: "why" }, d.reason)))))),
    v.within ? h("p", { class: "note" }, `${v.within} more within one scan interval of the recording.`) : null);
}

const scroll = (label: string, ...children: Node[]): HTMLElement => h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, children);

/** events are the recorded scale-ups of a per-event playback, each decided again. */
export function events(m: Model, store: Store): HTMLElement {
  const list = m.run.events ?? [];
  return h("section", { class: "card", "aria-labelledby": "h-events" }, h("div", { class: "bar" }, h("h2", { id: "h-events" }, "Recorded scale-ups, decided again"), h("p", { class: "sum" }, `${list.filter((e) => e.agreed).length} of ${list.length} the same`)),
    scroll("Recorded scale-ups", h("table", null, h("thead", null, h("tr", null, ["moment", "recorded", "replayed", "verdict"].map((c) => h("th", { scope: "col" }, c)))),
      h("tbody", null, list.map((e) => h("tr", null, h("td", null, h("button", { type: "button", class: "link", onclick: () => store.set({ t: e.at, playing: false }) }, offset(e.at))), h("td", null, e.recorded), h("td", null, e.replayed),
        h("td", null, h("span", { class: `badge ${e.agreed ? "chosen" : "bad"}` }, e.agreed ? "the same" : "differs"))))))));
}
