// Bundles src into ../dist: report.js, report.css, and sources.txt, the hash of every file the bundle is made from. A Go test
// compares these hashes, so that a change of the sources without `make web` fails where there is no npm.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "..", "dist");
mkdirSync(dist, { recursive: true });

const licence = readFileSync(join(here, "node_modules/uplot/LICENSE"), "utf8").trim();
const banner = `/*! This page is part of scalehist (Apache-2.0). It holds uPlot:\n\n${licence}\n*/`;

await build({
  entryPoints: { report: join(here, "src/main.ts") },
  outdir: dist,
  bundle: true,
  minify: true,
  format: "iife",
  target: ["es2022"],
  charset: "utf8",
  legalComments: "none",
  banner: { js: banner, css: banner },
  logLevel: "warning",
});

const text = (path) => readFileSync(path, "utf8").replaceAll("\r\n", "\n");
const sources = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json", ...readdirSync(join(here, "src")).sort().map((f) => `src/${f}`)];
const lines = sources.map((f) => `${createHash("sha256").update(text(join(here, f))).digest("hex")}  web/${f}`);
for (const f of ["report.css", "report.js"]) {
  lines.push(`${createHash("sha256").update(text(join(dist, f))).digest("hex")}  dist/${f}`);
}
writeFileSync(join(dist, "sources.txt"), lines.join("\n") + "\n");
