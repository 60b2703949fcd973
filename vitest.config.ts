import { defineConfig } from "vitest/config";

const ALL = ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts", "e2e/**/*.test.ts"];
const CORE = ["packages/contract/src/**/*.test.ts", "packages/runtime/src/!(mailbox)/**/*.test.ts"];

export default defineConfig({
  ssr: { resolve: { conditions: ["awaken-source"] } },
  resolve: { conditions: ["awaken-source"] },
  test: {
    passWithNoTests: false,
    restoreMocks: true,
    // They end what hangs, also on a machine that is slow or busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // On two cores it would be one: most of the long tests wait for other processes.
    maxWorkers: 2,
    projects: [
      // They have no state of a process, as the servers of the mailbox are: sharing one halves what their 170 files cost.
      { extends: true, test: { name: "core", isolate: false, include: CORE } },
      { extends: true, test: { name: "rest", include: ALL, exclude: [...CORE, "**/node_modules/**"] } },
    ],
  },
});
