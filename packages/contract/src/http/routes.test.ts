import { expect, test } from "vitest";
import { ERROR_TABLE } from "../error-table.ts";
import { isJsonObject, type JsonValue } from "../json.ts";
import { openApiDocument } from "./open-api.ts";
import { commonErrors, paramsOf, pathOf, type Route } from "./route.ts";
import { ROUTES } from "./routes.ts";

const routes: Readonly<Record<string, Route>> = ROUTES;
const document = openApiDocument({ routes, version: "1.2.3" });

/** Every object of the document. */
function objectsIn(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value.flatMap(objectsIn);
  return isJsonObject(value) ? [value, ...Object.values(value).flatMap(objectsIn)] : [];
}

const at = (...path: readonly string[]): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((value, name) => (isJsonObject(value) ? value[name] : undefined), document);

test("server-and-durability 81: every route of the table is in the OpenAPI document, with what it takes, gives and refuses", () => {
  expect(document["openapi"]).toBe("3.1.0");
  for (const [name, route] of Object.entries(routes)) {
    const operation = at("paths", route.path.replace(/:([A-Za-z]+)/g, "{$1}"), route.method.toLowerCase());
    expect(operation, name).toMatchObject({ operationId: name, summary: route.summary });
    const responses = isJsonObject(operation) ? operation["responses"] : undefined;
    for (const code of [...route.errors, ...commonErrors(route)])
      expect(responses, `${name} ${code}`).toHaveProperty(String(ERROR_TABLE[code].status));
    expect(isJsonObject(operation) && "requestBody" in operation, name).toBe(route.body !== undefined);
  }
  const operations = Object.values(at("paths") ?? {}).flatMap((methods) => Object.keys(methods));
  expect(operations).toHaveLength(Object.keys(routes).length);
});

test("what has a name is written once, and every reference leads to it", () => {
  const references = objectsIn(document).flatMap((found) =>
    isJsonObject(found) && typeof found["$ref"] === "string" ? [found["$ref"]] : [],
  );
  expect(new Set(references).size).toBeGreaterThan(10);
  for (const reference of references) expect(at(...reference.replace("#/", "").split("/")), reference).toBeDefined();
  expect(at("components", "schemas", "Run")).toMatchObject({
    oneOf: expect.arrayContaining([expect.objectContaining({ type: "object" })]),
  });
});

test("no two routes are the same, and none that takes an id stands before one with a word in its place", () => {
  const seen: Route[] = [];
  for (const [name, route] of Object.entries(routes)) {
    const pattern = (path: string) => new RegExp(`^${path.replace(/:[A-Za-z]+/g, "[^/]+")}$`);
    for (const before of seen) {
      expect(
        before.method === route.method && pattern(before.path).test(route.path.replaceAll(":", "")),
        `${name} after ${before.path}`,
      ).toBe(false);
    }
    seen.push(route);
  }
});

test("a path takes its ids, whatever they are", () => {
  expect(paramsOf(ROUTES.editPending)).toEqual(["id", "pendingId"]);
  expect(pathOf(ROUTES.editPending, { id: "a/b", pendingId: "ü" })).toBe("/v1/threads/a%2Fb/pending/%C3%BC");
});

test("a query says numbers and flags in text, and nothing else", () => {
  const read = (given: unknown) => ROUTES.listThreads.query["~standard"].validate(given);
  expect(read({ limit: "999", root: "true" })).toEqual({ value: { limit: 999, root: true } });
  expect(read({ limit: "0x10" })).toMatchObject({ issues: [{ path: ["limit"], message: "must be an integer, got a string" }] });
  expect(read({ root: "yes" })).toMatchObject({ issues: [{ message: "must be true or false, got a string" }] });
  expect(read({ limt: "1" })).toMatchObject({ issues: [{ message: "is an unknown field: did you mean 'limit'?" }] });
});

test("of the streams of events only that of a run may have nothing to tell, and the document says so there alone", () => {
  const { paths } = openApiDocument({ routes, version: "1" });
  const statusesOf = (path: string, method: string) => {
    const found = isJsonObject(paths) ? paths[path] : undefined;
    const operation = isJsonObject(found) ? found[method] : undefined;
    return isJsonObject(operation) && isJsonObject(operation["responses"]) ? Object.keys(operation["responses"]) : [];
  };
  expect(statusesOf("/v1/runs/{id}/events/stream", "get")).toContain("204");
  for (const [path, method] of [
    ["/v1/runs", "post"],
    ["/v1/threads/{id}/events/stream", "get"],
  ] as const) {
    expect(statusesOf(path, method)).toContain("200");
    expect(statusesOf(path, method)).not.toContain("204");
  }
});
