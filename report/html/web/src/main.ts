// Puts the page together and keeps its parts at the same moment.

import "uplot/dist/uPlot.min.css";
import "./report.css";
import { Charts } from "./charts";
import { Cluster } from "./cluster";
import { load, type View } from "./data";
import { Decisions } from "./decisions";
import { Detail } from "./detail";
import { fill, h, offset } from "./dom";
import { parse, resolve, write } from "./link";
import { headline, pairUp, type Model } from "./model";
import { Queue, Selection } from "./queue";
import { Scrubber } from "./scrubber";
import { Store } from "./store";
import { below, events, header, keyFigures } from "./tables";
import * as theme from "./theme";

/** says is what a run did where the runs part. */
function says(m: Model, i: number, did: boolean): Node {
  const d = m.run.decisions[i];
  const text = !d ? "has not decided anything yet" : did ? headline(m, d) : `does nothing new; since ${offset(d.at)}: ${headline(m, d)}`;
  return h("span", { class: "side" }, h("span", { class: `run-tag run-${m.name}` }, m.name), ` ${text} `);
}

const app = document.getElementById("app")!;

/** build draws the page for one run, or for two of several. */
function build(view: View, a: number, b: number, go: (a: number, b: number) => void): void {
  const models = pairUp(view, a, b);
  const both = models.length > 1;
  const store = new Store(Math.max(1, ...models.map((m) => m.run.length)));
  const pair = both && a === 0 ? view.pairs?.find((p) => p.run === b) : undefined;
  const first = pair?.first ?? null;

  const decisions = new Decisions(models, store, first && { a: first.kind === "reason" || first.actedA ? first.a : -1, b: first.kind === "reason" || first.actedB ? first.b : -1 });
  const charts = new Charts(models, store, first ? first.at : null, first?.by ? "replicas" : "groups");
  const scrubber = new Scrubber(models, store);
  const name = (title: string, m: { name: string; run: { label: string } }) => (both ? `${title}, ${m.name}: ${m.run.label}` : title);
  const clusters = models.map((m, i) => new Cluster(m, i, store, name("Cluster", m)));
  const details = models.map((m, i) => new Detail(m, i, store, name("Decision", m), first ? (i === 0 ? (first.actedA ? first.a : -1) : first.actedB ? first.b : -1) : -1));
  const queues = models.map((m, i) => new Queue(m, i, store, name("Unschedulable", m)));
  const selection = new Selection(models, store);
  // In a per-event playback each event has a cluster of its own, and no time passes.
  const timeless = models.some((m) => m.run.playback === "per-event");
  const problem = h("p", { class: "callout bad", role: "alert", hidden: true });

  const themeButton = h("button", { type: "button", class: "small theme", onclick: () => label(theme.toggle()) });
  const label = (t: string) => {
    fill(themeButton, t === "dark" ? "Light" : "Dark");
    themeButton.setAttribute("aria-label", `Change to the ${t === "dark" ? "light" : "dark"} theme`);
  };
  label(theme.theme());

  const chooser = view.runs.length > 2 ? h("div", { class: "choose" }, [["A", a], ["B", b]].map(([side, on]) => {
    const s = h("select", { onchange: () => go(side === "A" ? Number(s.value) : a, side === "B" ? Number(s.value) : b) },
      view.runs.map((r, i) => h("option", { value: i, selected: i === on, disabled: i === (side === "A" ? b : a) }, r.label)));
    return h("label", null, h("span", { class: `run-tag run-${side}` }, String(side)), s);
  })) : null;

  const callout = !both ? null : first
    ? h("div", { class: "callout first" },
        h("p", null, h("strong", null, first.kind === "action" ? `The runs part at ${offset(first.at)}${first.by ? ` (${first.by})` : ""}. ` : `The runs do the same throughout; they explain it differently first at ${offset(first.at)}. `),
          says(models[0]!, first.a, first.actedA), says(models[1]!, first.b, first.actedB)),
        h("button", { type: "button", onclick: () => store.set({ t: first.at, pick: first.a >= 0 && first.actedA ? first.a : first.b, pickRun: first.a >= 0 && first.actedA ? 0 : 1, playing: false }) }, "Go there"))
    : pair ? h("div", { class: "callout ok" }, h("p", null, "Every decision of the two runs is the same.")) : null;
  const where = pair?.where ? h("div", { class: "callout bad" }, h("p", null, `These replays are not of the same thing: ${pair.where}.`)) : null;

  fill(app,
    h("a", { class: "skip", href: "#main", onclick: (e: Event) => {
      e.preventDefault();
      document.getElementById("main")!.focus();
    } }, "To the content"),
    h("header", { class: "top" }, h("span", { class: "brand" }, "scalehist"), chooser, h("span", { class: "grow" }), themeButton),
    h("main", { id: "main", tabindex: -1, class: both ? "both" : "" },
      header(view, models), problem, where, callout, keyFigures(models), scrubber.el,
      timeless
        ? [h("div", { class: "columns" }, h("div", { class: "stack" }, models.map((m) => events(m, store)), details.map((d) => d.el)), h("div", { class: "stack" }, decisions.el, selection.el))]
        : both
        ? [h("div", { class: "columns" }, charts.el, h("div", { class: "stack" }, decisions.el, selection.el)),
            h("div", { class: "columns even" }, models.map((_, i) => h("div", { class: "stack" }, details[i]!.el, queues[i]!.el, clusters[i]!.el)))]
        : h("div", { class: "columns" }, h("div", { class: "stack" }, charts.el, clusters[0]!.el), h("div", { class: "stack" }, decisions.el, selection.el, details[0]!.el, queues[0]!.el)),
      h("div", { class: "below" }, below(models, store))),
    h("footer", { class: "foot" }, h("p", null, "Keys: ", h("kbd", null, "←"), " ", h("kbd", null, "→"), " on the slider go from change to change, ", h("kbd", null, "space"), " plays, ", h("kbd", null, "/"), " searches. This file holds everything it shows and asks the network for nothing.")));

  if (!timeless) charts.mount();
  scrubber.mount();

  const extra = view.runs.length > 2 ? `&a=${a}&b=${b}` : "";
  let linked = 0;
  let followed = location.hash;
  store.on((now, before) => {
    const picks = models.map((m, i) => (now.pick >= 0 && now.pickRun === i ? now.pick : m.decisionAt(now.t)));
    const moments = models.map((m) => m.moment(now.t));
    models.forEach((_, i) => {
      clusters[i]!.show(moments[i]!);
      details[i]!.show(picks[i]!);
      queues[i]!.show(moments[i]!, models[i]!.run.decisions[picks[i]!]?.by ? models[i]!.nodesAt(now.t) : picks[i]!);
    });
    const run = now.pick >= 0 ? now.pickRun : 0;
    decisions.show(run, picks[run]!);
    selection.show(moments);
    if (now.selected && now.selected !== before.selected) {
      selection.el.scrollIntoView({ block: "nearest" });
      selection.el.focus({ preventScroll: true });
    }
    clearTimeout(linked);
    if (!now.playing && ready) linked = setTimeout(() => {
      if (location.hash !== followed) return; // somebody gave another link since, and its hashchange is on its way
      history.replaceState(null, "", write(now, models, extra));
      followed = location.hash;
    }, 250);
  });

  const follow = (): boolean => {
    followed = location.hash;
    const asked = resolve(parse(location.hash), models);
    problem.hidden = !asked?.problem;
    if (!asked) return false;
    problem.textContent = asked.problem;
    store.set(asked.state);
    return true;
  };
  let ready = false;
  onhashchange = follow;
  // Without a link the page opens where something happened first.
  if (!follow()) {
    const m = models[0]!;
    const i = first && first.a >= 0 && first.actedA ? first.a : m.run.decisions.findIndex((d) => d.kind !== "none");
    store.set(i >= 0 ? { t: m.run.decisions[i]!.at, pick: i } : { t: 0 });
  }
  store.flush();
  ready = true;
  onkeydown = (e) => {
    const on = e.target as HTMLElement;
    if (e.key !== "/" || /^(INPUT|SELECT|TEXTAREA)$/.test(on.tagName)) return;
    e.preventDefault();
    document.getElementById("search")!.focus();
  };
  document.documentElement.dataset.ready = "true";
  // For the browser tests and the measurements: what a scrub to a moment costs, drawn and laid out.
  Object.assign(window, { scalehistScrub: (t: number): number => {
    const before = performance.now();
    store.set({ t });
    store.flush();
    void document.body.offsetHeight;
    return performance.now() - before;
  } });
}

async function start(): Promise<void> {
  theme.start();
  const view = await load();
  const n = view.runs.length;
  const link = parse(location.hash);
  const side = (key: string, other: number) => {
    const i = Number(link.get(key));
    return link.has(key) && Number.isInteger(i) && i >= 0 && i < n ? i : other;
  };
  let a = side("a", 0);
  let b = n > 1 ? side("b", 1) : -1;
  if (a === b) [a, b] = [0, 1];
  const go = (x: number, y: number): void => {
    history.replaceState(null, "", `#a=${x}&b=${y}`);
    build(view, x, y, go);
  };
  build(view, a, b, go);
}

start().catch((err: unknown) => {
  fill(app, h("main", { class: "broken" }, h("h1", null, "This report cannot be shown"), h("p", null, String(err)), h("p", null, "The file may be cut off, or the browser too old (it must know DecompressionStream). The numbers are also in report.txt and report.json.")));
  throw err;
});
