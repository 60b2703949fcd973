import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/test-order.ts";

const COMMAND = ["packages/awaken/src/cli/**/*.test.ts"];
const ALL = ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts", "e2e/**/*.test.ts"];
const CORE = [
  "packages/contract/src/**/*.test.ts",
  "packages/runtime/src/!(mailbox)/**/*.test.ts",
  "packages/server/src/**/*.test.ts",
  "packages/extensions/src/{pattern,permission,reminder,deferred-tools}/*.test.ts",
  "packages/awaken/src/{create-runtime,hostile-input,registry,vendor-from-env}.test.ts",
  "packages/awaken/src/cli/chat/!(console-redirect).test.ts",
];
const PROGRAMS = "scripts/test-programs.ts";
const DATABASE = ["e2e/**/*.test.ts", "packages/runtime/src/mailbox/**/*.test.ts", "packages/stores/src/**/*.test.ts"];

export default defineConfig({
  ssr: { resolve: { conditions: ["awaken-source"] } },
  resolve: { conditions: ["awaken-source"] },
  test: {
    passWithNoTests: false,
    restoreMocks: true,
    // They end what hangs, also on a machine that is slow or busy.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    setupFiles: "scripts/test-patience.ts",
    // On two cores it would be one: most of the long tests wait for other processes.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Every process that a test starts reads what the ones before it compiled: that halves what its start costs.
    env: { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] ?? join(import.meta.dirname, "node_modules/.cache/awaken/compiled") },
    projects: [
      // They leave nothing behind in a process: sharing one halves what their 200 files cost.
      { extends: true, test: { name: "core", isolate: false, include: CORE } },
      {
        extends: true,
        test: { name: "database", include: DATABASE, globalSetup: ["packages/stores/src/postgres/test-setup.ts", PROGRAMS] },
      },
      { extends: true, test: { name: "command", include: COMMAND, exclude: CORE, globalSetup: PROGRAMS } },
      { extends: true, test: { name: "rest", include: ALL, exclude: [...CORE, ...DATABASE, ...COMMAND, "**/node_modules/**"] } },
    ],
  },
});
