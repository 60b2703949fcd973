// The desk in CopilotKit: `npx node --conditions=awaken-source examples/copilot/main.ts`, then open the address that it prints.
import { join } from "node:path";
import { sqliteStore } from "awaken/sqlite";
import { build } from "vite";
import { openDesk } from "../web-chat/agents.ts";
import { demoModel } from "../web-chat/demo-model.ts";
import { openSite } from "../web-chat/site.ts";
import { openCopilot } from "./copilot.ts";

await build({ configFile: join(import.meta.dirname, "vite.config.ts"), logLevel: "error" });
const runtime = openDesk({ provider: demoModel(), store: sqliteStore("copilot.db") });
const site = await openSite(openCopilot(runtime), { page: join(import.meta.dirname, "dist"), port: Number(process.env["PORT"] ?? 3000) });
console.log(`The desk is open: ${site.url}`);
process.once("SIGINT", () => void site[Symbol.asyncDispose]());
