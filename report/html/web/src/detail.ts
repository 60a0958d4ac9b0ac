// What the autoscaler saw and chose in one loop: every group with its verdict, every node it looked at.

import { fill, h, icon, offset, plural, span } from "./dom";
import type { Decision } from "./data";
import { headline, outcome, type Model } from "./model";
import type { Store } from "./store";
import * as workloads from "./workloads";

const many = 12;

export class Detail {
  readonly el: HTMLElement;
  private readonly body = h("div", { class: "detail-body" });
  private shown = -2;

  constructor(
    private readonly m: Model,
    private readonly index: number,
    private readonly store: Store,
    title: string,
    private readonly firstDiffers: number,
  ) {
    const id = `h-detail-${m.name}`;
    this.el = h("section", { class: "card detail", "aria-labelledby": id }, h("div", { class: "bar" }, h("h2", { id }, title)), this.body);
  }

  show(i: number): void {
    if (i === this.shown) return;
    this.shown = i;
    const d = this.m.run.decisions[i];
    if (!d) {
      fill(this.body, h("p", { class: "empty" }, this.m.run.decisions.length === 0 ? "No loop of the autoscaler mattered in this replay." : "The autoscaler has not decided anything yet."));
      return;
    }
    if (d.by) {
      fill(this.body, this.head(d, i === this.firstDiffers), workloads.detail(d));
      return;
    }
    fill(this.body, this.head(d, i === this.firstDiffers), this.saw(d), this.groups(d), this.nodes(d), this.notes(d));
  }

  private head(d: Decision, first: boolean): Node {
    return h("div", { class: `verdict-line ${d.kind}` }, icon(d.kind, d.kind), h("div", null,
      h("p", { class: "headline" }, headline(this.m, d), first ? h("span", { class: "badge bad" }, "first difference") : null),
      h("p", { class: "meta" }, `${outcome(d)} · ${d.by ?? (d.outcome === undefined ? "between loops" : "loop " + d.loop)} at ${offset(d.at)}`)));
  }

  private saw(d: Decision): Node | null {
    const items: Node[] = [];
    const { pods } = this.m.run;
    if (d.short?.length) items.push(h("li", null, `${plural(d.short.length, "pod")} without room: `, this.names(d.short, "pod", (p) => pods.name[p]!)));
    if (d.fit) items.push(h("li", null, `${plural(d.fit, "pod")} that ${d.fit === 1 ? "fits" : "fit"} on nodes that are there or coming`));
    const coming = Object.entries(d.upcoming ?? {});
    if (coming.length > 0) items.push(h("li", null, `on their way: ${coming.map(([g, n]) => `${n} of ${g}`).join(", ")}`));
    if (d.awaiting) items.push(h("li", null, `${plural(d.awaiting, "pod")} that another group could have helped`));
    if (d.helpless) items.push(h("li", null, `${plural(d.helpless, "pod")} that no group can help`));
    if (items.length === 0) return null;
    return h("div", { class: "part" }, h("h3", null, "Saw"), h("ul", { class: "plain" }, items));
  }

  /** names lists pods or nodes as buttons, the first of many. */
  private names(rows: number[], kind: "pod" | "node", name: (row: number) => string): Node {
    const button = (row: number) => h("button", { type: "button", class: "chip", onclick: () => this.store.set({ selected: { kind, run: this.index, row } }) }, name(row));
    const out = h("span", { class: "chips" }, rows.slice(0, many).map(button));
    if (rows.length > many) {
      const more = h("button", { type: "button", class: "chip more", onclick: () => {
        more.remove();
        out.append(...rows.slice(many, 500).map(button), rows.length > 500 ? `and ${rows.length - 500} more` : "");
      } }, `${rows.length - many} more`);
      out.append(more);
    }
    return out;
  }

