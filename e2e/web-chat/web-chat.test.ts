import { join } from "node:path";
import { createClient } from "awaken/client";
import type { Browser, Locator, Page } from "playwright-core";
import { build } from "vite";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { tempFolder } from "../durability/support/databases.ts";
import { startDev } from "../protocols/support/dev.ts";
import { openBrowser, openPage } from "./support/browser.ts";
import { openShop } from "./support/shop.ts";
import { openTenLines } from "./support/ten-lines.ts";

// The page of examples/web-chat in a browser, on a server that is one. Nothing is timed: the model and the courier wait for the test.

const folder = tempFolder();
let browser: Browser;

beforeAll(async () => {
  vi.stubEnv("NODE_ENV", "production");
  const configFile = join(import.meta.dirname, "../../examples/web-chat/vite.config.ts");
  await build({ configFile, logLevel: "error", build: { outDir: folder.path, emptyOutDir: true } });
  vi.unstubAllEnvs();
  browser = await openBrowser();
});

afterAll(async () => {
  await browser?.close();
  folder[Symbol.dispose]();
});

const ask = (page: Page, text: string) => page.getByRole("button", { name: text }).click();
const say = async (page: Page, text: string) => {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
};
const answers = (page: Page): Locator => page.locator("article.assistant");
/** Until this is to be read in the last answer. */
const reads = (page: Page, text: string) => answers(page).last().getByText(text).waitFor();
const idle = (page: Page) => page.locator("main[aria-busy=false]").waitFor();
const textOf = (page: Page) => answers(page).last().innerText();
const call = (page: Page, tool: string, state: string) => page.locator(`[data-tool=${tool}][data-state=${state}]`);
const threadOf = (page: Page) => new URL(page.url()).hash.slice(1);

/** How the runs of the thread ended, the oldest first. */
async function runsOf(url: string, page: Page): Promise<readonly string[]> {
  const { items } = await createClient({ url: `${url}/api` }).threads.runs(threadOf(page));
  return items.map((run) => (run.status === "done" ? run.termination.type : run.status));
}

test("text comes as it is written; a page that is loaded again in the middle has all of it, and goes on", async () => {
  await using shop = await openShop(folder.path);
  const gate = shop.holdAt("Things");
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await ask(page, "How do returns work?");
  await reads(page, "up to four.");
  expect(await textOf(page)).not.toContain("Things");
  await page.reload();
  await reads(page, "up to four.");
  expect(await textOf(page)).toMatch(/^You have 60 days/);
  await page.getByRole("button", { name: "Stop" }).waitFor();
  gate.open();
  await reads(page, "the same day.");
  await idle(page);
  expect((await textOf(page)).match(/You have 60 days/g)).toHaveLength(1);
  expect(await page.locator("article").count()).toBe(2);
  const written = await textOf(page);
  await page.reload();
  await reads(page, "the same day.");
  expect(await textOf(page)).toBe(written);
  expect(opened.requests.filter((line) => line.startsWith("POST"))).toEqual(["POST /api/v1/ai-sdk/chat"]);
  expect(opened.thrown).toEqual([]);
});

test("stop ends the answer on the server: what was written stays, and the conversation goes on", async () => {
  await using shop = await openShop(folder.path);
  shop.holdAt("Things");
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await ask(page, "How do returns work?");
  await reads(page, "up to four.");
  await page.getByRole("button", { name: "Stop" }).click();
  await idle(page);
  expect(await textOf(page)).toContain("up to four.");
  expect(await textOf(page)).not.toContain("Things");
  await say(page, "Hello");
  await reads(page, "I can find orders");
  await idle(page);
  expect(await runsOf(shop.url, page)).toEqual(["cancelled", "natural-end"]);
  expect(await answers(page).count()).toBe(2);
  expect(opened.thrown).toEqual([]);
});

test("a server that ends in the middle of an answer, and one that is not there for a message: the page comes back by itself, and nothing is sent twice", async () => {
  await using shop = await openShop(folder.path);
  const gate = shop.holdAt("Things");
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  const lost = page.getByText("The connection was lost. Coming back…");
  await ask(page, "How do returns work?");
  await reads(page, "up to four.");
  await shop.stop();
  await lost.waitFor();
  gate.open();
  await shop.start();
  await reads(page, "the same day.");
  await idle(page);
  expect(await lost.count()).toBe(0);
  expect((await textOf(page)).match(/You have 60 days/g)).toHaveLength(1);
  await shop.stop();
  await say(page, "Hello");
  await lost.waitFor();
  await page.getByText("Hello").waitFor();
  await shop.start();
  await reads(page, "I can find orders");
  await idle(page);
  expect(await page.locator("article").count()).toBe(4);
  expect(await runsOf(shop.url, page)).toEqual(["natural-end", "natural-end"]);
  expect(opened.thrown).toEqual([]);
});

