// The charts over time: one axis, one zoom, one cursor. uPlot draws them.

import uPlot from "uplot";
import { clock, fill, h, offset, plural, tidy } from "./dom";
import { at, differing, last, type Model } from "./model";
import type { Curve } from "./data";
import type { Store } from "./store";
import { colour, onTheme, palette } from "./theme";
import { requests, sized } from "./requests";
import { plain, replicas } from "./workloads";

export interface Line {
  name: string;
  curve: Curve;
  colour: string;
  dash?: boolean;
  /** dots is for what goes with a line: the replicas that are ready beside those that are wanted. */
  dots?: boolean;
  /** of is the name of the line this one is beside: they are shown and hidden together. */
  of?: string;
  fill?: string;
  quiet?: boolean;
}

export interface Panel {
  id: string;
  title: string;
  unit: string;
  height: number;
  lines: Line[];
  write: (v: number) => string;
  top?: number;
  marks?: [number, number][];
  markText?: string;
  /** most is the largest value that the axis must show; lines above it leave the chart. */
  most?: number;
  /** band are the numbers of two lines, the upper one first, between which is filled. */
  band?: [number, number];
  signs?: Sign[];
  /** fractions: the axis may have them. */
  fractions?: boolean;
}

/** Sign is something that happened, drawn at the foot of a chart. */
export interface Sign {
  at: number;
  kind: string;
  count: number;
  colour: string;
  hollow?: boolean;
}

interface Drawn {
  panel: Panel;
  plot: uPlot;
  scrub: HTMLElement;
  values: HTMLElement[];
  block: HTMLElement;
}

const shownGroups = 8;
const whole = (v: number) => (Number.isInteger(v) ? String(v) : v.toFixed(2));

/** panelsOf says what is drawn: solid is run A, dashed beside it run B, or what was recorded when there is only one. */
function panelsOf(models: Model[]): Panel[] {
  const [a, b] = models as [Model, Model | undefined];
  const names = [...new Set(models.flatMap((m) => m.run.groups.map((g) => g.name)))];
  const group = (m: Model | undefined, name: string) => m?.run.groups.find((g) => g.name === name);
  const moving = (name: string) => models.some((m) => (group(m, name)?.sizes.t.length ?? 0) > 1 || (group(m, name)?.recorded?.t.length ?? 0) > 1);
  const order = names.filter(moving).concat(names.filter((n) => !moving(n)));
  const recorded = !b && a.run.groups.some((g) => g.recorded);
  const lines: Line[] = [];
  order.forEach((name, i) => {
    const c = palette(names.indexOf(name));
    const quiet = i >= shownGroups;
    const mine = group(a, name)?.sizes;
    if (mine) lines.push({ name, curve: mine, colour: c, quiet });
    const other = b ? group(b, name)?.sizes : group(a, name)?.recorded;
    if (other) lines.push({ name: `${name} ${b ? "B" : "recorded"}`, curve: other, colour: c, dash: true, of: mine ? name : undefined, quiet });
  });
  const side = (m: Model | undefined) => names.map((n) => group(m, n)?.sizes);
  const marks = b ? differing(side(a), side(b), Math.min(a.run.length, b.run.length)) : recorded ? differing(side(a), names.map((n) => group(a, n)?.recorded), a.run.length) : [];
  const both = (name: string, pick: (m: Model) => Curve | undefined, c: string, area?: string): Line[] =>
    models.flatMap((m, i) => {
      const curve = pick(m);
      return curve ? [{ name: i === 0 ? name : `${name} B`, curve, colour: c, dash: i > 0, of: i > 0 ? name : undefined, fill: i === 0 ? area : undefined }] : [];
    });
  const out: Panel[] = [
    { id: "groups", title: "Node groups", unit: "target size, nodes", height: 220, lines, write: whole, marks, markText: b ? "sizes differ between A and B" : "not as recorded" },
    { id: "pending", title: "Pods without a node", unit: "pods", height: 120, lines: both("pods", (m) => m.run.curves.pending, "--pending", "--pending-area"), write: whole },
  ];
  const scaled = replicas(models, shownGroups);
  if (scaled) out.splice(1, 0, scaled);
  const used = [...both("CPU", (m) => m.run.curves.cpu, "--cpu"), ...both("memory", (m) => m.run.curves.memory, "--memory")];
  if (used.length > 0) {
    out.push({ id: "used", title: "Utilisation", unit: "requested of allocatable, %", height: 120, lines: used, write: (v) => (v < 0 ? "?" : `${v.toFixed(v < 10 ? 1 : 0)} %`), top: 100 });
  }
  const cost = both("per hour", (m) => m.run.curves.cost, "--cost", "--cost-area");
  if (cost.length > 0) out.push({ id: "cost", title: "Cost", unit: `${a.run.currency ?? b?.run.currency ?? ""} per hour`, height: 110, lines: cost, write: (v) => v.toFixed(v < 10 ? 3 : 2) });
  return out;
}

