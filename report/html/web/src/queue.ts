// The pods without a node at a moment, with why; and what is known of one pod, node or group.

import { cores, fill, gib, h, offset, plural, span } from "./dom";
import { nodeFacts } from "./cluster";
import { WAITING, at, bounds, type Model, type Moment } from "./model";
import type { Store } from "./store";
import { VirtualList } from "./virtual";
import * as workloads from "./workloads";

export class Queue {
  readonly el: HTMLElement;
  private readonly count = h("p", { class: "sum" });
  private readonly list: VirtualList;
  private now: Moment | null = null;
  private pick = -1;

  constructor(
    private readonly m: Model,
    private readonly index: number,
    private readonly store: Store,
    title: string,
  ) {
    const id = `h-queue-${m.name}`;
    this.list = new VirtualList({
      label: title, id: `queue-${m.name}`, row: 58, most: 5, empty: "Every pod has a node.", draw: (i) => this.row(i), title: (i) => this.reason(i),
      pick: (i) => this.store.set({ selected: { kind: "pod", run: this.index, row: this.now!.waiting[i]!.pod } }),
    });
    this.el = h("section", { class: "card queue", "aria-labelledby": id }, h("div", { class: "bar" }, h("h2", { id }, title), this.count), this.list.el);
  }

  show(now: Moment, pick: number): void {
    this.now = now;
    this.pick = pick;
    const sel = this.store.now.selected;
    const n = now.waiting.length;
    this.count.textContent = n === 0 ? "" : plural(n, "pod");
    this.list.show(n, sel?.kind === "pod" && sel.run === this.index ? now.waiting.findIndex((w) => w.pod === sel.row) : -1);
  }

  private reason(i: number): string {
    return this.m.why(this.now!.waiting[i]!.pod, this.m.run.decisions[this.pick]);
  }

  private row(i: number): Node[] {
    const w = this.now!.waiting[i]!;
    const { pods } = this.m.run;
    const [cpu, memory] = this.m.asks(w.pod, this.now!.t);
    const asks = cpu >= 0 ? `${cores(cpu)} CPU, ${gib(memory)}` : "";
    return [
      h("span", { class: "what" }, h("span", { class: "headline" }, pods.name[w.pod]!), h("span", { class: "sub" }, this.reason(i))),
      h("span", { class: "when right" }, `waits ${span(this.now!.t - w.since)}`, h("span", { class: "sub" }, asks)),
    ];
  }
}

/** Selection tells what is known of the thing that was chosen. */
export class Selection {
  readonly el = h("section", { class: "card selection", "aria-label": "Selected", tabindex: -1 });
  private shown = "";

  constructor(
    private readonly models: Model[],
    private readonly store: Store,
  ) {
    this.el.hidden = true;
  }

  show(now: Moment[]): void {
    const sel = this.store.now.selected;
    this.el.hidden = !sel;
    if (!sel) {
      this.shown = "";
      return;
    }
    const m = this.models[sel.run]!;
    const moment = now[sel.run]!;
    const key = `${sel.run} ${sel.kind} ${sel.row} ${moment.t}`;
    if (key === this.shown) return;
    this.shown = key;
    const close = h("button", { type: "button", class: "small", onclick: () => this.store.set({ selected: null }) }, "close");
    const head = (name: string) => h("div", { class: "bar" }, h("h2", null, h("span", { class: "what-kind" }, `${sel.kind} `), name, this.models.length > 1 ? h("span", { class: `run-tag run-${m.name}` }, m.name) : null), close);
    if (sel.kind === "pod") fill(this.el, head(m.run.pods.name[sel.row]!), this.pod(m, sel.row, moment.t));
    else if (sel.kind === "node") fill(this.el, head(m.run.nodes.name[sel.row]!), this.node(m, sel.run, sel.row, moment));
    else if (sel.kind === "workload") {
      const w = m.run.workloads![sel.row]!;
      fill(this.el, head(w.name), facts(workloads.facts(w, at(w.wanted, moment.t), at(w.ready, moment.t))), workloads.story(w, (t, text) => this.jump(t, text)));
    } else fill(this.el, head(m.run.groups[sel.row]!.name), this.group(m, sel.row, moment));
  }

