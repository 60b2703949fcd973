// A chat page for customers: `npx node --conditions=awaken-source examples/web-chat/main.ts`, then open the address that it prints.
import { join } from "node:path";
import { sqliteStore } from "awaken/sqlite";
import { build } from "vite";
import { openDesk } from "./agents.ts";
import { demoModel } from "./demo-model.ts";
import { openApi, openSite } from "./site.ts";

await build({ configFile: join(import.meta.dirname, "vite.config.ts"), logLevel: "error" });
const runtime = openDesk({ provider: demoModel(), store: sqliteStore("web-chat.db") });
const site = await openSite(openApi(runtime), { page: join(import.meta.dirname, "dist"), port: Number(process.env["PORT"] ?? 3000) });
console.log(`The desk is open: ${site.url}`);
process.once("SIGINT", () => void site[Symbol.asyncDispose]());
