export { openApiDocument } from "./open-api.ts";
export {
  type AnswerOf,
  type BodyInputOf,
  type BodyOf,
  CHAT_BODY_BYTES,
  commonErrors,
  DEFAULT_BODY_BYTES,
  paramsOf,
  pathOf,
  type QueryInputOf,
  type QueryOf,
  type Route,
  type RouteAnswer,
  type RouteGate,
  type RouteHeader,
} from "./route.ts";
export { ROUTES, type RouteName, type Routes } from "./routes.ts";
