// The cluster at a moment: a box for each node, filled by its pods. Boxes are buttons, so that keyboards and screen readers reach
// them; only what changed since the last moment is drawn again.

import { cores, fill, gib, h, offset, plural, short } from "./dom";
import { bounds, type Model, type Moment, type NodeState } from "./model";
import type { Store } from "./store";
import { palette } from "./theme";

/** A group or a cluster with more nodes than this has small boxes, and of very many only the first are drawn. */
const small = 40;
const smallCluster = 120;
const most = 600;

interface GroupBox {
  key: string;
  el: HTMLElement;
  head: HTMLElement;
  grid: HTMLElement;
  rest: HTMLElement;
  boxes: Map<number, Box>;
  coming: HTMLElement[];
}

interface Box {
  el: HTMLButtonElement;
  drawn: string;
}

export class Cluster {
  readonly el: HTMLElement;
  private readonly body = h("div", { class: "groups" });
  private readonly sum = h("p", { class: "sum" });
  private readonly legend = h("ul", { class: "owners", "aria-label": "Workloads" });
  private readonly groups = new Map<string, GroupBox>();

  constructor(
    private readonly m: Model,
    private readonly index: number,
    private readonly store: Store,
    title: string,
  ) {
    const id = `h-cluster-${m.name}`;
    this.el = h("section", { class: "card cluster", "aria-labelledby": id }, h("div", { class: "bar" }, h("h2", { id }, title), this.sum), this.body, this.legend);
    const shown = [...m.workloads].slice(0, 8);
    const more = m.workloads.size - shown.length;
    fill(this.legend,
      shown.map(([o, i]) => h("li", null, h("span", { class: "dot", style: { background: `var(${palette(i)})` } }), o)),
      more > 0 ? h("li", null, `and ${plural(more, "more workload")}`) : null,
      m.run.pods.cpu.some((c) => c < 0) ? h("li", null, h("span", { class: "dot", style: { background: "var(--unknown)" } }), "of unknown size") : null,
      m.run.pods.follows.some((f) => f) ? h("li", null, h("span", { class: "dot", style: { background: "var(--daemon)" } }), "DaemonSets") : null);
  }

  show(now: Moment): void {
    const { run } = this.m;
    const coming = run.groups.reduce((n, _, g) => n + this.coming(now, g), 0);
    this.sum.textContent = [
      plural(now.nodes.length, "node"), coming > 0 ? `${coming} coming` : "", plural(now.running, "pod") + " running",
      now.waiting.length > 0 ? `${now.waiting.length} without a node` : "none waiting",
    ].filter(Boolean).join(" · ");
    const order = run.groups.map((_, g) => g);
    if (now.byGroup.has(-1)) order.push(-1);
    order.forEach((g) => this.group(g, now));
    const outside = this.groups.get("-1");
    if (outside) outside.el.hidden = !now.byGroup.has(-1);
  }

  /** coming counts the nodes a group was asked for that are not there yet, those that never come included. */
  private coming(now: Moment, g: number): number {
    const { nodes } = this.m.run;
    let asked = 0;
    for (let row = 0; row < nodes.name.length; row++) {
      if (nodes.group[row] === g && nodes.asked[row]! >= 0 && nodes.asked[row]! <= now.t && nodes.from[row]! > now.t) asked++;
    }
    return Math.max(asked, this.m.size(g, now.t) - (now.byGroup.get(g)?.length ?? 0), 0);
  }

  private group(g: number, now: Moment): void {
    const { run } = this.m;
    let box = this.groups.get(String(g));
    if (!box) {
      const head = h("div", { class: "group-head" });
      const grid = h("div", { class: "nodes" });
      const rest = h("p", { class: "note" });
      const name = g < 0 ? "outside every group" : run.groups[g]!.name;
      const el = h("div", { class: "group", role: "group", "aria-label": `Nodes: ${name}` }, head, grid, rest);
      box = { key: String(g), el, head, grid, rest, boxes: new Map(), coming: [] };
      this.groups.set(box.key, box);
      this.body.append(el);
    }
    const nodes = now.byGroup.get(g) ?? [];
    const info = run.groups[g];
    const target = info ? this.m.size(g, now.t) : nodes.length;
    const coming = info ? this.coming(now, g) : 0;
    fill(box.head,
      h("h3", null, info ? h("button", { type: "button", class: "link", onclick: () => this.store.set({ selected: { kind: "group", run: this.index, row: g } }) }, info.name) : "outside every group"),
      h("span", { class: "meta" }, [info?.machine, info?.zone].filter(Boolean).join(" · ")),
      h("span", { class: "meta size" }, info ? `${nodes.length} of target ${target}, bounds ${bounds(info)}` : plural(nodes.length, "node")));
    box.el.classList.toggle("empty-group", nodes.length === 0 && coming === 0);
    const tiny = nodes.length + coming > small || now.nodes.length > smallCluster;
    box.grid.classList.toggle("small", tiny);
    const seen = new Set<number>();
    const shown = nodes.slice(0, most);
    let before: Element | null = null;
    for (const n of shown) {
      seen.add(n.row);
      let b = box.boxes.get(n.row);
      if (!b) {
        b = { el: h("button", { type: "button", class: "node", "data-node": n.row, onclick: () => this.store.set({ selected: { kind: "node", run: this.index, row: n.row } }) }), drawn: "" };
        box.boxes.set(n.row, b);
      }
      const at: Element | null = before ? before.nextElementSibling : box.grid.firstElementChild;
      if (at !== b.el) box.grid.insertBefore(b.el, at);
      before = b.el;
      this.fillBox(b, n, tiny);
    }
    for (const [row, b] of box.boxes) {
      if (!seen.has(row)) {
        b.el.remove();
        box.boxes.delete(row);
      }
    }
    const wanted = Math.min(coming, most);
    while (box.coming.length > wanted) box.coming.pop()!.remove();
    while (box.coming.length < wanted) box.coming.push(h("div", { class: "node coming" }, h("span", { class: "node-name" }, "coming")));
    for (const el of box.coming) box.grid.append(el);
    box.rest.hidden = nodes.length <= most && (nodes.length + coming > 0);
    box.rest.textContent = nodes.length > most ? `and ${plural(nodes.length - most, "more node")}` : "no nodes";
  }

