// All decisions as a list: searched, filtered by kind, walked with the arrow keys. Choosing one goes to its moment.

import { h, icon, offset, plural } from "./dom";
import type { Decision, Kind } from "./data";
import { headline, type Model } from "./model";
import type { Store } from "./store";
import { VirtualList } from "./virtual";
import * as workloads from "./workloads";

interface Entry {
  run: number;
  i: number;
  d: Decision;
  differs: boolean;
  /** twin is the same decision of the other run, -1 when it did not take it. */
  twin: number;
}

const filters: [string, string, (k: Kind) => boolean][] = [
  ["all", "all", () => true],
  ["up", "up", (k) => k === "up"],
  ["down", "down", (k) => k === "down"],
  ["stuck", "no room", (k) => k === "stuck" || k === "failed"],
];

const words: Record<Kind, string> = { up: "scale-up", down: "scale-down", failed: "failed refused", stuck: "stuck no room unschedulable", none: "nothing" };

export class Decisions {
  readonly el: HTMLElement;
  private readonly list: VirtualList;
  private readonly search: HTMLInputElement;
  private readonly found = h("p", { class: "found", role: "status" });
  private all: Entry[] = [];
  private shown: Entry[] = [];
  private kind = filters[0]!;
  /** by is whose decisions are shown: of the node autoscaler (""), of a controller, or of all (null). */
  private by: string | null = null;

  constructor(
    private readonly models: Model[],
    private readonly store: Store,
    private readonly first: { a: number; b: number } | null,
  ) {
    this.all = merge(models);
    this.list = new VirtualList({
      label: "Decisions", id: "decision", row: 52, most: models.length > 1 ? 11 : 7, empty: "No decision matches.",
      draw: (i) => this.row(this.shown[i]!), title: (i) => this.shown[i]!.d.summary,
      pick: (i) => {
        const e = this.shown[i]!;
        store.set({ t: e.d.at, pick: e.i, pickRun: e.run, playing: false });
      },
    });
    this.search = h("input", { type: "search", id: "search", placeholder: "pod, node, group, reason", autocomplete: "off", spellcheck: "false", "aria-label": "Search decisions by pod, node, group, reason or kind" });
    this.search.addEventListener("input", () => this.filter());
    this.search.addEventListener("keydown", (e) => {
      if (e.key === "ArrowDown" || e.key === "Enter") {
        e.preventDefault();
        this.list.el.focus();
        if (this.shown.length > 0) this.list.el.dispatchEvent(new KeyboardEvent("keydown", { key: "Home" }));
      }
    });
    const chips = this.choice("Kinds of decisions", filters.map((f) => [f[1], () => (this.kind = f)]));
    const controllers = [...new Set(models.flatMap((m) => m.run.controllers ?? []))];
    const whose: [string, string | null][] = [["all autoscalers", null], ["nodes", ""], ...controllers.map((c): [string, string] => [c, c])];
    const by = controllers.length === 0 ? null : this.choice("Whose decisions", whose.map(([name, c]) => [name, () => (this.by = c)]));
    this.el = h("section", { class: "card decisions", "aria-labelledby": "h-decisions" },
      h("div", { class: "bar" }, h("h2", { id: "h-decisions" }, "Decisions"), this.found), h("div", { class: "find" }, this.search, chips, by), this.list.el);
    this.filter();
  }

  /** choice is a row of buttons of which one is pressed, the first to begin with. */
  private choice(label: string, options: [string, () => void][]): HTMLElement {
    const chips = h("div", { class: "chips kinds", role: "group", "aria-label": label }, options.map(([name, set], i) => {
      const b = h("button", { type: "button", class: "chip", "aria-pressed": String(i === 0), onclick: () => {
        set();
        for (const c of chips.children) c.setAttribute("aria-pressed", String(c === b));
        this.filter();
      } }, name);
      return b;
    }));
    return chips;
  }

  /** show marks the decision in force. */
  show(run: number, i: number): void {
    this.list.show(this.shown.length, this.shown.findIndex((e) => (e.run === run && e.i === i) || (e.twin >= 0 && run === 1 && e.twin === i)));
  }

  private filter(): void {
    const query = this.search.value.trim().toLowerCase();
    const match = this.models.map((m) => matcher(m, query));
    this.shown = this.all.filter((e) => this.kind[2](e.d.kind) && (this.by === null || this.by === (e.d.by ?? "")) && match[e.run]!(e.d));
    const loops = this.models[0]!.run.loops;
    this.found.textContent = query || this.kind !== filters[0] || this.by !== null ? `${this.shown.length} of ${this.all.length}` : this.models.length > 1 || this.models[0]!.run.controllers ? plural(this.all.length, "decision") : `${this.all.length} of ${plural(loops, "loop")} mattered`;
    const { now } = this.store;
    const run = now.pick >= 0 ? now.pickRun : 0;
    this.show(run, now.pick >= 0 ? now.pick : this.models[run]!.decisionAt(now.t));
  }