  private jump(t: number, text: string): Node {
    return h("button", { type: "button", class: "link", onclick: () => this.store.set({ t, playing: false }) }, text);
  }

  private pod(m: Model, row: number, t: number): Node[] {
    const { pods, nodes, length, texts, atEnd } = m.run;
    const [cpu, memory] = m.asks(row, t);
    const story = m.story(row);
    const bar = h("div", { class: "life", role: "img", "aria-label": story.map((s) => `${s.node === WAITING ? "waiting" : "on " + (nodes.name[s.node] ?? "a node the report does not name")} from ${offset(s.from)}${s.to < 0 ? "" : " to " + offset(s.to)}`).join(", ") });
    for (const s of story) {
      const part = h("span", { class: s.node === WAITING ? "waits" : "runs" });
      part.style.left = `${(100 * s.from) / length}%`;
      part.style.width = `${(100 * ((s.to < 0 ? length : s.to) - s.from)) / length}%`;
      bar.append(part);
    }
    const end = atEnd.find(([p]) => p === row);
    return [
      facts([["workload", texts[pods.owner[row]!] ?? m.workload[row]!], ["asks for", cpu < 0 ? "unknown: the report does not say" : `${cores(cpu)} CPU, ${gib(memory)} memory`]]), bar,
      h("ol", { class: "story" }, story.map((s) => h("li", null, this.jump(s.from, offset(s.from)),
        s.node === WAITING ? ` without a node${s.to < 0 ? " to the end" : ` for ${span(s.to - s.from)}`}` : ` on ${nodes.name[s.node] ?? "a node the report does not name"}${s.to < 0 ? " to the end" : ` until ${offset(s.to)}`}`))),
      ...(end ? [h("p", { class: "note" }, `The scheduler at the end: ${texts[end[1]]}`)] : []),
    ];
  }

  private node(m: Model, run: number, row: number, now: Moment): Node[] {
    const state = now.nodes.find((n) => n.row === row);
    const d = m.run.decisions[m.nodesAt(now.t)];
    const unremovable = d?.unremovable?.find(([n]) => n === row);
    const said = d?.unneeded?.includes(row) ? "unneeded" : unremovable ? m.run.texts[unremovable[1]]! : "";
    const out: Node[] = [facts([...nodeFacts(m, row, state), ...(said ? [["the autoscaler says", said] as [string, string]] : [])])];
    if (!state) out.push(h("p", { class: "note" }, `It is not there at ${offset(now.t)}. `, this.jump(m.run.nodes.from[row]!, "Go to when it came.")));
    else if (state.pods.length > 0) {
      const size = ([cpu, memory]: [number, number]) => (cpu < 0 ? "unknown size" : `${cores(cpu)} CPU, ${gib(memory)}`);
      out.push(h("ul", { class: "pods" }, state.pods.slice(0, 200).map((p) => h("li", null,
        h("button", { type: "button", class: "link", onclick: () => this.store.set({ selected: { kind: "pod", run, row: p } }) }, m.run.pods.name[p]!),
        h("span", { class: "meta" }, size(m.asks(p, now.t)))))));
    }
    return out;
  }

  private group(m: Model, row: number, now: Moment): Node[] {
    const g = m.run.groups[row]!;
    const list: [string, string][] = [["machine", [g.machine, g.zone].filter(Boolean).join(", ") || "unknown"], ["bounds", `${bounds(g)} nodes${g.guessed ? "; nobody recorded the limit, it is the most nodes seen" : ""}`], ["nodes take", g.delay], ["target size now", String(m.size(row, now.t))]];
    if (g.cost !== undefined) list.push(["cost", `${g.cost.toFixed(4)} ${m.run.currency} for ${(g.hours ?? 0).toFixed(2)} node-hours`]);
    return [facts(list), h("ol", { class: "story" }, g.sizes.t.map((t, i) => h("li", null, this.jump(t, offset(t)), i === 0 ? ` ${g.sizes.v[0]} nodes` : ` ${g.sizes.v[i - 1]} → ${g.sizes.v[i]}`)))];
  }
}

const facts = (list: [string, string][]): Node => h("dl", { class: "facts" }, list.map(([k, v]) => h("div", null, h("dt", null, k), h("dd", null, v))));
