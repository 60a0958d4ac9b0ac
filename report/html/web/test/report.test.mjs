// The report in a real browser: what people click and type, with a mouse and without, in both themes and at phone width.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { cut, launch, open, settled, violations } from "./page.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

const time = (page) => page.locator(".time").textContent();
const becomes = (page, selector, text) => page.waitForFunction(([s, t]) => document.querySelector(s)?.textContent.includes(t), [selector, text]);

/** check opens a report, runs f on it and holds the page to having nothing wrong in the end. */
const check = (name, file, f, { hash = "", ...options } = {}) =>
  test(name, async () => {
    const { page, context, wrong } = await open(browser, file, hash, options);
    try {
      await f(page);
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
    }
  });

check("opens where something happened first, with verdict and figures", "burst.html", async (page) => {
  assert.equal(await page.title(), "two-machine-sizes · scalehist");
  assert.equal(await page.locator("h1").textContent(), "two-machine-sizes");
  assert.match(await page.locator(".verdict-badge").textContent(), /agrees with the recording/);
  assert.match(await page.locator(".figures").innerText(), /Nodes up\s+\+5/);
  assert.equal(await time(page), "+26.17s");
  assert.match(await page.locator(".detail .headline").first().textContent(), /large 0 → 3/);
  assert.match(await page.locator(".detail .weighed").innerText(), /chosen[\s\S]*the only option[\s\S]*small[\s\S]*rejected[\s\S]*6 pods: Insufficient cpu/);
  assert.match(await page.locator(".queue").innerText(), /default\/api-1[\s\S]*waits for 3 nodes of large/);
  assert.equal(await page.locator(".node.coming").count(), 3);
});

for (const [hash, want] of [
  ["#t=+1m45.14s", { time: "+1m45.14s", detail: "small 1 → 3" }],
  ["#loop=9", { time: "+26.17s", detail: "6 pods fit" }],
  ["#loop=7", { time: "+16.15s", detail: "6 pods, all of them new: waiting for more" }],
  ["#pod=default/api-1", { time: "+26.17s", selected: "pod default/api-1", detail: "large 0 → 3" }],
  ["#pod=api-2&t=+2m", { time: "+2m0s", selected: "on large-1" }],
  ["#node=large-0", { time: "+1m6.17s", selected: "asked for+26.17s" }],
  ["#group=small", { time: "+1m45.14s", selected: "1 → 3" }],
  ["#loop=999", { problem: "Loop 999 is not among the decisions" }],
  ["#pod=default/none", { problem: "There is no pod default/none" }],
  ["#t=soon", { problem: "soon is no moment" }],
]) {
  check(`the link ${hash} opens its moment`, "burst.html", async (page) => {
    if (want.time) assert.equal(await time(page), want.time);
    if (want.detail) await becomes(page, ".detail", want.detail);
    if (want.selected) await becomes(page, ".selection", want.selected);
    if (want.problem) await becomes(page, "[role=alert]", want.problem);
    else assert.equal(await page.locator("[role=alert]").isVisible(), false);
  }, { hash });
}

check("a link that changes moves the page, and moving changes the link", "burst.html", async (page) => {
  await page.evaluate(() => (location.hash = "#t=+1m10s"));
  await becomes(page, ".time", "+1m10s");
  await becomes(page, ".sum", "4 nodes");
  await page.locator(".decisions .row").nth(4).click();
  await page.waitForFunction(() => location.hash === "#loop=20");
});

check("the keyboard goes through time", "burst.html", async (page) => {
  await page.locator("#moment").focus();
  for (const [key, want] of [["Home", "+0s"], ["ArrowRight", "+16s"], ["ArrowRight", "+16.03s"], ["ArrowLeft", "+16s"], ["End", "+3m0s"], ["PageDown", "+2m51s"]]) {
    await page.keyboard.press(key);
    await becomes(page, ".time", want);
  }
  await page.evaluate(() => (location.hash = "#t=+26s"));
  await becomes(page, ".time", "+26s");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.getElementById("moment").getAttribute("aria-valuetext") === "+26.17s. large 0 → 3");
  await becomes(page, "#live", "+26.17s. large 0 → 3");
});

