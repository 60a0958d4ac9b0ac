// Workloads whose replicas a controller sets: their lines over time, a decision about them, their table.

import { differing, type Model } from "./model";
import { h, offset, plural } from "./dom";
import type { Decision, Workload } from "./data";
import type { Line, Panel } from "./charts";
import { palette } from "./theme";

const find = (m: Model | undefined, name: string): Workload | undefined => m?.run.workloads?.find((w) => w.name === name);

/** names are the workloads of the runs, in the order in which they were seen. */
export const names = (models: Model[]): string[] => [...new Set(models.flatMap((m) => (m.run.workloads ?? []).map((w) => w.name)))];

/** plain is a workload without its kind: "shop/web". */
export const plain = (name: string): string => name.slice(name.indexOf("/") + 1);

/** replicas is the chart of the replicas: solid those that are wanted (dashed of run B), dotted those that are ready. */
export function replicas(models: Model[], shown: number): Panel | null {
  const [a, b] = models as [Model, Model | undefined];
  const all = names(models);
  if (all.length === 0) return null;
  const moving = (name: string) => models.some((m) => (find(m, name)?.wanted.t.length ?? 0) > 1);
  const order = all.filter(moving).concat(all.filter((n) => !moving(n)));
  const lines: Line[] = [];
  order.forEach((name, i) => {
    const colour = palette(all.indexOf(name));
    const quiet = i >= shown;
    const label = all.filter((n) => plain(n) === plain(name)).length > 1 ? name : plain(name);
    let of: string | undefined;
    models.forEach((m, run) => {
      const w = find(m, name);
      if (!w) return;
      const own = run === 0 ? label : `${label} B`;
      lines.push({ name: own, curve: w.wanted, colour, dash: run > 0, of, quiet });
      of ??= own;
      lines.push({ name: `${own} ready`, curve: w.ready, colour, dots: true, of, quiet });
    });
  });
  const side = (m: Model | undefined) => all.map((n) => find(m, n)?.wanted);
  const marks = b ? differing(side(a), side(b), Math.min(a.run.length, b.run.length)) : [];
  return { id: "replicas", title: "Replicas", unit: "wanted; dotted: ready", height: 150, lines, write: String, marks, markText: "replicas differ between A and B" };
}

/** headline is what a controller decided, in a few words. */
export function headline(d: Decision): string {
  if (!d.scale) return d.summary.replace(`${d.by} `, "");
  const { from, to } = d.scale;
  return `${plain(d.workload ?? "")} ${from === to ? `stays at ${to}` : `${from} → ${to}`}`;
}

/** outcome is the same in a sentence. */
export function outcome(d: Decision): string {
  return d.kind === "up" ? "Scaled up" : d.kind === "down" ? "Scaled down" : "Left as it is";
}

/** short says the most telling reason of a decision. */
export const short = (d: Decision): string => d.scale?.limited?.[0] ?? d.scale?.reason ?? d.parts?.[0]?.lines[0] ?? "";

/** texts are all that a search looks through. */
export const texts = (d: Decision): (string | undefined)[] => [
  d.by, d.workload, d.scale?.by, d.scale?.reason, ...(d.scale?.limited ?? []), ...(d.scale?.metrics ?? []).flatMap((m) => [m.metric, m.error]), ...(d.parts ?? []).flatMap((p) => p.lines),
];

const list = (title: string, lines: (string | Node)[]): Node | null => (lines.length === 0 ? null : h("div", { class: "part" }, h("h3", null, title), h("ul", { class: "plain" }, lines.map((l) => h("li", null, l)))));

/** detail is a decision with its metrics and what limited it. */
export function detail(d: Decision): (Node | null)[] {
  const s = d.scale;
  const parts = (d.parts ?? []).map((p) => list(p.title, p.lines));
  if (!s) return parts;
  const metrics = s.metrics ?? [];
  const cells = (cols: string[], tag: "th" | "td") => cols.map((c, i) => h(tag, tag === "th" ? { scope: "col", class: i > 0 ? "n" : "" } : { class: "n" }, c));
  return [
    list("Reason", s.reason ? [s.reason] : []),
    metrics.length === 0 ? null : h("div", { class: "part" }, h("h3", null, "Metrics"), h("table", { class: "readings" },
      h("thead", null, h("tr", null, cells(["metric", "value", "target", "asks for"], "th"))),
      h("tbody", null, metrics.map((m) => h("tr", null, h("th", { scope: "row" }, m.metric),
        m.error ? h("td", { colspan: 3, class: "why bad" }, m.error) : cells([m.value ?? "", m.target ?? "", plural(m.asks, "replica")], "td")))))),
    list("Limited by", s.limited ?? []),
    list("Asked for by", s.by ? [s.by] : []),
    ...parts,
  ];
}

/** facts are what is known of a workload at a moment. */
export function facts(w: Workload, wanted: number, ready: number): [string, string][] {
  const out: [string, string][] = [["replicas now", `${wanted} wanted, ${ready} ready`], ["set by", w.controller ?? "nobody: as recorded"], ["most", String(w.peak)]];
  if (w.unserved) out.push(["work not served", w.unserved]);
  return out;
}

/** story is when the replicas that are wanted changed. */
export function story(w: Workload, jump: (t: number, text: string) => Node): Node {
  return h("ol", { class: "story" }, w.wanted.t.map((t, i) => h("li", null, jump(t, offset(t)), i === 0 ? ` ${w.wanted.v[0]} replicas` : ` ${w.wanted.v[i - 1]} → ${w.wanted.v[i]}`)));
}

/** table has a row for each workload, with the columns of each run. */
export function table(models: Model[], select: (run: number, row: number) => void): Node {
  const both = models.length > 1;
  return h("table", null,
    h("thead", null, h("tr", null, h("th", { scope: "col" }, "workload"), h("th", { scope: "col" }, "set by"),
      models.flatMap((m) => ["initial", "final", "most", "up", "down", "work not served"].map((c) => h("th", { scope: "col", class: "n" }, both ? `${m.name} ${c}` : c))))),
    h("tbody", null, names(models).map((name) => {
      const run = models.findIndex((m) => find(m, name));
      const row = models[run]!.run.workloads!.findIndex((w) => w.name === name);
      return h("tr", null, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => select(run, row) }, name)),
        h("td", null, models.map((m) => find(m, name)?.controller).find(Boolean) ?? "–"),
        models.flatMap((m) => {
          const w = find(m, name);
          return [w?.initial, w?.final, w?.peak, w && (w.up ? `+${w.up}` : 0), w && (w.down ? `−${w.down}` : 0), w && (w.unserved || "–")].map((v) => h("td", { class: "n" }, v ?? "–"));
        }));
    })));
}
