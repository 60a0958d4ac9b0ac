// What the tests of the report share: one browser, and pages that note what goes wrong in them. The Go test that starts them
// (cmd/scalehist/cli/report_browser_test.go) writes the reports into SCALEHIST_PAGES and names the browser in CHROMIUM.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

/** patience only bounds a wait that would never end; a slow machine stays far below it. */
export const patience = Number(process.env.SCALEHIST_PATIENCE ?? 60_000);

const dir = process.env.SCALEHIST_PAGES;
if (!dir) throw new Error("SCALEHIST_PAGES is not set: run these tests with `make web-test`");

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const launch = () => chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });

/** open shows a report. What the page logs as an error, and every request but that of the file, is in `wrong`. */
export async function open(browser, file, hash = "", options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  const wrong = [];
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && wrong.push(`${m.type()}: ${m.text()}`));
  page.on("pageerror", (e) => wrong.push(String(e.stack)));
  const url = pathToFileURL(join(dir, file)).href;
  page.on("request", (r) => r.url().split("#")[0] !== url && !r.url().startsWith("data:") && wrong.push(`request: ${r.url()}`));
  await page.goto(url + hash);
  await page.waitForSelector("html[data-ready]");
  return { page, context, wrong };
}

/** settled waits until what was asked for is drawn. */
export const settled = (page) => page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r()))));

/** violations are what axe finds wrong for people who cannot see, or see differently. */
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ["violations"] })).violations);
  return found.map((v) => `${v.id} (${v.impact}): ${v.help}: ${v.nodes.slice(0, 4).map((n) => `${n.target.join(" ")}: ${n.failureSummary?.split("\n").slice(1, 2).join(" ").trim()}`).join(" | ")}`);
}

/** cut writes a page whose data misses its end beside the others, and is its address. */
export function cut(file) {
  const whole = readFileSync(join(dir, file), "utf8");
  const path = join(dir, "cut-" + file);
  writeFileSync(path, whole.replace(/(<script type="application\/json" id="data">[^<]{1000})[^<]*/, "$1"));
  return pathToFileURL(path).href;
}