check("time runs, and stops", "burst.html", async (page) => {
  await page.locator(".controls select").selectOption("60");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.querySelector(".round[aria-label=Pause]"));
  await page.waitForFunction(() => Number(document.getElementById("moment").value) > 27_000);
  await page.keyboard.press("Space");
  await page.waitForFunction(() => document.querySelector(".round[aria-label=Play]"));
  await page.locator("button[aria-label='To the next action']").click();
  await becomes(page, ".time", "+1m45.14s");
});

check("a per-event playback has a list instead of time", "events.html", async (page) => {
  assert.equal(await page.locator(".charts").count() + (await page.locator(".cluster").count()), 0);
  await page.locator("section[aria-labelledby=h-events] .link").last().click();
  await becomes(page, ".time", "+12h0m8s");
  assert.match(await page.locator("section[aria-labelledby=h-events]").innerText(), /std 1→2[\s\S]*the same[\s\S]*batch 2→3[\s\S]*nothing[\s\S]*differs/);
  assert.deepEqual(await violations(page), []);
});

check("with less motion time goes from change to change", "burst.html", async (page) => {
  await page.locator(".round[aria-label=Play]").click();
  await becomes(page, ".time", "+1m6.17s");
  await becomes(page, ".time", "+1m45.14s");
}, { reducedMotion: "reduce", hash: "#t=+26.17s" });

check("search finds pods, groups and reasons, and the list is walked by keyboard", "burst.html", async (page) => {
  await page.keyboard.press("/");
  for (const [query, rows] of [["api-3", 2], ["insufficient", 1], ["least-waste", 1], ["small", 2], ["waiting for more", 2], ["no such thing", 0], ["", 6]]) {
    await page.locator("#search").fill(query);
    await page.waitForFunction((n) => document.querySelectorAll(".decisions .row").length === n, rows);
  }
  await page.locator("#search").fill("small");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("ArrowDown");
  await becomes(page, ".time", "+1m45.14s");
  assert.equal(await page.locator("#decision").getAttribute("aria-activedescendant"), "decision-1");
  await page.locator("#search").fill("");
  await page.locator(".kinds .chip", { hasText: "up" }).click();
  await page.waitForFunction(() => document.querySelectorAll(".decisions .row").length === 2);
});

check("nodes, pods and groups tell about themselves", "burst.html", async (page) => {
  await page.locator("button.node", { hasText: "large-1" }).click();
  await becomes(page, ".selection", "node large-1");
  await page.locator(".selection .pods .link", { hasText: "api-" }).first().click();
  await becomes(page, ".selection", "without a node for 50");
  await page.locator(".selection .story .link").first().click();
  await becomes(page, ".time", "+16");
  await page.locator(".selection .small").click();
  await page.locator(".selection").waitFor({ state: "hidden" });
}, { hash: "#t=+1m30s" });

check("charts share moment, zoom and cursor, and are a table too", "burst.html", async (page) => {
  const over = page.locator("#chart-pending .u-over");
  const box = await over.boundingBox();
  await over.click({ position: { x: Math.round(box.width / 2), y: 20 } });
  await becomes(page, ".time", "+1m30");
  await page.mouse.move(box.x + 10, box.y + 10);
  await becomes(page, ".readout", "under the pointer");
  await page.locator("button[aria-label='Zoom in around the moment']").click();
  await settled(page);
  await page.locator("button[aria-label='Show all of the time']").click();
  const key = page.locator("#chart-groups button.key").first();
  await key.click();
  assert.equal(await key.getAttribute("aria-pressed"), "false");
  assert.match(await page.locator("#chart-groups [role=img]").getAttribute("aria-label"), /large from 0 to 3, at most 3; large recorded from 0 to 3/);
  await page.locator(".numbers summary").click();
  await page.waitForFunction(() => document.querySelectorAll(".numbers tbody tr").length >= 5);
});