  /** fillBox draws a node again if its pods or its state changed. */
  private fillBox(b: Box, n: NodeState, tiny: boolean): void {
    const sel = this.store.now.selected;
    const on = sel?.kind === "node" && sel.run === this.index && sel.row === n.row;
    const marked = sel?.kind === "pod" && sel.run === this.index && n.pods.includes(sel.row) ? sel.row : -1;
    const key = `${tiny}|${on}|${marked}|${n.leaving}|${n.unneeded}|${n.pods.join()}`;
    if (b.drawn === key) return;
    b.drawn = key;
    const { nodes } = this.m.run;
    const cpu = share(n.cpu, nodes.cpu[n.row]!);
    const memory = share(n.memory, nodes.memory[n.row]!);
    const state = n.leaving ? "leaving" : n.unneeded ? "unneeded" : "";
    b.el.className = `node ${state} ${on || marked >= 0 ? "on" : ""}`;
    const name = nodes.name[n.row]!;
    const said = [name, state, plural(n.pods.length, "pod"), cpu >= 0 ? `CPU ${cpu} % of ${cores(nodes.cpu[n.row]!)} cores` : "", memory >= 0 ? `memory ${memory} % of ${gib(nodes.memory[n.row]!)}` : "", n.unknown > 0 ? `${n.unknown} of unknown size` : ""].filter(Boolean).join(", ");
    b.el.title = said;
    if (tiny) {
      b.el.setAttribute("aria-label", said);
      const bar = h("span", { class: "bar-cpu tall" });
      bar.style.background = this.segments(n, "cpu", marked, "to top");
      fill(b.el, bar);
      return;
    }
    b.el.removeAttribute("aria-label");
    const cpuBar = h("span", { class: "bar-cpu" });
    cpuBar.style.background = this.segments(n, "cpu", marked, "to right");
    const memoryBar = h("span", { class: "bar-memory" });
    memoryBar.style.background = this.segments(n, "memory", marked, "to right");
    fill(b.el,
      h("span", { class: "node-name" }, short(name)), state ? h("span", { class: "flag" }, state) : null,
      cpuBar, memoryBar,
      h("span", { class: "node-foot" }, h("span", null, plural(n.pods.length, "pod")), cpu >= 0 ? h("span", null, h("span", { class: "hidden" }, ", CPU "), `${cpu} %`) : null));
  }

  /** segments paints the pods of a node beside each other, each as wide as what it asks for. A pod of unknown size is a hatched sliver. */
  private segments(n: NodeState, what: "cpu" | "memory", marked: number, to: string): string {
    const { run } = this.m;
    const whole = run.nodes[what][n.row]!;
    const stops: string[] = [];
    let from = 0;
    for (const p of n.pods) {
      const asks = run.pods[what][p]!;
      const wide = whole > 0 && asks >= 0 ? Math.max(asks > 0 ? 0.6 : 0, (100 * asks) / whole) : 4;
      const until = Math.min(100, from + wide);
      if (until <= from) continue;
      const line = Math.min(until, from + Math.min(0.8, wide / 3));
      const c = p === marked ? "var(--marked)" : run.pods.follows[p] ? "var(--daemon)" : asks < 0 ? "var(--unknown)" : `var(${palette(this.m.rank(p))})`;
      stops.push(`var(--box) ${from.toFixed(2)}% ${line.toFixed(2)}%`, `${c} ${line.toFixed(2)}% ${until.toFixed(2)}%`);
      from = until;
    }
    stops.push(`var(--free) ${from.toFixed(2)}% 100%`);
    return `linear-gradient(${to}, ${stops.join(", ")})`;
  }
}

/** share is used of whole in percent, -1 when the whole is unknown. */
export const share = (used: number, whole: number): number => (whole > 0 ? Math.round((100 * used) / whole) : -1);

/** nodeFacts are what a panel says about a node at a moment. */
export function nodeFacts(m: Model, row: number, state: NodeState | undefined): [string, string][] {
  const { nodes, groups } = m.run;
  const g = groups[nodes.group[row]!];
  const out: [string, string][] = [["node group", g?.name ?? "none"]];
  if (nodes.asked[row]! >= 0) out.push(["asked for", offset(nodes.asked[row]!)], ["ready", `${offset(nodes.from[row]!)}`]);
  else out.push(["there since", nodes.from[row] === 0 ? "the start" : offset(nodes.from[row]!)]);
  if (nodes.to[row]! >= 0) out.push(["gone", offset(nodes.to[row]!)]);
  if (state && nodes.cpu[row]! > 0) {
    out.push(["CPU requested", `${cores(state.cpu)} of ${cores(nodes.cpu[row]!)} cores, ${share(state.cpu, nodes.cpu[row]!)} %`]);
    out.push(["memory requested", `${gib(state.memory)} of ${gib(nodes.memory[row]!)}, ${share(state.memory, nodes.memory[row]!)} %`]);
  }
  return out;
}
