import assert from "node:assert/strict";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { build } from "vite";
import { tempFolder } from "../../e2e/durability/support/databases.ts";
import { openBrowser, openPage } from "../../e2e/web-chat/support/browser.ts";
import { openShop, type Shop } from "../../e2e/web-chat/support/shop.ts";
import { openCopilot } from "./copilot.ts";

const said = (page: Page) => page.getByTestId("copilot-assistant-message");
const reads = (page: Page, text: string) => said(page).getByText(text).first().waitFor();
const call = (page: Page, tool: string, status: string) => page.locator(`[data-tool=${tool}][data-status=${status}]`);
const threadOf = (page: Page) => new URL(page.url()).hash.slice(1);

async function say(page: Page, text: string): Promise<void> {
  await page.getByPlaceholder("Write a message").fill(text);
  await page.keyboard.press("Enter");
}

type Story = (shop: Shop, page: Page) => Promise<void>;

const STORIES: Readonly<Record<string, Story>> = {
  async "text comes as it is written"(shop, page) {
    const gate = shop.holdAt("Things");
    await say(page, "How do returns work?");
    await reads(page, "up to four.");
    assert.doesNotMatch(await said(page).last().innerText(), /Things/);
    gate.open();
    await reads(page, "the same day.");
    await say(page, "Hello");
    await reads(page, "I can find orders");
  },

  async "two calls are at work at the same time, and each shows its own result"(shop, page) {
    await say(page, "Where are orders 1041 and 1042?");
    await call(page, "track_order", "inProgress").nth(1).waitFor();
    shop.courier.open();
    await reads(page, "Order 1042 is on its way.");
    assert.deepEqual(await call(page, "track_order", "complete").locator(".detail").allInnerTexts(), [
      "1041 · on its way",
      "1042 · on its way",
    ]);
  },

  async "an approval, and what runs is what the person wrote"(_, page) {
    await say(page, "Please refund order 1041");
    await page.getByText("Refund 120 € for order 1041?").waitFor();
    await page.getByLabel("amount").fill("90");
    await page.getByRole("button", { name: "Approve with changes" }).click();
    await reads(page, "Done: 90 € for order 1041");
    await call(page, "refund", "complete").getByText("1041 · 90").waitFor();
    assert.equal(await page.locator("form.approval").count(), 0);
  },

  async "what was declined is not done"(_, page) {
    await say(page, "Please refund order 1041");
    await page.getByRole("button", { name: "Decline" }).click();
    await reads(page, "That was not done");
  },

  async "what a delegate asks is asked in the conversation"(_, page) {
    await say(page, "Ask billing to correct invoice 2210");
    await page.getByText("Issue a credit note of 45 € on invoice 2210?").waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await reads(page, "Billing is done");
  },

  async "a page that is loaded again while an approval waits shows it, and it can be given"(_, page) {
    await say(page, "Please refund order 1041");
    await page.getByText("Refund 120 € for order 1041?").waitFor();
    await page.reload();
    await page.getByText("Refund 120 € for order 1041?").waitFor();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await reads(page, "Done: 120 € for order 1041");
  },

  async "stop ends the run on the server"(shop, page) {
    shop.holdAt("Things");
    await say(page, "How do returns work?");
    await reads(page, "up to four.");
    await page.getByTestId("copilot-send-button").click();
    while ((await shop.endOf(threadOf(page))) !== "cancelled") await page.waitForTimeout(50);
  },
};

async function playOne(browser: Browser, page: string, story: Story): Promise<void> {
  await using shop = await openShop(page, openCopilot);
  await using opened = await openPage(browser, shop.url);
  const elsewhere: string[] = [];
  opened.page.on("request", (request) => {
    if (!request.url().startsWith(shop.url) && !request.url().startsWith("data:")) elsewhere.push(request.url());
  });
  await story(shop, opened.page);
  assert.deepEqual(opened.thrown, []);
  assert.deepEqual(elsewhere, [], "nobody else is told");
}

export async function play(): Promise<void> {
  using folder = tempFolder();
  const configFile = join(import.meta.dirname, "vite.config.ts");
  await build({ configFile, mode: "production", logLevel: "error", build: { outDir: folder.path, emptyOutDir: true } });
  const browser = await openBrowser();
  try {
    for (const [title, story] of Object.entries(STORIES)) {
      await playOne(browser, folder.path, story);
      console.log(`✓ ${title}`);
    }
  } finally {
    await browser.close();
  }
}
