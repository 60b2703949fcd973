import { isJsonObject, type JsonValue } from "@awaken/contract";
import { openApiDocument, ROUTES, type Route } from "@awaken/contract/http";
import { agUi, aiSdk, type RequestLine, type ServerInit } from "@awaken/server";
import { afterEach, expect } from "vitest";

/** What servers answered in this test, and the document does not say of that route. */
const unnamed = new Set<string>();

/** Forgets them. */
export function takeUnnamed(): readonly string[] {
  const found = [...unnamed];
  unnamed.clear();
  return found;
}

afterEach(() => {
  expect(takeUnnamed(), "answers that the table of routes does not name").toEqual([]);
});

const entriesOf = (value: JsonValue | undefined) => Object.entries(isJsonObject(value) ? value : {});
const inDocument = (path: string): string => path.replace(/:(\w+)/g, "{$1}");

/** What the document says of each answer of a server: `GET /v1/runs/{id} 404` is `run_not_found`. */
function answersOf({ only, protocols = [aiSdk, agUi], basePath }: ServerInit): ReadonlyMap<string, string> {
  const native: Readonly<Record<string, Route>> = only === undefined ? ROUTES : {};
  const routes: Record<string, Route> = { ...native };
  for (const { id, endpoints } of only === undefined ? protocols : [only]) {
    const below = only === undefined ? `/v1/${id}` : "";
    for (const { name, route } of endpoints) routes[name] = { ...route, path: `/${`${below}${route.path}`.slice(1)}` };
  }
  const answers = new Map<string, string>();
  for (const [path, methods] of entriesOf(openApiDocument({ routes, version: "1" })["paths"])) {
    for (const [method, operation] of entriesOf(methods)) {
      const responses = isJsonObject(operation) ? operation["responses"] : undefined;
      for (const [status, said] of entriesOf(responses)) {
        const description = isJsonObject(said) ? said["description"] : undefined;
        answers.set(`${method.toUpperCase()} ${basePath ?? ""}${path} ${status}`, typeof description === "string" ? description : "");
      }
    }
  }
  return answers;
}

/** Holds every answer to what the document says of its route: the status, and the code unless something broke. */
export function held<Init extends ServerInit>(init: Init): Init {
  let answers: ReadonlyMap<string, string> | undefined;
  const onRequest = (line: RequestLine) => {
    init.onRequest?.(line);
    const { method, route, status, code } = line;
    // What no row answers has nothing to be held to, and only what has a body can be asked for without it.
    if (route === "none" || (method === "HEAD" && code === "method_not_allowed")) return;
    answers ??= answersOf(init);
    const asked = `${method === "HEAD" ? "GET" : method} ${inDocument(route)} ${status}`;
    const said = answers.get(asked);
    if (said === undefined || (code !== undefined && status !== 500 && !said.split(", ").includes(code)))
      unnamed.add(`${asked} ${code ?? ""}`);
  };
  return { ...init, onRequest };
}
