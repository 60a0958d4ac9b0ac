// Takes the pictures of docs/report.md: `make web-shots`.
import { join } from "node:path";
import { launch, open, settled } from "./page.mjs";

const out = process.env.SCALEHIST_SCREENSHOTS;
const browser = await launch();
for (const [name, file, hash, options] of [
  ["report-burst", "burst.html", "#loop=11", { viewport: { width: 1360, height: 1440 } }],
  ["report-day", "day.html", "#loop=743", { colorScheme: "dark", viewport: { width: 1360, height: 1475 } }],
  ["report-compare", "compare.html", "", { viewport: { width: 1360, height: 1540 } }],
  ["report-horizontal", "scaled.html", "", { viewport: { width: 1360, height: 1540 } }],
  ["report-vertical", "right-sized.html", "#t=+9h35m", { viewport: { width: 1360, height: 1760 } }],
  ["report-phone", "burst.html", "#loop=2", { viewport: { width: 390, height: 1000 }, colorScheme: "dark" }],
]) {
  const { page, context, wrong } = await open(browser, file, hash, options);
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  await settled(page);
  await page.screenshot({ path: join(out, `${name}.png`), animations: "disabled" });
  await context.close();
}
await browser.close();
