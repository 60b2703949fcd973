import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import react from "@vitejs/plugin-react";
import { build } from "vite";
import { expect } from "vitest";
import { openSite, type Site } from "../../../examples/web-chat/site.ts";
import { tempFolder } from "../../durability/support/databases.ts";

const ROOT = join(import.meta.dirname, "../../..");
/** What Vite's template of React has beside `App.tsx`. */
const HTML = '<div id="root"></div><script type="module" src="/main.tsx"></script>';
const MAIN = `
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import App from "./App.tsx";

createRoot(document.getElementById("root")!).render(<StrictMode><App /></StrictMode>);
`;

/** `src/App.tsx` as docs/web-pages.md has it, but for the port. */
function sample(url: string): string {
  const pages = readFileSync(join(ROOT, "docs/web-pages.md"), "utf8");
  const text = /## In a Vite app\n[\s\S]*?```tsx\n([\s\S]*?)```/.exec(pages)?.[1] ?? expect.fail("there is no sample for Vite");
  expect(text).toContain("http://localhost:3000/");
  return text.replace("http://localhost:3000", url);
}

/** A new React app of Vite with the lines of the docs, on a port of its own, which asks the server at `url`. */
export async function openTenLines(url: string): Promise<Site> {
  const folder = tempFolder();
  const root = folder.path;
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"), "junction");
  for (const [name, text] of Object.entries({ "index.html": HTML, "main.tsx": MAIN, "App.tsx": sample(url) })) {
    writeFileSync(join(root, name), text);
  }
  await build({ root, configFile: false, logLevel: "error", plugins: [react()], build: { outDir: join(root, "dist") } });
  const nothing = { fetch: async () => new Response(null, { status: 404 }), close: async () => {} };
  const site = await openSite(nothing, { page: join(root, "dist"), port: 0 });
  return {
    url: site.url,
    async [Symbol.asyncDispose]() {
      await site[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}
