// Small helpers: elements without markup in strings (nothing of a report is ever parsed as HTML), and how things are written.

type Child = Node | string | number | null | undefined | false | Child[];
type Attrs = Record<string, unknown>;

/** h makes an element. `on…` attributes are listeners, `style` is a map of properties, false and null leave an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attrs: Attrs | null, ...children: Child[]): HTMLElementTagNameMap[K] {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value as EventListener);
    else if (name === "style") for (const [p, v] of Object.entries(value as Record<string, string>)) el.style.setProperty(p, v);
    else el.setAttribute(name, value === true ? "" : String(value));
  }
  add(el, children);
  return el;
}

function add(el: Element, children: Child[]): void {
  for (const c of children) {
    if (c === null || c === undefined || c === false) continue;
    if (Array.isArray(c)) add(el, c);
    else el.append(c instanceof Node ? c : String(c));
  }
}

/** fill replaces what an element holds. */
export function fill(el: Element, ...children: Child[]): void {
  el.textContent = "";
  add(el, children);
}

const shapes: Record<string, string> = {
  up: "M6 1.5 11 9.5H1Z",
  down: "M6 10.5 1 2.5H11Z",
  failed: "M2.2 1 6 4.8 9.8 1 11 2.2 7.2 6 11 9.8 9.8 11 6 7.2 2.2 11 1 9.8 4.8 6 1 2.2Z",
  stuck: "M6 .5 11.5 6 6 11.5 .5 6Z",
  none: "M6 2.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7Z",
  play: "M2 .8 11 6 2 11.2Z",
  pause: "M1.5 1H4.7V11H1.5ZM7.3 1H10.5V11H7.3Z",
  prev: "M1 1H2.8V11H1ZM11 1V11L3.6 6Z",
  next: "M11 1H9.2V11H11ZM1 1V11L8.4 6Z",
  check: "M1 6.4 2.4 5 4.8 7.4 9.6 2.4 11 3.8 4.8 10.2Z",
};

/** icon draws a shape; each kind of decision has one, so that colour is never alone. */
export function icon(name: string, cls = ""): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 12 12");
  svg.setAttribute("class", `icon ${cls}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", shapes[name] ?? shapes.none!);
  svg.append(path);
  return svg;
}

/** span writes a length of time as the other tools do: "1m40s", "21h11m5s", "1.25s". */
export function span(ms: number): string {
  if (ms < 0) return "-" + span(-ms);
  const d = Math.round(ms);
  const hours = Math.floor(d / 3_600_000);
  const minutes = Math.floor((d % 3_600_000) / 60_000);
  const seconds = (d % 60_000) / 1000;
  if (hours === 0 && minutes === 0) return `${seconds}s`;
  return `${hours > 0 ? hours + "h" : ""}${minutes}m${seconds}s`;
}

/** offset is a moment from the start of a run: "+1m40s". */
export const offset = (ms: number): string => "+" + span(ms);

/** tidy is a moment for labels with little room: "+1m40s", "+21h11m", "+2h". */
export function tidy(ms: number): string {
  return offset(ms).replace(/^(\+\d+h)0m0s$/, "$1").replace(/([hm]\d+m|^\+\d+m)0s$/, "$1");
}

/** parseOffset reads "+1m40s", "1.5h", "90s"; NaN when it is none. */
export function parseOffset(text: string): number {
  const m = /^\s*\+?(?=\d)(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?\s*$/.exec(text);
  if (!m || m.slice(1).every((p) => p === undefined)) return NaN;
  const n = (i: number) => Number(m[i] ?? 0);
  return n(1) * 3_600_000 + n(2) * 60_000 + n(3) * 1000 + n(4);
}

/** clock is the instant of the recording, in UTC. */
export function clock(start: string, ms: number): string {
  return new Date(Date.parse(start) + ms).toISOString().replace("T", " ").replace(/\.000Z$|Z$/, "") + " UTC";
}

const grouped = new Intl.NumberFormat("en");

/** count writes a number with its thousands apart. */
export const count = (n: number): string => (n < 1000 && n > -1000 ? String(n) : grouped.format(n));

export const plural = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;

/** cores and memory as people say them. */
export const cores = (milli: number): string => (milli < 0 ? "?" : `${+(milli / 1000).toFixed(milli < 1000 ? 2 : 1)}`);
export const gib = (mi: number): string => (mi < 0 ? "?" : mi < 1024 ? `${mi} Mi` : `${+(mi / 1024).toFixed(1)} Gi`);

export const short = (name: string): string => name.slice(name.indexOf("/") + 1);