  /** groups is one table of every group that was weighed or left out, with why. */
  private groups(d: Decision): Node | null {
    const { texts } = this.m.run;
    type Line = { group: string; verdict: string; cls: string; nodes: string; pods: string; score: string; reason: string };
    const lines: Line[] = [];
    const granted = new Map((d.ups ?? []).map((u) => [u.group, u]));
    const scores = [...new Set((d.options ?? []).flatMap((o) => Object.keys(o.scores ?? {})))].sort();
    for (const o of d.options ?? []) {
      lines.push({ group: o.group, verdict: o.chosen ? "chosen" : "not chosen", cls: o.chosen ? "chosen" : "", nodes: `+${o.nodes}`, pods: String(o.pods),
        score: scores.map((s) => (o.scores?.[s] === undefined ? "" : trim(o.scores[s]))).join(" / "),
        reason: [o.reason, o.similar?.length ? `shared with ${o.similar.join(", ")}` : ""].filter(Boolean).join("; ") });
    }
    for (const u of d.ups ?? []) if (!lines.some((l) => l.group === u.group)) lines.push({ group: u.group, verdict: "grew", cls: "chosen", nodes: `+${u.to - u.from}`, pods: "", score: "", reason: "balanced with a similar group" });
    for (const f of d.failed ?? []) lines.push({ group: f.group, verdict: "refused", cls: "bad", nodes: `+${f.to}`, pods: "", score: "", reason: f.reason ?? "" });
    for (const [g, r] of d.rejected ?? []) lines.push({ group: texts[g]!, verdict: "rejected", cls: "left", nodes: "", pods: "", score: "", reason: texts[r]! });
    for (const [g, r] of d.skipped ?? []) lines.push({ group: texts[g]!, verdict: "skipped", cls: "left", nodes: "", pods: "", score: "", reason: texts[r]! });
    for (const b of d.backoff ?? []) lines.push({ group: b.group, verdict: "backed off", cls: "bad", nodes: "", pods: "", score: "", reason: `until ${offset(b.until)}: ${b.reason}` });
    if (lines.length === 0) return null;
    lines.sort((a, b) => Number(b.cls === "chosen") - Number(a.cls === "chosen"));
    const scored = scores.length > 0;
    const why = (group: string, reason: string) => {
      const g = granted.get(group);
      return [g ? `${g.from} → ${g.to} of at most ${g.max}` : "", reason].filter(Boolean).join(" · ");
    };
    return h("div", { class: "part" }, h("h3", null, "Weighed"), h("table", { class: scored ? "weighed scored" : "weighed", role: "table" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, h("th", { scope: "col", role: "columnheader" }, "group"), h("th", { scope: "col", role: "columnheader" }, "verdict"), h("th", { scope: "col", role: "columnheader", class: "n" }, "nodes"), h("th", { scope: "col", role: "columnheader", class: "n" }, "pods"),
        scored ? h("th", { scope: "col", role: "columnheader", class: "n" }, scores.join(" / ")) : null, h("th", { scope: "col", role: "columnheader", class: "hidden" }, "why"))),
      h("tbody", { role: "rowgroup" }, lines.map((l) => h("tr", { class: l.cls, role: "row" },
        h("th", { scope: "row", role: "rowheader" }, l.group),
        h("td", { role: "cell" }, h("span", { class: `badge ${l.cls}` }, l.cls === "chosen" ? icon("check") : null, l.verdict)),
        h("td", { class: "n", role: "cell" }, l.nodes), h("td", { class: "n", role: "cell" }, l.pods), scored ? h("td", { class: "n", role: "cell" }, l.score) : null,
        h("td", { class: "why", role: "cell" }, why(l.group, l.reason)))))));
  }

  private nodes(d: Decision): Node | null {
    const { nodes, texts, pods } = this.m.run;
    const items: Node[] = [];
    const node = (row: number) => nodes.name[row]!;
    for (const x of d.deleting ?? []) {
      items.push(h("li", null, h("span", { class: "badge down" }, "removing"), " ", this.names([x.node], "node", node),
        ` unneeded for ${span(d.at - x.since)}, ${(100 * x.used).toFixed(0)} % utilised, ${x.pods?.length ? "moves " : "empty"}`, x.pods?.length ? this.names(x.pods, "pod", (p) => pods.name[p]!) : null));
    }
    for (const s of d.downs ?? []) {
      items.push(h("li", null, h("span", { class: "badge down" }, "gone"), " ", s.node >= 0 ? this.names([s.node], "node", node) : null, ` ${s.group} ${s.from} → ${s.to}`, s.reason ? `: ${s.reason}` : ""));
    }
    if (d.unneeded?.length) items.push(h("li", null, h("span", { class: "badge" }, "unneeded"), " ", this.names(d.unneeded, "node", node)));
    // Nodes are unremovable for few kinds of reasons; what follows the colon is each node's own.
    const unremovable = new Map<string, { rows: number[]; own: Map<number, string> }>();
    for (const [n, r] of d.unremovable ?? []) {
      const [code = "", ...rest] = texts[r]!.split(": ");
      const again = code === "RecentlyUnremovable" && rest.length > 0;
      const kind = again ? rest.shift()! : code;
      const list = unremovable.get(kind) ?? { rows: [], own: new Map<number, string>() };
      list.rows.push(n);
      list.own.set(n, rest.join(": "));
      unremovable.set(kind, list);
    }
    for (const [code, { rows, own }] of [...unremovable].sort((a, b) => b[1].rows.length - a[1].rows.length || (a[0] < b[0] ? -1 : 1))) {
      const name = (n: number) => (own.get(n) ? `${node(n)} · ${own.get(n)}` : node(n));
      items.push(h("li", null, h("span", { class: "badge left" }, "unremovable"), ` ${code}`, rows.length > 1 ? h("span", { class: "meta" }, `, ${plural(rows.length, "node")}`) : null, " ", this.names(rows, "node", name)));
    }
    if (items.length === 0) return null;
    return h("div", { class: "part" }, h("h3", null, "Nodes"), h("ul", { class: "plain" }, items));
  }

  private notes(d: Decision): Node | null {
    if (!d.notes?.length) return null;
    return h("div", { class: "part" }, h("h3", null, "Notes"), h("ul", { class: "plain" }, d.notes.map((n) => h("li", null, n))));
  }
}

const trim = (v: number): string => String(+v.toFixed(4));