test("two calls are at work at the same time, and each shows its own result", async () => {
  await using shop = await openShop(folder.path);
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await ask(page, "Where are orders 1041 and 1042?");
  await page.locator("[data-tool=track_order].running").nth(1).waitFor();
  await vi.waitUntil(() => shop.asked.length === 2, { timeout: 120_000 });
  expect(shop.asked.toSorted()).toEqual(["1041", "1042"]);
  shop.courier.open();
  await reads(page, "Order 1042 is on its way.");
  await idle(page);
  const done = call(page, "track_order", "output-available");
  expect(await done.locator(".detail").allInnerTexts()).toEqual(["1041 · on its way", "1042 · on its way"]);
  expect(opened.thrown).toEqual([]);
});

test("an approval outlives a reload, and what is approved is what the person wrote", async () => {
  await using shop = await openShop(folder.path);
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await ask(page, "Please refund order 1041");
  await reads(page, "Refund 120 € for order 1041?");
  await idle(page);
  await page.reload();
  await reads(page, "Refund 120 € for order 1041?");
  await page.getByLabel("amount").fill("90");
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await reads(page, "Done: 90 € for order 1041");
  await idle(page);
  await call(page, "refund", "output-available").getByText("1041 · 90").waitFor();
  expect(await page.locator("form.approval").count()).toBe(0);
  expect(await page.locator("article").count()).toBe(2);
  expect(await runsOf(shop.url, page)).toEqual(["natural-end"]);
  expect(opened.requests.filter((line) => line === "POST /api/v1/ai-sdk/chat")).toHaveLength(1);
  expect(opened.requests.filter((line) => line.endsWith("/decision"))).toHaveLength(1);
  expect(opened.thrown).toEqual([]);
});

test("an input that the tool does not take is refused, in words, and can be written again", async () => {
  await using shop = await openShop(folder.path);
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await ask(page, "Please refund order 1041");
  await page.getByLabel("amount").fill("5000");
  await page.getByRole("button", { name: "Approve with changes" }).click();
  // Where it was written, and about what was written.
  const problem = page.locator("form.approval").getByRole("alert");
  await problem.waitFor();
  expect(await problem.innerText()).toBe("amount: at most 1,000 €");
  expect(await problem.isVisible()).toBe(true);
  await page.getByLabel("amount").fill("80");
  await page.getByRole("button", { name: "Approve with changes" }).click();
  await reads(page, "Done: 80 € for order 1041");
  await idle(page);
  expect(await page.getByRole("alert").count()).toBe(0);
  expect(opened.thrown).toEqual([]);
});

test("what was declined is not done", async () => {
  await using shop = await openShop(folder.path);
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await ask(page, "Please refund order 1041");
  await page.getByRole("button", { name: "Decline" }).click();
  await call(page, "refund", "output-denied").waitFor();
  await reads(page, "That was not done");
  await idle(page);
  expect(opened.thrown).toEqual([]);
});

test.each([
  { how: "as it is", amount: undefined, button: "Approve" },
  { how: "with another amount", amount: "30", button: "Approve with changes" },
])("what a delegate asks is asked in the conversation, and approved there $how", async ({ amount, button }) => {
  await using shop = await openShop(folder.path);
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await ask(page, "Ask billing to correct invoice 2210");
  await reads(page, "Issue a credit note of 45 € on invoice 2210?");
  await idle(page);
  await call(page, "agent_run_billing", "approval-requested").waitFor();
  if (amount !== undefined) await page.getByLabel("amount").fill(amount);
  await page.getByRole("button", { name: button, exact: true }).click();
  await reads(page, "Billing is done");
  await idle(page);
  const [said] = await call(page, "agent_run_billing", "output-available").locator(".detail").allInnerTexts();
  expect(said).toContain(`corrected by ${amount ?? "45"} €`);
  expect(await page.locator("article").count()).toBe(2);
  expect(opened.thrown).toEqual([]);
});

test("the ten lines of the docs, as they are, beside `awaken dev` with a new project: from nothing to a call that was approved", async () => {
  await using dev = await startDev();
  await using site = await openTenLines(dev.url);
  await using opened = await openPage(browser, site.url);
  const { page } = opened;
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(`${request.method()} ${request.url()}`));
  const ask = async (text: string) => {
    await page.getByRole("textbox").fill(text);
    await page.keyboard.press("Enter");
  };
  await ask("weather in Oslo");
  await page.getByText('The tool weather says: {"city":"Oslo"').waitFor();
  await ask("refund order 7 for 120");
  await page.getByRole("button", { name: "Refund 120 for order 7? Yes" }).click();
  await page.getByText('The tool refund says: {"orderId":"7","refunded":120}').waitFor();
  expect(await page.getByRole("button").count()).toBe(0);
  expect(asked.filter((line) => line.startsWith("POST"))).toHaveLength(3);
  expect(opened.thrown).toEqual([]);
});
