import { defineConfig } from "vitest/config";

export default defineConfig({
  ssr: { resolve: { conditions: ["awaken-source"] } },
  resolve: { conditions: ["awaken-source"] },
  test: {
    include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts", "examples/**/*.test.ts", "e2e/**/*.test.ts"],
    passWithNoTests: false,
    restoreMocks: true,
    // They end what hangs, also on a machine that is slow or busy.
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
