// Starts an analyzer with a year behind it, and a browser to look at it.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

/** The program, and what it says about itself: { url, viewer, operator, collections }. */
export async function gallery(...flags) {
  const program = spawn(process.env.THRONG_GALLERY, flags, { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: program.stdout });
  const first = await new Promise((resolve, reject) => {
    lines.once("line", resolve);
    program.once("exit", (code) => reject(new Error(`the gallery ended with ${code}`)));
  });
  const stop = () =>
    new Promise((resolve) => {
      program.once("exit", resolve);
      program.stdin.end();
    });
  return { ...JSON.parse(first), stop };
}

export const browser = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });

/** A page that collects everything that should not happen: errors, dialogs, requests to others. */
export async function visit(context, origin) {
  const page = await context.newPage();
  const trouble = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) trouble.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => trouble.push(`error: ${error.message}`));
  page.on("requestfailed", (request) => {
    // A newer question of the planner makes an older one pointless.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") trouble.push(`failed: ${request.url()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) trouble.push(`elsewhere: ${request.url()}`);
  });
  page.on("dialog", async (dialog) => {
    trouble.push(`dialog: ${dialog.message()}`);
    await dialog.dismiss();
  });
  return { page, trouble };
}

/** Clicks what leads to another page, and waits until that one is there. */
export const follow = (page, link) => Promise.all([page.waitForNavigation({ waitUntil: "load" }), link.click()]);
