import type { ErrorCode } from "../error-table.ts";
import type * as s from "../schema/all.ts";

/** Who may ask: anybody, whoever has a tenant, or whoever runs the server. */
export const GATES = ["open", "invoke", "admin"] as const;
export type RouteGate = (typeof GATES)[number];

/** What comes back when it went well. */
export type RouteAnswer =
  | { readonly type: "json"; readonly status: 200 | 201 | 202; readonly schema: s.Type }
  /** JSON of this shape with either status: 200 when all is well, else 503. */
  | { readonly type: "health"; readonly schema: s.Type }
  | { readonly type: "empty"; readonly status: 200 | 204 }
  | { readonly type: "text"; readonly contentType: string }
  /** Server-sent events: `data` is one `AgentEvent`, `id` the cursor behind it. */
  | {
      readonly type: "events";
      /** 204 when all of it was told before. */
      readonly canBeOver?: true;
    }
  /** Server-sent events in the words of a protocol, with headers that it wants to see. */
  | {
      readonly type: "frames";
      readonly of: string;
      readonly headers?: Readonly<Record<string, string>>;
      /** 204 when there is nothing to tell. */
      readonly canBeOver?: true;
    };

/** Headers that a route reads beside `Authorization`. */
export const ROUTE_HEADERS = {
  "Idempotency-Key": "Makes the id of the run: the same key and body again give the same run, another body is refused.",
  "Last-Event-ID": "The cursor of the last event that was seen: the stream goes on behind it.",
  "If-Match": "The revision that was read: the change is refused when it is not the newest any more.",
} as const;
export type RouteHeader = keyof typeof ROUTE_HEADERS;

/** One route: all that is to be said about it, once. The check of requests, OpenAPI, clients and tests come of it. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** `:name` stands for an id. */
  readonly path: `/${string}`;
  readonly gate: RouteGate;
  readonly summary: string;
  readonly query?: s.Type;
  readonly headers?: readonly RouteHeader[];
  readonly body?: s.Type;
  /** Of the body; more is refused unread. Default 1 MiB. */
  readonly maxBodyBytes?: number;
  readonly answer: RouteAnswer;
  /** What it refuses beside what every route does (`commonErrors`): a body or query that does not fit, no access, a server that is busy, leaving or late. */
  readonly errors: readonly ErrorCode[];
}

export const DEFAULT_BODY_BYTES = 1024 * 1024;
/** For what people and programs say: attachments come with it. */
export const CHAT_BODY_BYTES = 12 * 1024 * 1024;

/** What a route refuses for reasons that are not its own: what `errors` of its row need not say. */
export function commonErrors({ method, path, gate, body }: Route): readonly ErrorCode[] {
  const isRead = method === "GET";
  return [
    // A name that stands twice in a query fits no route.
    "invalid_query",
    ...(path.includes(":") ? (["invalid_id"] as const) : []),
    ...(gate === "open" ? [] : (["unauthorized", "server_busy", "shutting_down", "storage_io"] as const)),
    ...(gate === "open" || isRead ? [] : (["origin_not_allowed", "commit_unknown"] as const)),
    ...(body === undefined
      ? []
      : (["invalid_json", "invalid_body", "invalid_request", "unsupported_media_type", "payload_too_large", "request_timeout"] as const)),
    "timeout",
    "internal",
  ];
}

const PARAM = /:([A-Za-z]+)/g;

/** The names of the ids in its path. */
export const paramsOf = ({ path }: Pick<Route, "path">): readonly string[] => [...path.matchAll(PARAM)].map(([, name = ""]) => name);

/** The path with its ids in it. */
export function pathOf({ path }: Pick<Route, "path">, params: Readonly<Record<string, string>>): string {
  return path.replace(PARAM, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}

type Field<R, Name extends string, Side extends "in" | "out"> = R extends { readonly [K in Name]: infer T extends s.Type }
  ? Side extends "in"
    ? s.input<T>
    : s.output<T>
  : undefined;

export type QueryOf<R extends Route> = Field<R, "query", "out">;
/** As a client writes it. */
export type QueryInputOf<R extends Route> = Field<R, "query", "in">;
export type BodyOf<R extends Route> = Field<R, "body", "out">;
/** As a client writes it. */
export type BodyInputOf<R extends Route> = Field<R, "body", "in">;
export type AnswerOf<R extends Route> = R["answer"] extends { readonly schema: infer T extends s.Type } ? s.output<T> : undefined;
