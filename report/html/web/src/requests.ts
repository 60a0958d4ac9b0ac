// What the pods of a workload ask for, use and are recommended over time, with what happened to them for it.

import type { Curve, Sized, Workload } from "./data";
import type { Line, Panel, Sign } from "./charts";
import type { Model } from "./model";

const find = (m: Model | undefined, name: string): Workload | undefined => m?.run.workloads?.find((w) => w.name === name);

/** sized are the workloads whose requests are known, those that somebody sets or that ran out of memory first. */
export function sized(models: Model[]): string[] {
  const all = [...new Set(models.flatMap((m) => (m.run.workloads ?? []).filter((w) => w.sized?.length).map((w) => w.name)))];
  const eventful = (name: string) => models.some((m) => (find(m, name)?.marks?.length ?? 0) > 0 || find(m, name)?.sized?.some((s) => s.target));
  return all.filter(eventful).concat(all.filter((n) => !eventful(n)));
}

const titles: Record<string, string> = { cpu: "CPU", memory: "Memory" };
const units: Record<string, string> = { cpu: "cores", memory: "GiB" };
const colours: Record<string, string> = { "out of memory": "--bad", evicted: "--pending", resized: "--down" };

/** amount writes cores or GiB; what is far above everything else is short ("45M"). */
function amount(v: number): string {
  if (v < 0) return "?";
  if (v >= 10_000) return Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 0 }).format(v);
  return v.toFixed(v >= 100 ? 0 : v >= 10 ? 1 : 2);
}

const most = (...curves: (Curve | undefined)[]): number => curves.reduce((x, c) => (c?.v ?? []).reduce((y, v) => Math.max(y, v), x), 0);

/** requests are the charts of one workload, one for each resource. */
export function requests(models: Model[], name: string): Panel[] {
  const resources = [...new Set(models.flatMap((m) => (find(m, name)?.sized ?? []).map((s) => s.resource)))];
  return resources.map((resource) => {
    const of = (m: Model | undefined): Sized | undefined => find(m, name)?.sized?.find((s) => s.resource === resource);
    const lines: Line[] = [];
    const add = (label: string, colour: string, pick: (s: Sized) => Curve | undefined, more: Partial<Line> = {}) =>
      models.forEach((m, run) => {
        const curve = of(m) && pick(of(m)!);
        if (curve) lines.push({ name: run === 0 ? label : `${label} B`, curve, colour, dash: run > 0, of: run > 0 && lines.some((l) => l.name === label) ? label : undefined, ...(run === 0 ? more : {}) });
      });
    add("requested", "--requested", (s) => s.requested);
    add("used", `--${resource}`, (s) => s.used, { fill: `--${resource}-area` });
    add("recommended", "--recommended", (s) => s.target);
    const a = of(models[0]);
    let band: [number, number] | undefined;
    if (a?.target && a.lower && a.upper && models.length === 1) {
      lines.push({ name: "lower", curve: a.lower, colour: "--recommended", dots: true, of: "recommended" }, { name: "upper", curve: a.upper, colour: "--recommended", dots: true, of: "recommended" });
      band = [lines.length, lines.length - 1];
    }
    const top = Math.max(...models.map((m) => most(of(m)?.requested, of(m)?.used, of(m)?.target)));
    const signs: Sign[] = models.flatMap((m, run) =>
      (find(m, name)?.marks ?? []).filter((x) => x.kind !== "out of memory" || resource === "memory")
        .map((x) => ({ at: x.at, kind: models.length > 1 ? `${x.kind} ${m.name}` : x.kind, count: x.pods, colour: colours[x.kind] ?? "--quiet", hollow: run > 0 })));
    return {
      id: `requests-${resource}`, title: titles[resource] ?? resource, unit: `${units[resource] ?? resource} of all pods${band ? "; dotted: left alone between" : ""}`, height: 150, lines, write: amount,
      most: top, band, signs, fractions: true,
    };
  });
}
