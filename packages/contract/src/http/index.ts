export { openApiDocument } from "./open-api.ts";
export { type AnswerOf, type BodyOf, DEFAULT_BODY_BYTES, pathOf, type QueryOf, type Route, type RouteGate } from "./route.ts";
export { ROUTES, type RouteName, type Routes } from "./routes.ts";
