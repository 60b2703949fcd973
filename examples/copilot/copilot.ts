import "./no-telemetry.ts";
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime, createCopilotRuntimeHandler } from "@copilotkit/runtime/v2";
import type { Runtime } from "awaken";
import { agUi, createServer } from "awaken/server";
import type { Api } from "../web-chat/site.ts";

/** CopilotKit's runtime, which the page asks, with an agent that is ours: an `HttpAgent` of AG-UI. */
export function openCopilot(runtime: Runtime): Api {
  // Who asks: an application reads its session here. This one listens on this machine alone.
  const server = createServer({ runtime, only: agUi, access: () => ({ scopeId: "default" }) });
  const desk = new HttpAgent({
    // In this process. Of a server elsewhere it is the address alone: https://…/v1/ag-ui/agents/desk/runs
    url: "http://desk.internal/agents/desk/runs",
    fetch: (url, init) => server.fetch(new Request(url, init)),
  });
  return {
    fetch: createCopilotRuntimeHandler({ runtime: new CopilotRuntime({ agents: { desk } }), basePath: "/api/copilotkit" }),
    async close() {
      await runtime.close({ handOver: true });
      await server.close();
    },
  };
}
