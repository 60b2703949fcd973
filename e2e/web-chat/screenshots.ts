// The pictures of docs/web-pages.md: `npx node --conditions=awaken-source e2e/web-chat/screenshots.ts`.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { build } from "vite";
import { tempFolder } from "../durability/support/databases.ts";
import { openBrowser, openPage } from "./support/browser.ts";
import { openShop } from "./support/shop.ts";

const ROOT = join(import.meta.dirname, "../..");
const IMAGES = join(ROOT, "docs/images");
mkdirSync(IMAGES, { recursive: true });
using folder = tempFolder();
process.env["NODE_ENV"] = "production";
const configFile = join(ROOT, "examples/web-chat/vite.config.ts");
await build({ configFile, logLevel: "error", build: { outDir: folder.path, emptyOutDir: true } });
await using shop = await openShop(folder.path);
shop.courier.open();
const browser = await openBrowser();

const say = async (page: Page, text: string, shown: string) => {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText(shown).waitFor();
  await page.locator("main[aria-busy=false]").waitFor();
};
const shoot = (page: Page, name: string) => page.screenshot({ path: join(IMAGES, `web-chat-${name}.png`), animations: "disabled" });

{
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await page.setViewportSize({ width: 820, height: 760 });
  await say(page, "Where are orders 1041 and 1042?", "Order 1042 is");
  await say(page, "Please refund order 1041", "Refund 120 €");
  await page.getByLabel("amount").fill("90");
  await shoot(page, "approval");
}
{
  await using opened = await openPage(browser, shop.url);
  const { page } = opened;
  await page.setViewportSize({ width: 820, height: 520 });
  await page.emulateMedia({ colorScheme: "dark" });
  await say(page, "Ask billing to correct invoice 2210", "Issue a credit note");
  await shoot(page, "delegate");
}
await browser.close();
