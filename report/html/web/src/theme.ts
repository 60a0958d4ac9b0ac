// Light or dark: what the system prefers until somebody chooses. Charts ask here for their colours when they draw.

type Theme = "light" | "dark";

const system = matchMedia("(prefers-color-scheme: dark)");
let chosen: Theme | null = null;
const redraw: (() => void)[] = [];
let cache = new Map<string, string>();

export const theme = (): Theme => chosen ?? (system.matches ? "dark" : "light");

function apply(t: Theme): void {
  document.documentElement.dataset.theme = t;
  cache = new Map();
  for (const f of redraw) f();
}

/** start sets the theme and follows the system; paper is always light. */
export function start(): void {
  apply(theme());
  system.addEventListener("change", () => apply(theme()));
  addEventListener("beforeprint", () => apply("light"));
  addEventListener("afterprint", () => apply(theme()));
}

export function toggle(): Theme {
  chosen = theme() === "dark" ? "light" : "dark";
  apply(chosen);
  return chosen;
}

/** onTheme calls f whenever the colours change. */
export function onTheme(f: () => void): void {
  redraw.push(f);
}

/** colour is the value of a custom property, such as "--c0". */
export function colour(name: string): string {
  let v = cache.get(name);
  if (v === undefined) {
    v = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    cache.set(name, v);
  }
  return v;
}

/** palette names the n-th colour of a series or a workload; they repeat after eight. */
export const palette = (n: number): string => `--c${n % 8}`;