check("a day shows what was removed and why the rest was unremovable", "day.html", async (page) => {
  await becomes(page, ".detail", "removing");
  await becomes(page, ".detail", "NotUnderutilized");
  await page.locator("#search").fill("unneeded");
  await page.waitForFunction(() => /^\d+ of \d+$/.test(document.querySelector(".found").textContent));
}, { hash: "#t=+12h12m8.24s" });

check("two runs over each other say where they part", "compare.html", async (page) => {
  await becomes(page, ".callout.first", "The runs part at +12h12m8.24s");
  await page.locator(".callout.first button").click();
  await becomes(page, ".time", "+12h12m8.24s");
  assert.equal(await page.locator(".cluster").count(), 2);
  await becomes(page, "section.detail:first-child .headline", "removing std-4");
  assert.match(await page.locator(".decisions .row.on").innerText(), /1st/);
  assert.match(await page.locator("#chart-groups").innerText(), /sizes differ between A and B/);
  assert.match(await page.locator(".below").innerText(), /Metrics that differ[\s\S]*node hours[\s\S]*worse/);
  await page.evaluate(() => (location.hash = "#loop=762&run=B"));
  await becomes(page, "[role=alert]", "Loop 762");
});

check("replicas are drawn under the node groups, on the same time", "workloads.html", async (page) => {
  assert.deepEqual(await page.locator(".charts .panel h3").evaluateAll((all) => all.map((h) => h.firstChild.textContent)), ["Node groups", "Replicas", "Pods without a node", "Utilisation"]);
  assert.match(await page.locator("#chart-replicas [role=img]").getAttribute("aria-label"), /default\/web from 16 to 3, at most 22; default\/web ready from 1 to 3, at most 22/);
  await page.evaluate(() => (location.hash = "#t=+24m"));
  await becomes(page, "#chart-replicas .legend", "default/web2219");
  const wide = (id) => page.evaluate((i) => document.querySelector(`#chart-${i} .u-over`).getBoundingClientRect().width, id);
  assert.equal(await wide("groups"), await wide("replicas"));
  await page.locator("button[aria-label='Zoom in around the moment']").click();
  const left = (id) => page.evaluate((i) => document.querySelector(`#chart-${i} .scrub-line`).style.transform, id);
  await page.waitForFunction(() => !document.querySelector("#chart-replicas .scrub-line").style.transform.includes("NaN"));
  await settled(page);
  assert.equal(await left("groups"), await left("replicas"));
  await page.locator("#chart-replicas button.key").click();
  assert.equal(await page.locator("#chart-replicas button.key").getAttribute("aria-pressed"), "false");
});

check("decisions of controllers are in the list, and are filtered by who took them", "workloads.html", async (page) => {
  const rows = () => page.locator(".decisions .row .when .sub").allTextContents();
  const count = (text) => page.waitForFunction((t) => document.querySelector(".found").textContent === t, text);
  await count("36 decisions");
  await page.locator(".kinds .chip", { hasText: "hpa" }).click();
  await count("16 of 36");
  assert.deepEqual([...new Set(await rows())], ["hpa"]);
  await page.locator(".kinds .chip", { hasText: "up" }).first().click();
  await count("6 of 36");
  await page.locator(".kinds .chip", { hasText: /^all$/ }).click();
  await page.locator(".kinds .chip", { hasText: "nodes" }).click();
  await count("20 of 36");
  assert.ok((await rows()).every((r) => /loop|between/.test(r)));
  await page.locator(".kinds .chip", { hasText: "all autoscalers" }).click();
  await page.locator("#search").fill("stabilized");
  await count("8 of 36");
  await page.locator(".decisions .row").first().click();
  await page.waitForFunction(() => location.hash === "#t=+3m30s&by=hpa");
});

