#!/usr/bin/env node
// What users install is built. In a checkout the sources run, under the condition that the packages find each other's sources by.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

// Sources are published too; the packages beside this one are there in a checkout alone.
if (existsSync(fileURLToPath(new URL("../../contract/src/index.ts", import.meta.url)))) {
  const child = spawn(process.execPath, ["--conditions=awaken-source", source, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal tells both of them; whoever else stops this one means the other.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
} else await import("../dist/cli/main.js");