  private row(e: Entry): Node[] {
    const m = this.models[e.run]!;
    const { d } = e;
    const first = this.first && ((e.run === 0 ? this.first.a : this.first.b) === e.i || (e.twin >= 0 && e.twin === this.first.b));
    const tags = this.models.length === 1 ? [] : e.twin >= 0 ? this.models : [m];
    const asked = d.short?.length ? `for ${plural(d.short.length, "pod")}` : d.options?.length ? "" : d.unneeded?.length ? `${plural(d.unneeded.length, "node")} unneeded` : "";
    return [
      icon(d.kind, d.kind),
      h("span", { class: "when" }, offset(d.at), h("span", { class: "sub" }, d.by ?? (d.outcome === undefined ? "between" : `loop ${d.loop}`))),
      h("span", { class: "what" }, h("span", { class: "headline" }, headline(m, d)), h("span", { class: "sub" }, [words[d.kind].split(" ")[0] === "nothing" && !d.by ? "" : short(d), asked].filter(Boolean).join(" · "))),
      h("span", { class: "tags" }, tags.map((t) => h("span", { class: `run-tag run-${t.name}` }, t.name)), first ? h("span", { class: "badge bad" }, "1st") : e.differs ? h("span", { class: "badge differs", title: "the other run did not do this then" }, "≠") : null),
    ];
  }
}

/** short says the most telling reason of a decision. */
function short(d: Decision): string {
  if (d.by) return workloads.short(d);
  const pick = d.options?.find((o) => o.chosen);
  if (pick?.reason) return pick.reason;
  if (d.failed?.length) return d.failed[0]!.reason ?? "";
  if (d.deleting?.length) return d.deleting.every((x) => !x.pods?.length) ? "empty" : "pods move";
  if (d.downs?.length) return d.downs[0]!.reason ?? "";
  return d.notes?.[0] ?? "";
}

/** merge puts the decisions of two runs into one list by time: what both did alike is one entry, what only one of them did is marked. */
function merge(models: Model[]): Entry[] {
  const [a, b] = models as [Model, Model | undefined];
  const key = (m: Model, d: Decision) => `${d.at} ${d.summary} ${headline(m, d)}`;
  const left = new Map<string, number[]>();
  b?.run.decisions.forEach((d, i) => {
    const k = key(b, d);
    left.set(k, [...(left.get(k) ?? []), i]);
  });
  const out: Entry[] = a.run.decisions.map((d, i) => {
    const twin = left.get(key(a, d))?.shift() ?? -1;
    return { run: 0, i, d, twin, differs: !!b && twin < 0 && d.kind !== "none" };
  });
  for (const rest of left.values()) for (const i of rest) out.push({ run: 1, i, d: b!.run.decisions[i]!, twin: -1, differs: b!.run.decisions[i]!.kind !== "none" });
  return out.sort((x, y) => x.d.at - y.d.at || x.run - y.run || x.i - y.i);
}

/** matcher tests decisions against a query: names and texts are searched once, decisions then by number. */
function matcher(m: Model, query: string): (d: Decision) => boolean {
  if (query === "") return () => true;
  const { run } = m;
  const hits = (list: string[]) => Uint8Array.from(list, (s) => (s.toLowerCase().includes(query) ? 1 : 0));
  const pods = hits(run.pods.name);
  const nodes = hits(run.nodes.name);
  const texts = hits(run.texts);
  const has = (s: string | undefined) => !!s && s.toLowerCase().includes(query);
  return (d) =>
    has(d.summary) || workloads.texts(d).some(has) || has(words[d.kind]) || (!d.by && has(`loop ${d.loop}`)) || has(headline(m, d)) || has(offset(d.at)) ||
    !!d.short?.some((p) => pods[p]) || !!d.unneeded?.some((n) => nodes[n]) ||
    !!d.options?.some((o) => has(o.group) || has(o.reason) || o.names?.some((p) => pods[p])) ||
    !!d.rejected?.some(([g, r]) => texts[g] || texts[r]) || !!d.skipped?.some(([g, r]) => texts[g] || texts[r]) ||
    !!d.unremovable?.some(([n, r]) => nodes[n] || texts[r]) || !!d.why?.some(([p, r]) => pods[p] || texts[r]) ||
    !!d.deleting?.some((x) => nodes[x.node] || has(x.group) || x.pods?.some((p) => pods[p])) ||
    !!d.failed?.some((f) => has(f.reason)) || !!d.downs?.some((s) => has(s.reason)) || !!d.backoff?.some((b) => has(b.group) || has(b.reason)) || !!d.notes?.some(has);
}
