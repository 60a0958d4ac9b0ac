// The moment that everything else shows: a slider with a mark for each decision, and a button that lets time run.

import { clock, fill, h, icon, offset } from "./dom";
import { acted, headline, last, type Model } from "./model";
import type { Kind } from "./data";
import type { Store } from "./store";
import { colour, onTheme } from "./theme";

const calm = matchMedia("(prefers-reduced-motion: reduce)");
const kinds: Kind[] = ["none", "stuck", "down", "up", "failed"];

export class Scrubber {
  readonly el: HTMLElement;
  private readonly slider: HTMLInputElement;
  private readonly time = h("span", { class: "time" });
  private readonly date = h("span", { class: "date" });
  private readonly says = h("span", { class: "says" });
  private readonly live = h("p", { class: "hidden", "aria-live": "polite", id: "live" });
  private readonly playButton: HTMLButtonElement;
  private readonly speed: HTMLSelectElement;
  private readonly ticks = h("canvas", { class: "ticks", "aria-hidden": "true" });
  private readonly moments: number[];
  /** stops are the decisions that did something, of all runs in the order of time. */
  private readonly stops: { t: number; run: number; i: number }[];
  private timer = 0;
  private telling = 0;

  constructor(
    private readonly models: Model[],
    private readonly store: Store,
  ) {
    this.moments = models.length === 1 ? models[0]!.moments : [...new Set(models.flatMap((m) => m.moments))].sort((a, b) => a - b);
    this.stops = models.flatMap((m, run) => m.run.decisions.flatMap((d, i) => (acted(d) ? [{ t: d.at, run, i }] : []))).sort((a, b) => a.t - b.t || a.run - b.run || a.i - b.i);
    this.slider = h("input", { type: "range", id: "moment", min: 0, max: store.length, step: 1, value: 0, "aria-label": "Moment of the replay" });
    this.slider.addEventListener("input", () => store.set({ t: Number(this.slider.value), playing: false }));
    this.slider.addEventListener("keydown", (e) => this.key(e));
    this.playButton = h("button", { type: "button", class: "round", "aria-label": "Play", title: "Play (space)", onclick: () => store.set({ playing: !store.now.playing, t: store.now.t >= store.length ? 0 : store.now.t }) }, icon("play"));
    this.speed = h("select", { "aria-label": "How long playing the whole replay takes", title: "How long playing the whole replay takes" },
      [["60", "in 1 min"], ["30", "in 30 s"], ["15", "in 15 s"]].map(([v, text]) => h("option", { value: v, selected: v === "30" }, text)));
    const jump = (name: string, label: string, by: 1 | -1) => h("button", { type: "button", class: "round quiet", "aria-label": label, title: label, onclick: () => this.jump(by) }, icon(name));
    this.el = h("section", { class: "scrubber", "aria-label": "Moment" },
      h("div", { class: "controls" },
        jump("prev", "To the action before", -1), this.playButton, jump("next", "To the next action", 1), this.speed),
      h("div", { class: "track" }, this.ticks, this.slider),
      h("p", { class: "now" }, this.time, this.date, this.says), this.live);
    store.on((now, before) => this.update(now.playing !== before.playing));
    onTheme(() => this.paint());
    document.addEventListener("keydown", (e) => this.global(e));
  }

  mount(): void {
    new ResizeObserver(() => this.paint()).observe(this.el);
    this.paint();
    this.update(true);
  }

  /** jump goes to the next action, or the one before; several at one instant are taken one by one. */
  private jump(by: 1 | -1): void {
    const { t, pick, pickRun } = this.store.now;
    const shown = pick >= 0 ? pick : this.models[0]!.decisionAt(t);
    const here = this.stops.findIndex((s) => s.t === t && s.run === (pick >= 0 ? pickRun : 0) && s.i === shown);
    const next = here >= 0 ? here + by : by > 0 ? this.stops.findIndex((s) => s.t > t) : this.stops.findLastIndex((s) => s.t < t);
    const to = this.stops[next];
    this.store.set(to ? { t: to.t, pick: to.i, pickRun: to.run, playing: false } : { t: by > 0 ? this.store.length : 0, playing: false });
  }

