import type { Route } from "@awaken/contract/http";
import type { Call, Handler } from "./served.ts";

/** A request that was let in; what the schemas of its route have read is what its handler takes. */
export type CheckedCall = Omit<Call<Route>, "query" | "body"> & { readonly query: unknown; readonly body: unknown };

/** One row of the table, and what answers it. */
export interface Endpoint {
  readonly name: string;
  readonly route: Route;
  readonly handle: (call: CheckedCall) => Promise<unknown>;
}

type Rows = Readonly<Record<string, Route>>;

/** One handler for each row: a row without one does not compile. */
export type HandlersOf<R extends Rows> = { readonly [Name in keyof R]: Handler<R[Name]> };

const isHandler = (value: unknown): value is Endpoint["handle"] => typeof value === "function";

export function endpointsOf<const R extends Rows>(routes: R, handlers: HandlersOf<R>): readonly Endpoint[] {
  return Object.entries(routes).flatMap(([name, route]) => {
    const handle: unknown = handlers[name];
    return isHandler(handle) ? [{ name, route, handle }] : [];
  });
}

/** Routes that speak to clients in words of their own. The server has it below `/v1/<id>`; an application may have it alone, wherever it wants. */
export interface Protocol {
  /** What its routes stand below, and what `/v1/system/modules` lists. */
  readonly id: string;
  /** Its routes; their paths are those behind `/v1/<id>`. */
  readonly endpoints: readonly Endpoint[];
}

/** A protocol of rows and handlers. Names of rows are unique in a server. */
export const defineProtocol = <const R extends Rows>(
  id: string,
  routes: R,
  handlers: HandlersOf<R>,
): Protocol & { readonly routes: R } => ({
  id,
  routes,
  endpoints: endpointsOf(routes, handlers),
});

/** The rows as they are found below a path. */
export const below = (path: string, endpoints: readonly Endpoint[]): readonly Endpoint[] =>
  path === ""
    ? endpoints
    : endpoints.map((endpoint) => ({
        ...endpoint,
        route: { ...endpoint.route, path: `/${path.replace(/^\//, "")}${endpoint.route.path}` },
      }));
