import { ERROR_TABLE } from "../error-table.ts";
import { EVENT_TABLE } from "../event-table.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import type * as s from "../schema/all.ts";
import { toJsonSchema } from "../schema.ts";
import { commonErrors, paramsOf, ROUTE_HEADERS, type Route } from "./route.ts";
import { errorBodySchema } from "./schemas.ts";

interface DocumentInit {
  readonly routes: Readonly<Record<string, Route>>;
  readonly version: string;
  /** How an API key is given. */
  readonly title?: string;
}

const REF = "#/components/schemas/";

/** Schemas that have a name, each once. */
class Components {
  readonly schemas: Record<string, JsonObject> = {};

  readonly define: s.Definitions = (name, json) => {
    if (!(name in this.schemas)) {
      // Before it is written: it may lead back to itself.
      this.schemas[name] = {};
      this.schemas[name] = json();
    }
    return { $ref: `${REF}${name}` };
  };
}

const statusOf = (code: keyof typeof ERROR_TABLE): string => String(ERROR_TABLE[code].status);

/** One response for each status, with the codes that it may have. */
function refusals(route: Route, { define }: Components): JsonObject {
  const codes = Map.groupBy(new Set([...route.errors, ...commonErrors(route)]), statusOf);
  const schema = errorBodySchema.json(define);
  const responses: Record<string, JsonObject> = {};
  for (const [status, of] of codes) responses[status] = { description: of.join(", "), content: { "application/json": { schema } } };
  return responses;
}

const EVENTS = "AgentEvent";

function eventSchema({ define }: Components): JsonObject {
  return define(EVENTS, () => ({ oneOf: Object.values(EVENT_TABLE).map(({ schema }) => toJsonSchema(schema)) }));
}

function success({ answer }: Route, components: Components): JsonObject {
  switch (answer.type) {
    case "json":
      return {
        [answer.status]: { description: "Done", content: { "application/json": { schema: answer.schema.json(components.define) } } },
      };
    case "health": {
      const content = { "application/json": { schema: answer.schema.json(components.define) } };
      return { 200: { description: "All is well", content }, 503: { description: "Not now", content } };
    }
    case "empty":
      return { [answer.status]: { description: "Done" } };
    case "text":
      return {
        200: { description: "Done", content: { [answer.contentType.split(";")[0] ?? "text/plain"]: { schema: { type: "string" } } } },
      };
    case "frames":
      return {
        200: { description: `Server-sent events: ${answer.of}.`, content: { "text/event-stream": { schema: { type: "string" } } } },
        ...(answer.canBeOver ? { 204: { description: "There is nothing to tell" } } : undefined),
      };
    case "events":
      return {
        200: {
          description: "Server-sent events: `data` is one event as JSON, `id` the cursor to go on behind it.",
          content: {
            "text/event-stream": {
              schema: { type: "string", contentMediaType: "application/json", contentSchema: eventSchema(components) },
            },
          },
        },
        ...(answer.canBeOver ? { 204: { description: "The run is over, and nothing was told behind the cursor" } } : undefined),
      };
  }
}

function parametersOf(route: Route, { define }: Components): readonly JsonObject[] {
  const inPath = paramsOf(route).map((name) => ({ name, in: "path", required: true, schema: { type: "string", pattern: "\\S" } }));
  const inHeaders = (route.headers ?? []).map((name) => ({
    ...{ name, in: "header", required: name === "If-Match", description: ROUTE_HEADERS[name], schema: { type: "string" } },
  }));
  const { properties } = route.query?.json(define) ?? {};
  const inQuery = isJsonObject(properties) ? Object.entries(properties).map(([name, schema]) => ({ name, in: "query", schema })) : [];
  return [...inPath, ...inQuery, ...inHeaders];
}

function operation(name: string, route: Route, components: Components): JsonObject {
  const { body, gate, summary } = route;
  const tag = route.path.split("/")[2] ?? "system";
  return {
    operationId: name,
    summary,
    tags: [gate === "open" ? "system" : tag],
    parameters: parametersOf(route, components),
    ...(body === undefined
      ? undefined
      : { requestBody: { required: true, content: { "application/json": { schema: body.json(components.define) } } } }),
    responses: { ...refusals(route, components), ...success(route, components) },
    security: gate === "open" ? [] : [{ [gate === "admin" ? "adminToken" : "apiKey"]: [] }],
  };
}

/** The routes as an OpenAPI 3.1 document. */
export function openApiDocument({ routes, version, title = "Awaken" }: DocumentInit): JsonObject {
  const components = new Components();
  const paths: Record<string, Record<string, JsonObject>> = {};
  for (const [name, route] of Object.entries(routes)) {
    const path = route.path.replace(/:([A-Za-z]+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(name, route, components) };
  }
  return {
    openapi: "3.1.0",
    info: { title, version },
    paths,
    components: {
      schemas: components.schemas,
      securitySchemes: { apiKey: { type: "http", scheme: "bearer" }, adminToken: { type: "http", scheme: "bearer" } },
    },
  };
}
