export { openApiDocument } from "./open-api.ts";
export { DECIDING, SUBMITTING } from "./refusals.ts";
export {
  type AnswerOf,
  type BodyInputOf,
  type BodyOf,
  DEFAULT_BODY_BYTES,
  // Public: whoever asks a server without the client makes paths with it.
  pathOf,
  type QueryInputOf,
  type QueryOf,
  type Route,
  type RouteGate,
} from "./route.ts";
export { ROUTES, type RouteName, type Routes } from "./routes.ts";
