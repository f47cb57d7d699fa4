// What a person sees, tried by a browser.

import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, describe, test } from "node:test";
import { browser, follow, gallery, visit } from "./gallery.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const pictures = "target/browser";
const wide = { width: 1280, height: 900 };
const narrow = { width: 390, height: 844 };

/** A number as pages write it. */
const number = (text) => Number(text.replaceAll(",", "").replace("−", "-"));

let chromium;
before(async () => {
  mkdirSync(pictures, { recursive: true });
  chromium = await browser();
});
after(() => chromium?.close());

describe("an analyzer with a year behind it", () => {
  let site;
  before(async () => {
    site = await gallery("--collections", "50", "--epochs", "365");
  });
  after(() => site?.stop());

  const kind = (name) => {
    const found = site.collections.find((collection) => collection.kind === name);
    assert.ok(found, `the gallery has a collection of kind ${name}`);
    return found;
  };
  const at = (name, rest = "") => `/collections/${kind(name).id}${rest}`;
  const pages = () => ({
    overview: "/",
    bit: at("bit"),
    "bit-privacy": at("bit", "/privacy"),
    real: at("real"),
    category: at("category"),
    large: at("thousand"),
    "large-privacy": at("thousand", "/privacy"),
    attributes: at("attributes"),
    text: at("text"),
    state: at("state"),
    "state-privacy": at("state", "/privacy"),
    hostile: at("hostile"),
    empty: at("young"),
    "empty-privacy": at("young", "/privacy"),
    operations: "/operations",
    planner: "/planner",
    "docs-contents": "/docs/README.md",
    "docs-concepts": "/docs/concepts.md",
    "docs-api": "/docs/api.md",
    login: "/login",
  });

  test("every page, light and dark, wide and narrow: no errors, nothing from elsewhere, nothing cut off", async () => {
    for (const colorScheme of ["light", "dark"]) {
      for (const [size, viewport] of Object.entries({ wide, narrow })) {
        const context = await chromium.newContext({ colorScheme, viewport });
        const { page, trouble } = await visit(context, site.url);
        for (const [name, path] of Object.entries(pages())) {
          const answer = await page.goto(site.url + path, { waitUntil: "load" });
          assert.equal(answer.status(), 200, name);
          assert.deepEqual(trouble, [], `${name}, ${colorScheme}, ${size}`);
          const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(over <= 0, `${name} is ${over} pixels too wide, ${size}`);
          assert.equal(await page.locator("h1").count(), 1, `${name} has one heading`);
          const cut = await page.evaluate(() =>
            [...document.querySelectorAll("main table.rows")]
              .filter((table) => table.scrollWidth > table.parentElement.clientWidth + 1)
              .map((table) => table.caption?.textContent),
          );
          if (size === "narrow") assert.deepEqual(cut, [], `${name}: tables that are cut`);
          await page.screenshot({ path: `${pictures}/${name}-${colorScheme}-${size}.png`, fullPage: size === "wide" });
        }
        await context.close();
      }
    }
  });

  test("nothing that axe finds, in both schemes", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const context = await chromium.newContext({ colorScheme, viewport: wide, bypassCSP: true });
      const page = await context.newPage();
      for (const [name, path] of Object.entries(pages())) {
        await page.goto(site.url + path);
        await page.evaluate(axe);
        const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
        assert.deepEqual(found, [], `${name}, ${colorScheme}`);
      }
      await context.close();
    }
  });

  test("charts are drawn where there are numbers", async () => {
    const context = await chromium.newContext({ viewport: wide });
    const { page, trouble } = await visit(context, site.url);
    for (const [name, least] of [["bit", 1], ["real", 1], ["state", 1], ["category", 1], ["large", 1], ["bit-privacy", 3]]) {
      await page.goto(site.url + pages()[name]);
      const drawn = await page.locator("main svg:visible").evaluateAll((charts) =>
        charts.map((chart) => {
          const { width, height } = chart.getBoundingClientRect();
          const marks = chart.querySelectorAll("path, rect").length;
          return width > 200 && height > 60 && marks > 2;
        }),
      );
      assert.ok(drawn.length >= least && drawn.every(Boolean), `${name}: ${drawn}`);
    }
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("on a telephone every value of a table has the name of its column", async () => {
    const context = await chromium.newContext({ viewport: narrow });
    const { page, trouble } = await visit(context, site.url);
    for (const name of ["bit", "category", "bit-privacy", "operations", "planner"]) {
      await page.goto(site.url + pages()[name]);
      await page.waitForFunction(() => !document.querySelector("[data-again]"), undefined, { timeout: 20_000 });
      const unnamed = await page.locator("main table.rows tbody td:visible").evaluateAll((cells) =>
        cells.filter((cell) => !cell.dataset.label && !cell.querySelector("a")).map((cell) => cell.textContent),
      );
      assert.deepEqual(unnamed, [], name);
    }
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("a chart takes the width of its page, and a page that is not there keeps the menu", async () => {
    const context = await chromium.newContext({ viewport: wide });
    const { page } = await visit(context, site.url);
    await page.goto(site.url + at("bit"));
    const [chart, main] = await page.evaluate(() =>
      ["#over-time ~ figure svg.chart-wide", "main"].map((place) => document.querySelector(place).getBoundingClientRect().width),
    );
    assert.ok(chart > 0.9 * main, `${chart} of ${main}`);
    const missing = await page.goto(`${site.url}/nothing-here`);
    assert.equal(missing.status(), 404);
    assert.equal(await page.locator("h1").innerText(), "Not found");
    assert.ok(await page.getByRole("link", { name: "Operations" }).isVisible());
    await context.close();
  });

  test("the numbers are there without JavaScript, as they were published", async () => {
    const context = await chromium.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    for (const name of ["bit", "category"]) {
      const published = await (await fetch(`${site.url}/v1/collections/${kind(name).id}/releases`)).json();
      const last = published.releases.at(-1);
      await page.goto(site.url + at(name));
      const text = (await page.locator("main").textContent()).replaceAll(",", "");
      assert.ok(text.includes(String(last.reports)), "the reports");
      const top = last.estimates.reduce((a, b) => (a.value >= b.value ? a : b));
      const shown = Number(top.value.toPrecision(4));
      assert.ok(text.includes(String(shown)), `${name}: ${shown} is on the page`);
    }
    await page.goto(`${site.url}/planner`);
    await follow(page, page.getByRole("button", { name: /plan|show|answer|ask/i }));
    assert.match(await page.locator("main").textContent(), /recommend/i);
    await context.close();
  });

  test("downloads hold what was published", async () => {
    const context = await chromium.newContext({ viewport: wide, acceptDownloads: true });
    const { page, trouble } = await visit(context, site.url);
    await page.goto(site.url + at("category"));
    const take = async (name) => {
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name, exact: true }).click()]);
      return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
    };
    const [csv, json] = [await take("CSV"), await take("JSON")];
    assert.ok(csv.name.endsWith(".csv") && json.name.endsWith(".json"));
    const { releases } = JSON.parse(json.text);
    const rows = csv.text.trim().split("\n").slice(1);
    assert.equal(rows.length, releases.reduce((sum, release) => sum + release.estimates.length, 0));
    const last = releases.at(-1);
    const lastRow = rows.at(-1);
    assert.ok(lastRow.includes(`"${last.estimates.at(-1).label}",${last.estimates.at(-1).value}`), lastRow);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("large histograms are searched while one types, and sorted", async () => {
    const context = await chromium.newContext({ viewport: wide });
    const { page, trouble } = await visit(context, site.url);
    await page.goto(site.url + at("thousand"));
    const rows = page.locator("#answers tbody tr");
    assert.equal(await rows.count(), 1000);
    const label = await rows.nth(700).locator("th").innerText();
    await page.getByLabel("Find an answer").pressSequentially(label);
    await page.waitForFunction(() => document.querySelectorAll("#answers tbody tr").length < 1000);
    assert.ok((await rows.locator("th").allInnerTexts()).includes(label));
    assert.ok(page.url().includes("q="), "the address can be shared");
    await page.goto(site.url + at("thousand", "?sort=label"));
    const names = await rows.locator("th").allInnerTexts();
    assert.deepEqual(names, names.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
    await follow(page, page.getByRole("link", { name: "Rank" }));
    const values = (await rows.locator("td:nth-child(3)").allInnerTexts()).map((text) => number(text));
    assert.deepEqual(values, values.toSorted((a, b) => b - a));
    await follow(page, page.getByRole("link", { name: "Post-processed" }));
    const cut = (await rows.locator("td:nth-child(3)").allInnerTexts()).map((text) => number(text));
    assert.ok(Math.min(...cut) >= 0);
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("the planner answers while a slider moves", async () => {
    const context = await chromium.newContext({ viewport: wide });
    const { page, trouble } = await visit(context, site.url);
    await page.goto(`${site.url}/planner`);
    const answer = page.locator(`#${await page.locator("form[data-live]").getAttribute("data-live")}`);
    const slider = page.locator('form[data-live] input[type="range"]').first();
    let text = await answer.innerText();
    assert.match(text, /recommend/i);
    for (const key of ["ArrowLeft", "ArrowLeft", "ArrowRight"]) {
      await slider.focus();
      await page.keyboard.press(key);
      await page.waitForFunction(([id, old]) => document.getElementById(id).innerText !== old && !document.querySelector(`#${id} [data-again]`), [await answer.getAttribute("id"), text], { timeout: 20_000 });
      text = await answer.innerText();
      assert.match(text, /recommend/i);
    }
    assert.deepEqual(trouble, []);
    await context.close();
  });

  test("a hostile name stays text", async () => {
    const context = await chromium.newContext({ viewport: wide });
    const { page, trouble } = await visit(context, site.url);
    const hostile = kind("hostile");
    const reflected = "<img src=x onerror=\"globalThis.stolen=1\">";
    const paths = ["/", at("hostile"), at("hostile", "/privacy"), "/operations", `/?q=${encodeURIComponent(reflected)}`,
      at("hostile", `?q=${encodeURIComponent(reflected)}&sort=${encodeURIComponent(reflected)}&label=${encodeURIComponent(reflected)}`),
      `/planner?value=${encodeURIComponent(reflected)}`, `/login?next=${encodeURIComponent(reflected)}`];
    for (const path of paths) {
      await page.goto(site.url + path);
      assert.equal(await page.evaluate(() => globalThis.stolen), undefined);
      assert.equal(await page.locator("main script, main img[onerror]").count(), 0, path);
      assert.equal(await page.locator("script").count(), 1, path);
    }
    await page.goto(site.url + at("hostile"));
    assert.equal(await page.locator("h1").textContent(), hostile.question);
    assert.deepEqual(trouble.filter((what) => !what.includes("400")), []);
    await context.close();
  });

  test("a keyboard is enough", async () => {
    const context = await chromium.newContext({ viewport: wide });
    const { page } = await visit(context, site.url);
    await page.goto(site.url + at("category"));
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#main$/);
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.closest("main") !== null));
    await context.close();
  });

  test("how long pages take is told, not judged", async () => {
    const context = await chromium.newContext({ viewport: wide });
    const { page } = await visit(context, site.url);
    for (const name of ["overview", "bit", "large", "bit-privacy", "operations", "planner"]) {
      await page.goto(site.url + pages()[name], { waitUntil: "load" });
      const [timing] = await page.evaluate(() => performance.getEntriesByType("navigation").map((entry) => entry.toJSON()));
      console.log(`${name}: first byte ${timing.responseStart.toFixed(0)} ms, loaded ${timing.loadEventEnd.toFixed(0)} ms, ${timing.transferSize} bytes`);
    }
    await context.close();
  });
});

describe("an analyzer that asks for tokens", () => {
  let site;
  before(async () => {
    site = await gallery("--collections", "3", "--epochs", "5", "--tokens");
  });
  after(() => site?.stop());

  test("nobody gets in without one, each gets in as far as theirs goes, and out again", async () => {
    const id = site.collections[0].id;
    for (const path of ["/", `/v1/collections/${id}/releases`, `/v1/collections/${id}/releases.csv`, "/operations", "/metrics"]) {
      assert.equal((await fetch(site.url + path)).status, 401, path);
      assert.equal((await fetch(site.url + path, { headers: { authorization: "Bearer throng_0" } })).status, 401, path);
    }
    const api = await fetch(`${site.url}/v1/collections/${id}/releases`, { headers: { authorization: `Bearer ${site.viewer}` } });
    assert.equal(api.status, 200);
    const context = await chromium.newContext({ viewport: wide });
    const { page, trouble } = await visit(context, site.url);
    const enter = async (token) => {
      await page.getByLabel("Token").fill(token);
      await follow(page, page.getByRole("button", { name: "Sign in" }));
    };
    await page.goto(`${site.url}/collections/${id}`);
    assert.equal(new URL(page.url()).pathname, "/login");
    await page.screenshot({ path: `${pictures}/login-asked.png` });
    await enter("throng_wrong");
    assert.ok(await page.getByRole("alert").isVisible());
    trouble.length = 0;
    await enter(site.viewer);
    assert.equal(new URL(page.url()).pathname, `/collections/${id}`, "where one was going");
    assert.equal(await page.getByRole("link", { name: "Operations" }).count(), 0);
    const refused = await page.goto(`${site.url}/operations`);
    assert.equal(refused.status(), 403);
    assert.ok(await page.getByRole("button", { name: "Sign out" }).isVisible(), "one stays signed in");
    assert.ok(await page.getByRole("link", { name: "Results" }).isVisible(), "the menu stays");
    trouble.length = 0;
    await page.goto(site.url);
    await follow(page, page.getByRole("button", { name: "Sign out" }));
    await page.goto(site.url);
    assert.equal(new URL(page.url()).pathname, "/login");
    await enter(site.operator);
    await follow(page, page.getByRole("link", { name: "Operations" }));
    assert.equal(new URL(page.url()).pathname, "/operations");
    const cookies = await context.cookies();
    assert.ok(cookies.every((cookie) => cookie.httpOnly && cookie.sameSite === "Strict"));
    assert.ok(cookies.every((cookie) => !cookie.value.includes(site.operator.slice(7))));
    assert.deepEqual(trouble, []);
    await context.close();
  });
});