/** table joins curves on one axis: each keeps its value until its next point. */
function table(lines: Line[], length: number): uPlot.AlignedData {
  const all = new Set<number>([0, length]);
  for (const l of lines) for (const t of l.curve.t) if (t <= length) all.add(t);
  const xs = [...all].sort((x, y) => x - y);
  const columns = lines.map((l) => {
    let k = -1;
    return xs.map((x) => {
      while (k + 1 < l.curve.t.length && l.curve.t[k + 1]! <= x) k++;
      return k < 0 || l.curve.v[k]! < 0 ? null : l.curve.v[k]!; // below 0: unknown
    });
  });
  return [xs.map((x) => x / 1000), ...columns] as uPlot.AlignedData;
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

export class Charts {
  readonly el: HTMLElement;
  private readonly drawn: Drawn[] = [];
  private readonly length: number;
  private readonly readout = h("span", { class: "readout", "aria-hidden": "true" });
  private hover: number | null = null;
  private syncing = false;
  private readonly sync = uPlot.sync("time");
  /** sized are the workloads whose requests can be drawn, chosen is the one that is. */
  private readonly sized: string[];
  private chosen = "";
  private readonly choice: HTMLSelectElement;

  constructor(
    private readonly models: Model[],
    private readonly store: Store,
    private readonly firstAt: number | null,
    private readonly firstOn: string = "groups",
  ) {
    this.length = store.length;
    this.sized = sized(models);
    this.choice = h("select", { "aria-label": "Workload whose requests are drawn", onchange: () => this.choose(this.choice.value) }, this.sized.map((n) => h("option", { value: n }, plain(n)))) as HTMLSelectElement;
    const zoom = (label: string, text: string, f: () => void) => h("button", { type: "button", class: "small", "aria-label": label, title: label, onclick: f }, text);
    this.el = h("section", { class: "card charts", "aria-labelledby": "h-charts" },
      h("div", { class: "bar" },
        h("h2", { id: "h-charts" }, "Over time"),
        this.readout, this.how(),
        h("div", { class: "tools" },
          zoom("Zoom in around the moment", "+", () => this.zoomBy(0.5)), zoom("Zoom out", "−", () => this.zoomBy(2)),
          zoom("Show all of the time", "all", () => this.zoom(0, this.length)))),
    );
  }

  /** how says what solid and dashed lines are. */
  private how(): Node | null {
    const both = this.models.length > 1;
    if (!both && !this.models[0]!.run.groups.some((g) => g.recorded)) return null;
    return h("span", { class: "how" }, h("span", { class: "swatch" }), both ? "A" : "replayed", h("span", { class: "swatch dash" }), both ? "B" : "recorded");
  }

  /** mount draws; the element must be in the page, because the width counts. */
  mount(): void {
    const panels = panelsOf(this.models);
    panels.forEach((p, i) => {
      this.el.append(this.draw(p, i === panels.length - 1));
      if (p.id === "replicas" && this.sized.length > 0) {
        this.el.append(h("div", { class: "panel-head of-workload", id: "requests" }, h("h3", null, "Requests of ", this.sized.length > 1 ? this.choice : plain(this.sized[0]!))));
        this.choose(this.sized[0]!);
      }
    });
    this.el.append(this.numbers());
    const resize = () => {
      this.drawn.forEach((d) => d.plot.setSize({ width: this.width(), height: d.plot.height }));
      this.place();
    };
    new ResizeObserver(resize).observe(this.el);
    addEventListener("beforeprint", resize);
    onTheme(() => this.drawn.forEach((d) => d.plot.redraw(false)));
    this.store.on((now, before) => {
      const name = now.selected !== before.selected && now.selected?.kind === "workload" ? this.models[now.selected.run]!.run.workloads![now.selected.row]!.name : "";
      if (name && name !== this.chosen && this.sized.includes(name)) this.choose(name);
      this.update();
    });
    this.update();
  }

  /** choose draws the requests of a workload, in place of those of another one. */
  private choose(name: string): void {
    this.chosen = this.choice.value = name;
    const { min, max } = this.drawn[0]!.plot.scales.x!;
    for (const d of this.drawn.filter((d) => d.panel.id.startsWith("requests-"))) {
      this.sync.unsub(d.plot);
      d.plot.destroy();
      d.block.remove();
      this.drawn.splice(this.drawn.indexOf(d), 1);
    }
    let after = this.el.querySelector("#requests")!;
    for (const p of requests(this.models, name)) {
      const block = this.draw(p, false);
      after.after(block);
      after = block;
      const plot = this.drawn[this.drawn.length - 1]!.plot;
      if (min != null && max != null) plot.setScale("x", { min, max });
    }
    this.update();
  }

  private width(): number {
    const style = getComputedStyle(this.el);
    return Math.max(200, this.el.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight));
  }

  /** draw makes a chart, to be put into the page. */
  private draw(panel: Panel, lowest: boolean): HTMLElement {
    const values: HTMLElement[] = [];
    const legend = h("div", { class: "legend", role: "group", "aria-label": `Lines of ${panel.title}` });
    const holder = h("div", { class: "plot", role: "img", "aria-label": this.describe(panel) });
    holder.style.height = `${panel.height + (lowest ? 26 : 0)}px`;
    const block = h("div", { class: "panel", id: `chart-${panel.id}` }, h("div", { class: "panel-head" }, h("h3", null, panel.title, h("span", { class: "unit" }, panel.unit)), legend), holder);

    const axis = { stroke: () => colour("--quiet"), grid: { stroke: () => colour("--grid"), width: 1 }, ticks: { show: false }, font: '11px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif' };
    const plot = new uPlot({
      width: this.width(), height: panel.height + (lowest ? 26 : 0), padding: [8, 26, 0, 0], legend: { show: false }, pxAlign: 1,
      cursor: { sync: { key: this.sync.key, setSeries: false }, drag: { x: true, y: false, dist: 6 }, points: { size: 7 } },
      scales: { x: { time: false, min: 0, max: this.length / 1000 }, y: { range: (_u, _min, max) => panel.most !== undefined ? [0, Math.max(panel.most, 0.01) * 1.2] : [0, panel.top && max <= panel.top ? panel.top : Math.max(1, (max ?? 0) * 1.12)] } },
      axes: [
        { ...axis, size: lowest ? 26 : 4, incrs: steps, space: 70, values: (_u, list) => (lowest ? list.map((v) => tidy(v * 1000)) : list.map(() => "")) },
        { ...axis, size: 46, space: 26, incrs: ["groups", "replicas", "pending"].includes(panel.id) ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000] : undefined,
          values: (_u, list) => list.map((v) => (panel.id === "used" ? `${v} %` : v.toLocaleString("en"))) },
      ],
      series: [{}, ...panel.lines.map((l): uPlot.Series => ({
        label: l.name, stroke: () => colour(l.colour), width: l.dots ? 1.5 : l.dash ? 1.75 : 2, dash: l.dots ? [2, 3] : l.dash ? [6, 4] : undefined, show: !l.quiet,
        fill: l.fill ? () => colour(l.fill!) : undefined, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: false },
      }))],
      bands: panel.band ? [{ series: panel.band, fill: () => colour("--recommended-area") }] : undefined,
      hooks: {
        drawClear: [(u) => this.bands(u, panel)],
        draw: [(u) => this.firstLine(u, panel), (u) => this.signs(u, panel)],
        setCursor: [(u) => this.hovered(u)],
        setScale: [(u, key) => this.scaled(u, key)],
      },
    }, table(panel.lines, this.length), holder);
    this.sync.sub(plot);
    const scrub = h("div", { class: "scrub-line" });
    plot.over.append(scrub);
    this.clicks(plot);

    const buttons = new Map<string, HTMLButtonElement>();
    panel.lines.forEach((l, i) => {
      const value = h("span", { class: "value" });
      values.push(value);
      const swatch = h("span", { class: l.dots ? "swatch dots" : l.dash ? "swatch dash" : "swatch", style: { "--line": `var(${l.colour})` } });
      const beside = l.of ? buttons.get(l.of) : undefined;
      if (beside) {
        beside.append(swatch, value);
        beside.dataset.lines += ` ${i + 1}`;
        return;
      }
      const b = h("button", { type: "button", class: "key", "aria-pressed": l.quiet ? "false" : "true", "data-lines": i + 1, onclick: () => {
        const on = b.getAttribute("aria-pressed") !== "true";
        b.setAttribute("aria-pressed", String(on));
        for (const n of b.dataset.lines!.split(" ")) plot.setSeries(Number(n), { show: on });
      } }, swatch, h("span", { class: "name" }, l.name.replace(/ (B|recorded)$/, "")), value);
      buttons.set(l.name, b);
      legend.append(b);
    });
    const quiet = [...buttons.values()].filter((b) => b.getAttribute("aria-pressed") === "false");
    if (quiet.length > 0) {
      const more = h("details", { class: "more-keys" }, h("summary", null, `${quiet.length} more`), quiet);
      legend.append(more);
    }
    if (panel.marks?.length) legend.append(h("span", { class: "key band-key" }, h("span", { class: "swatch band" }), panel.markText));
    for (const [kind, sign] of new Map((panel.signs ?? []).map((s) => [s.kind, s]))) {
      const count = panel.signs!.filter((s) => s.kind === kind).reduce((n, s) => n + s.count, 0);
      legend.append(h("span", { class: "key sign-key" }, h("span", { class: sign.hollow ? "sign hollow" : "sign", style: { "--line": `var(${sign.colour})` } }), kind, h("span", { class: "value" }, String(count))));
    }
    this.drawn.push({ panel, plot, scrub, values, block });
    return block;
  }

  /** signs are triangles at the foot of a chart. */
  private signs(u: uPlot, panel: Panel): void {
    const { ctx, bbox } = u;
    const px = devicePixelRatio;
    ctx.save();
    ctx.lineWidth = 1.25 * px;
    for (const s of panel.signs ?? []) {
      const x = u.valToPos(s.at / 1000, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      const foot = bbox.top + bbox.height - (s.hollow ? 10 : 1) * px;
      ctx.strokeStyle = ctx.fillStyle = colour(s.colour);
      ctx.beginPath();
      ctx.moveTo(x, foot - 8 * px);
      ctx.lineTo(x - 4 * px, foot);
      ctx.lineTo(x + 4 * px, foot);
      ctx.closePath();
      if (s.hollow) ctx.stroke();
      else ctx.fill();
    }
    ctx.restore();
  }

  private clicks(plot: uPlot): void {
    let down = NaN;
    plot.over.addEventListener("mousedown", (e) => (down = e.clientX));
    plot.over.addEventListener("mouseup", (e) => {
      if (Math.abs(e.clientX - down) > 4) return;
      const x = e.clientX - plot.over.getBoundingClientRect().left;
      this.store.set({ t: Math.round(plot.posToVal(x, "x") * 1000), playing: false });
    });
    plot.over.addEventListener("dblclick", () => this.zoom(0, this.length));
  }

  private bands(u: uPlot, panel: Panel): void {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.fillStyle = colour("--differs");
    for (const [from, to] of panel.marks ?? []) {
      const x0 = u.valToPos(from / 1000, "x", true);
      const x1 = Math.max(x0 + 2, u.valToPos(to / 1000, "x", true));
      ctx.fillRect(x0, bbox.top, x1 - x0, bbox.height);
    }
    ctx.restore();
  }

  private firstLine(u: uPlot, panel: Panel): void {
    if (this.firstAt === null || panel.id !== this.firstOn) return;
    const x = u.valToPos(this.firstAt / 1000, "x", true);
    const { ctx, bbox } = u;
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    const px = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = colour("--bad");
    ctx.lineWidth = px;
    ctx.setLineDash([2 * px, 3 * px]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.font = `600 ${11 * px}px system-ui, sans-serif`;
    const text = "first difference";
    const left = x + ctx.measureText(text).width + 8 * px < bbox.left + bbox.width;
    ctx.textAlign = left ? "left" : "right";
    ctx.fillText(text, x + (left ? 5 : -5) * px, bbox.top + 11 * px);
    ctx.restore();
  }

  private hovered(u: uPlot): void {
    const on = (u.cursor.left ?? -1) >= 0;
    const t = on ? u.posToVal(u.cursor.left!, "x") * 1000 : null;
    if (t === this.hover) return;
    this.hover = t;
    this.legends();
  }

  private scaled(u: uPlot, key: string): void {
    if (key !== "x" || this.syncing) return;
    this.syncing = true;
    const { min, max } = u.scales.x!;
    for (const d of this.drawn) if (d.plot !== u && min != null && max != null) d.plot.setScale("x", { min, max });
    this.syncing = false;
    this.place();
  }

  /** zoom shows the time from one moment to another. */
  private zoom(from: number, to: number): void {
    const first = this.drawn[0];
    if (first) first.plot.setScale("x", { min: from / 1000, max: to / 1000 });
  }

  private zoomBy(factor: number): void {
    const { min = 0, max = 0 } = this.drawn[0]?.plot.scales.x ?? {};
    const wide = Math.min(this.length, Math.max(1000, ((max ?? 0) - (min ?? 0)) * 1000 * factor));
    const from = Math.min(this.length - wide, Math.max(0, this.store.now.t - wide / 2));
    this.zoom(from, from + wide);
  }

  private update(): void {
    this.place();
    if (this.hover === null) this.legends();
  }

  private place(): void {
    for (const d of this.drawn) {
      const x = d.plot.valToPos(this.store.now.t / 1000, "x");
      const inside = x >= -1 && x <= d.plot.bbox.width / devicePixelRatio + 1;
      d.scrub.hidden = !inside;
      if (inside) d.scrub.style.transform = `translateX(${x}px)`;
    }
  }

  /** legends writes the values under the pointer, or at the moment. */
  private legends(): void {
    const t = this.hover ?? this.store.now.t;
    this.readout.textContent = this.hover === null ? `at ${offset(Math.round(t))}` : `under the pointer: ${offset(Math.round(t / 1000) * 1000)}`;
    for (const d of this.drawn) d.panel.lines.forEach((l, i) => (d.values[i]!.textContent = d.panel.write(at(l.curve, t))));
  }

  private describe(p: Panel): string {
    const lines = p.lines.slice(0, 8).map((l) => {
      const peak = l.curve.v.reduce((x, y) => Math.max(x, y), 0);
      return `${l.name} from ${p.write(l.curve.v[0] ?? 0)} to ${p.write(l.curve.v[l.curve.v.length - 1] ?? 0)}, at most ${p.write(peak)}`;
    });
    for (const kind of new Set((p.signs ?? []).map((s) => s.kind))) lines.push(`${plural(p.signs!.filter((s) => s.kind === kind).reduce((n, s) => n + s.count, 0), "pod")} ${kind}`);
    const more = p.lines.length > 8 ? `; and ${plural(p.lines.length - 8, "more line")}` : "";
    return `${p.title} (${p.unit}) over ${offset(this.length).slice(1)}: ${lines.join("; ")}${more}. The numbers are in the table below the charts.`;
  }

  /** numbers is what the charts show, as a table; it is made when somebody opens it. */
  private numbers(): HTMLElement {
    const holder = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Numbers of the charts" });
    const details = h("details", { class: "numbers" }, h("summary", null, "The charts as a table"), holder);
    let made: string | null = null;
    details.addEventListener("toggle", () => {
      const panels = this.drawn.map((d) => d.panel);
      if (!details.open || made === this.chosen) return;
      made = this.chosen;
      const lines = panels.flatMap((p) => p.lines.map((l) => ({ p, l })));
      const moments = [...new Set(lines.flatMap(({ l }) => l.curve.t))].sort((x, y) => x - y);
      const most = 500;
      const rows = moments.length <= most ? moments : moments.filter((_, i) => Math.floor((i * most) / moments.length) !== Math.floor(((i - 1) * most) / moments.length));
      const start = this.models[0]!.run.start;
      fill(holder,
        rows.length < moments.length ? h("p", { class: "note" }, `${rows.length} of ${moments.length.toLocaleString("en")} moments at which something changes.`) : null,
        h("table", null,
          h("thead", null, h("tr", null, h("th", { scope: "col" }, "time"), lines.map(({ p, l }) => h("th", { scope: "col", class: "n" }, `${p.id === "groups" ? "" : p.title + ", "}${l.name}`)))),
          h("tbody", null, rows.map((t) => h("tr", null, h("th", { scope: "row", title: clock(start, t) }, offset(t)), lines.map(({ p, l }) => h("td", { class: "n" }, last(l.curve.t, t) < 0 ? "" : p.write(at(l.curve, t)))))))));
    });
    return details;
  }
}
