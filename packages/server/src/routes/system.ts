import type { Handlers } from "./served.ts";

export const systemHandlers: Handlers<"health" | "live" | "metrics" | "openApi" | "systemInfo" | "systemModules" | "runsSummary"> = {
  health: ({ server }) => server.health(),
  live: async () => undefined,
  metrics: ({ server }) => server.metrics(),
  openApi: async ({ server }) => server.openApi(),
  systemInfo: async ({ server, clock }) => ({
    version: server.version,
    uptimeSeconds: Math.floor((clock.now() - server.startedAt) / 1000),
    routes: server.routes,
  }),
  systemModules: async ({ server }) => ({ modules: [...server.modules] }),
  runsSummary: async ({ tenant }) => ({ ...(await tenant.records.runs.countByStatus()) }),
};
