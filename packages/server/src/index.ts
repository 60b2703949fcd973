export type { RequestLine } from "./answer.ts";
export { type AwakenServer, createServer, type ServerInit } from "./create-server.ts";
export { type Access, type ApiKey, apiKeys, type Caller, hashApiKey, type RequestHead } from "./http/access.ts";
export type { ServerLimits } from "./http/limits.ts";
export type { MetricRegistry } from "./http/metrics.ts";
export { type NodeRequest, type NodeResponse, nodeListener } from "./node-listener.ts";
// Public: for whoever has events of his own and wants their frames.
export { AgUiEncoder } from "./protocols/ag-ui/encoder.ts";
export { agUi } from "./protocols/ag-ui/routes.ts";
// Public: for whoever has events of his own and wants their frames.
export { AiSdkEncoder } from "./protocols/ai-sdk/encoder.ts";
export { aiSdk } from "./protocols/ai-sdk/routes.ts";
// Public: for whoever brings a protocol of his own.
export { defineProtocol, type Endpoint, type Protocol } from "./routes/endpoint.ts";
export type { ServedRuntime } from "./routes/served.ts";
export { type RunningServer, type ServeInit, serve } from "./serve.ts";