check("a controller's decision opens with its metrics and what limited it", "workloads.html", async (page) => {
  await becomes(page, ".detail", "hpa at +31m45s");
  assert.match(await page.locator(".detail").innerText(), /default\/web 22 → 18[\s\S]*Reason[\s\S]*All metrics below target[\s\S]*cpu resource utilization[\s\S]*7%\s+60%\s+3 replicas[\s\S]*Limited by[\s\S]*ScaleDownStabilized: 3 -> 18[\s\S]*HorizontalPodAutoscaler\/default\/web/);
  await becomes(page, ".cluster .sum", "nodes");
  await page.evaluate(() => (location.hash = "#t=+1m&by=hpa"));
  await becomes(page, "[role=alert]", "hpa decided nothing at +1m0s");
}, { hash: "#t=+31m45s&by=hpa" });

check("a workload tells about itself", "workloads.html", async (page) => {
  await page.locator(".below .link", { hasText: "ReplicaSet/default/web" }).click();
  await becomes(page, ".selection", "set byhpa");
  await page.locator(".selection .story .link", { hasText: "+23m45s" }).click();
  await becomes(page, ".time", "+23m45s");
  await becomes(page, ".selection", "22 wanted, 19 ready");
  await page.waitForFunction(() => location.hash === "#workload=ReplicaSet/default/web&t=+23m45s");
});

check("requests are drawn with what was used, recommended and done for them, a workload at a time", "vertical.html", async (page) => {
  const cpu = page.locator("#chart-requests-cpu"), memory = page.locator("#chart-requests-memory");
  await becomes(page, ".time", "+9h35m0s");
  assert.match(await cpu.innerText(), /CPU[\s\S]*cores of all pods[\s\S]*requested[\s\S]*3\.12[\s\S]*used[\s\S]*2\.47[\s\S]*recommended[\s\S]*evicted[\s\S]*43/);
  assert.match(await memory.locator(".plot").getAttribute("aria-label"), /requested from .* used from .* recommended from .* 43 pods evicted/);
  assert.match(await page.locator("#chart-used").innerText(), /CPU\s*5\d %/);
  await page.locator("#requests select").selectOption("ReplicaSet/default/db");
  assert.match(await cpu.innerText(), /requested[\s\S]*used[\s\S]*0\.10/);
  assert.doesNotMatch(await cpu.innerText(), /evicted|recommended/);
  assert.equal(await page.locator("#chart-requests-cpu").count(), 1);
  await page.locator(".numbers summary").click();
  assert.match(await page.locator(".numbers thead").innerText(), /CPU, requested/);
  await page.locator(".below .link", { hasText: "ReplicaSet/default/web" }).click();
  await becomes(page, "#chart-requests-cpu", "evicted");
  assert.equal(await page.locator("#requests select").inputValue(), "ReplicaSet/default/web");
  await page.locator(".tools button", { hasText: "+" }).click();
  await settled(page);
}, { hash: "#t=+9h35m" });

check("requests of two runs are over each other", "right-sized.html", async (page) => {
  await becomes(page, ".time", "+9h35m0s");
  assert.match(await page.locator("#chart-requests-cpu").innerText(), /requested\s*14\.4\s*3\.12[\s\S]*used\s*2\.47\s*2\.47[\s\S]*recommended\s*2\.61[\s\S]*evicted B\s*43/);
}, { hash: "#t=+9h35m" });

check("two runs part where a controller decides otherwise", "scaled.html", async (page) => {
  await becomes(page, ".callout.first", "The runs part at +8m30s (hpa)");
  assert.match(await page.locator(".callout.first").innerText(), /default\/web 16 → 8[\s\S]*default\/web 16 → 6/);
  assert.equal(await page.locator("section.detail .badge.bad", { hasText: "first difference" }).count(), 2);
  assert.match(await page.locator("#chart-replicas").innerText(), /replicas differ between A and B/);
  assert.match(await page.locator(".below").innerText(), /Workloads[\s\S]*ReplicaSet\/default\/web\s+hpa\s+16\s+3\s+22[\s\S]*17[\s\S]*Metrics that differ[\s\S]*replicas\.peak/);
});

