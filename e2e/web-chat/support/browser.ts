import chromium from "@sparticuz/chromium";
import { type Browser, chromium as driver, type Page } from "playwright-core";

/** A Chromium that needs nothing of the system, so that the tests start on a bare machine. */
export async function openBrowser(): Promise<Browser> {
  return driver.launch({ executablePath: await chromium.executablePath(), args: ["--no-sandbox", "--disable-gpu"] });
}

export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** What the page threw and did not catch. */
  readonly thrown: readonly Error[];
  /** Requests that it sent, without those for files. */
  readonly requests: readonly string[];
}

export async function openPage(browser: Browser, url: string): Promise<OpenPage> {
  const context = await browser.newContext({ viewport: { width: 820, height: 640 }, colorScheme: "light" });
  const page = await context.newPage();
  const thrown: Error[] = [];
  const requests: string[] = [];
  page.on("pageerror", (error) => void thrown.push(error));
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/api/")) requests.push(`${request.method()} ${pathname}`);
  });
  await page.goto(url);
  return { page, thrown, requests, [Symbol.asyncDispose]: () => context.close() };
}