  /** neighbour is the next (or the last) entry of a sorted list from the moment on. */
  private neighbour(list: number[], by: 1 | -1): number {
    const t = this.store.now.t;
    if (by > 0) return list[last(list, t) + 1] ?? this.store.length;
    return list[last(list, t - 1)] ?? 0;
  }

  /** Arrow keys go from change to change, pages by a twentieth. */
  private key(e: KeyboardEvent): void {
    const { t } = this.store.now;
    const page = this.store.length / 20;
    const to: Record<string, () => number> = {
      ArrowRight: () => this.neighbour(this.moments, 1), ArrowUp: () => this.neighbour(this.moments, 1),
      ArrowLeft: () => this.neighbour(this.moments, -1), ArrowDown: () => this.neighbour(this.moments, -1),
      PageUp: () => t + page, PageDown: () => t - page, Home: () => 0, End: () => this.store.length,
    };
    const f = to[e.key];
    if (!f || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    this.store.set({ t: Math.round(f()), playing: false });
  }

  /** Space plays, wherever nothing else takes it. */
  private global(e: KeyboardEvent): void {
    const target = e.target as HTMLElement;
    if (e.key !== " " || (target !== document.body && target !== this.slider)) return;
    e.preventDefault();
    this.playButton.click();
  }

  private update(turned: boolean): void {
    const { t, playing } = this.store.now;
    this.slider.value = String(t);
    this.time.textContent = offset(t);
    this.date.textContent = clock(this.models[0]!.run.start, t).replace(/\.\d+ UTC$/, " UTC");
    const text = this.words();
    this.says.textContent = text;
    this.slider.setAttribute("aria-valuetext", `${offset(t)}. ${text}`);
    if (turned) {
      fill(this.playButton, icon(playing ? "pause" : "play"));
      this.playButton.setAttribute("aria-label", playing ? "Pause" : "Play");
      cancelAnimationFrame(this.timer);
      clearTimeout(this.timer);
      if (playing) this.run(performance.now());
    }
    clearTimeout(this.telling);
    if (!playing) this.telling = setTimeout(() => (this.live.textContent = `${offset(t)}. ${text}`), 500);
  }

  private words(): string {
    const { t } = this.store.now;
    return this.models.map((m) => {
      const d = m.run.decisions[m.decisionAt(t)];
      const label = this.models.length > 1 ? `${m.name}: ` : "";
      const now = d && d.at === t ? headline(m, d) : d ? `since ${offset(d.at)}: ${headline(m, d)}` : "before the first decision";
      return label + now;
    }).join(" · ");
  }

  /** run lets time pass: smoothly, or from change to change where less motion is preferred. */
  private run(before: number): void {
    if (calm.matches) {
      this.timer = setTimeout(() => {
        if (!this.store.now.playing) return;
        this.step(this.neighbour(this.moments, 1));
        this.run(0);
      }, 1000);
      return;
    }
    this.timer = requestAnimationFrame((at) => {
      if (!this.store.now.playing) return;
      this.step(this.store.now.t + (Math.max(0, at - before) * this.store.length) / (1000 * Number(this.speed.value)));
      this.run(at);
    });
  }

  private step(t: number): void {
    this.store.set({ t: Math.round(t), playing: t < this.store.length });
  }

  /** paint draws a mark for each decision under the slider: what acted is tall. */
  private paint(): void {
    const width = this.ticks.clientWidth;
    const height = this.ticks.clientHeight;
    const px = devicePixelRatio;
    this.ticks.width = width * px;
    this.ticks.height = height * px;
    const ctx = this.ticks.getContext("2d");
    if (!ctx || width === 0) return;
    ctx.scale(px, px);
    const half = this.models.length > 1 ? height / 2 : height;
    this.models.forEach((m, i) => {
      for (const kind of kinds) {
        ctx.fillStyle = colour(`--${kind}`);
        for (const d of m.run.decisions) {
          if (d.kind !== kind) continue;
          const tall = acted(d) ? half : half * 0.45;
          ctx.fillRect(8 + (d.at / this.store.length) * (width - 16) - 1, i * half + half - tall, 2, tall - (this.models.length > 1 ? 1 : 0));
        }
      }
    });
  }

}