check("a report without controllers has nothing of them", "burst.html", async (page) => {
  assert.equal(await page.locator("#chart-replicas, #requests").count(), 0);
  assert.equal(await page.locator(".kinds").count(), 1);
  assert.doesNotMatch(await page.locator("main").innerText(), /replica/i);
});

check("of several runs two are chosen", "three.html", async (page) => {
  await page.locator(".choose select").last().selectOption({ index: 2 });
  await page.waitForFunction(() => location.hash.includes("b=2"));
  assert.equal(await page.locator(".callout.ok").count(), 1);
}, { hash: "#a=0&b=1" });

for (const file of ["burst.html", "day.html", "compare.html", "workloads.html", "scaled.html", "vertical.html", "right-sized.html"]) {
  for (const colorScheme of ["light", "dark"]) {
    check(`${file} is for everybody, ${colorScheme}`, file, async (page) => {
      await page.locator("button.node").first().click();
      await settled(page);
      assert.deepEqual(await violations(page), []);
      const other = colorScheme === "light" ? "dark" : "light";
      await page.locator(".theme").click();
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), other);
      assert.deepEqual(await violations(page), []);
    }, { colorScheme });
  }
  check(`${file} fits a phone`, file, async (page) => {
    for (const d of await page.locator("details").all()) await d.evaluate((el) => (el.open = true));
    await settled(page);
    const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= window, `${wide} > ${window}`);
    assert.deepEqual(await violations(page), []);
  }, { viewport: { width: 360, height: 780 }, hasTouch: true, isMobile: true });
}

check("it prints, on white, without what only a screen can do", "day.html", async (page) => {
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".track").isVisible(), false);
  assert.equal(await page.locator(".find").isVisible(), false);
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 20_000);
}, { colorScheme: "dark" });

check("nothing shifts once it is shown", "day.html", async (page) => {
  const shifted = await page.evaluate(() => new Promise((done) => {
    let sum = 0;
    new PerformanceObserver((list) => list.getEntries().forEach((e) => (sum += e.hadRecentInput ? 0 : e.value))).observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(sum), 100)));
  }));
  assert.ok(shifted < 0.02, `layout shift ${shifted}`);
});

check("ten thousand pods over a day: few elements, quick scrubs", "large.html", async (page) => {
  const times = await page.evaluate(() => {
    const length = Number(document.getElementById("moment").max);
    return Array.from({ length: 60 }, (_, i) => globalThis.scalehistScrub(Math.floor((length * ((i * 37) % 60)) / 60)));
  });
  times.sort((a, b) => a - b);
  const elements = await page.evaluate(() => document.querySelectorAll("*").length);
  console.log(`large: scrub median ${times[30].toFixed(1)} ms, slowest ${times[59].toFixed(1)} ms, ${elements} elements`);
  assert.ok(elements < 12_000, `${elements} elements`);
  await page.locator("#search").fill("web-4321");
  await page.waitForFunction(() => / of /.test(document.querySelector(".found").textContent));
  assert.ok((await page.locator(".decisions .row").count()) < 40);
});

test("the policy of the page forbids every request", async () => {
  const { page, context } = await open(browser, "burst.html");
  try {
    const refused = await page.evaluate(async () => {
      const violated = new Promise((r) => document.addEventListener("securitypolicyviolation", (e) => r(e.effectiveDirective), { once: true }));
      await fetch("https://example.invalid/").catch(() => {});
      return violated;
    });
    assert.equal(refused, "connect-src");
  } finally {
    await context.close();
  }
});

test("a file that was cut off says so", async () => {
  const { page, context } = await open(browser, "burst.html");
  try {
    await page.goto(cut("burst.html"));
    await page.waitForSelector(".broken");
    assert.match(await page.locator(".broken").innerText(), /cannot be shown/);
  } finally {
    await context.close();
  }
});
