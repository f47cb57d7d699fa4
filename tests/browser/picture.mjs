// A picture of the dashboard that a demo leaves up, whose address it says beside its results.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { browser } from "./gallery.mjs";

const [to] = process.argv.slice(2);
const demo = spawn(process.env.THRONG, ["demo", "--clients", "4096", "--epochs", "7"], {
  stdio: ["ignore", "ignore", "pipe"],
});
const over = new Promise((resolve) => demo.once("exit", resolve));
try {
  const url = await new Promise((resolve, reject) => {
    demo.once("exit", (code) => reject(new Error(`the demo ended with ${code}`)));
    createInterface({ input: demo.stderr }).on("line", (line) => {
      const address = /dashboard\D*?(http:\/\/[\w.:[\]]+)/i.exec(line);
      if (address) resolve(address[1]);
    });
  });
  const chromium = await browser();
  const viewport = { width: 1120, height: 1060 };
  const page = await chromium.newPage({ colorScheme: "light", viewport });
  await page.goto(url);
  await page.locator(".collections h2 a").first().click();
  await page.waitForLoadState();
  await page.screenshot({ path: to });
  await chromium.close();
} finally {
  demo.kill("SIGINT");
  await over;
}
