import { describe, expect, it } from "vitest";
import { a2aServerEndpoint, a2aServerTimeoutMs, parseA2aServerSpec } from "./a2a-server.ts";
import { parseAgentSpec } from "./agent.ts";
import { parseRemoteEndpoint } from "./endpoint.ts";

const REFUSED: readonly (readonly [string, string])[] = [
  ["", "must not be empty"],
  ["   ", "must not be empty"],
  ["ftp://host/x", "must use http:// or https://"],
  ["host.example.com", "must use http:// or https://"],
  ["https:host", "must use http:// or https://"],
  ["https:\\\\host", "must use http:// or https://"],
  ["https://", "must have a host"],
  ["http:///x", "must have a host"],
  ["https:///path", "must have a host"],
  ["https://#frag", "must have a host"],
  ["http://?x=1", "must have a host"],
  ["https://host/a#b", "must not contain a fragment"],
  ["https://host#", "must not contain a fragment"],
  ["https://host/a?b=c", "must not contain a query string"],
  ["https://host?", "must not contain a query string"],
  ["https://me:pw@host", "must not contain credentials"],
  ["https://:8080", "must be a valid URL"],
  ["https://host:99999", "must be a valid URL"],
  ["https://a b.example.com", "must be a valid URL"],
  ["https://good.example.com\\@evil.example.com", "must not contain credentials"],
  ["https://good.example.com\\evil", "must be a valid URL"],
  ["https://ho\nst", "must be a valid URL"],
];

describe("remote endpoint", () => {
  it("has the defaults of the specification", () => {
    const stored = { type: "a2a", baseUrl: "https://host/agents", timeoutMs: 300_000, options: {} };
    expect(parseRemoteEndpoint({ baseUrl: "https://host/agents" })).toEqual(stored);
    expect(parseRemoteEndpoint({ a2a: " https://host/agents " })).toEqual(stored);
  });

  it("takes every type of backend, since who can build it is not known here", () => {
    expect(parseRemoteEndpoint({ type: "grpc", baseUrl: "http://h" }).type).toBe("grpc");
    expect(() => parseRemoteEndpoint({ type: " ", baseUrl: "http://h" })).toThrow("field 'type' cannot be empty");
  });

  it.each(["HTTPS://Host", "http://127.0.0.1:8080/a/b", "https://[::1]:3000", "https://host/%20x"])("takes %s", (baseUrl) => {
    expect(parseRemoteEndpoint({ baseUrl }).baseUrl).toBe(baseUrl);
  });

  it.each(REFUSED)("registry-and-runtime 23: refuses %j, it %s", (url, problem) => {
    const message = `remote endpoint baseUrl ${problem}`;
    expect(() => parseRemoteEndpoint({ baseUrl: url })).toThrow(`invalid remote endpoint spec: ${message}`);
    expect(() => parseAgentSpec("legal", { remote: { a2a: url } })).toThrow(`invalid agent spec: ${message} (agent 'legal')`);
    expect(() => parseA2aServerSpec("s", { baseUrl: url })).toThrow(`invalid A2A server spec: ${message} (A2A server 's')`);
  });

  it.each([
    [{ type: "basic", token: "x" }, "remote endpoint auth type 'basic' is unsupported"],
    [{ type: "bearer", token: " " }, "remote endpoint auth token must not be empty"],
    [{ type: "bearer", token: "***" }, "remote endpoint auth token cannot be a redacted placeholder"],
    [{ type: "bearer", token: 123456 }, "field 'auth.token' must be a string, got a number"],
    [{ type: "bearer" }, "field 'auth.token' is required"],
    [{ token: "x" }, "field 'auth.type' is required: expected 'bearer'"],
  ])("refuses auth %j", (auth, problem) => {
    expect(() => parseRemoteEndpoint({ a2a: "https://h", auth })).toThrow(problem);
  });

  it("keeps a refused token out of the message", () => {
    const auth = { type: "bearer", token: "s3cr3t", extra: 1 };
    expect(() => parseRemoteEndpoint({ a2a: "https://h", auth })).toThrow(/^(?!.*s3cr3t).*unknown field 'auth.extra'/);
  });
});

describe("A2A server", () => {
  const server = parseA2aServerSpec("hub", {
    baseUrl: "https://hub",
    auth: { type: "bearer", token: "abc" },
    target: "default",
    timeoutMs: 90_000,
    options: { pollIntervalMs: 10 },
  });

  it("waits ten seconds unless told, and never longer than thirty", () => {
    expect(a2aServerTimeoutMs(parseA2aServerSpec("s", { baseUrl: "https://h" }))).toBe(10_000);
    expect(a2aServerTimeoutMs(parseA2aServerSpec("s", { baseUrl: "https://h", timeoutMs: 0 }))).toBe(1);
    expect(a2aServerTimeoutMs(server)).toBe(30_000);
  });

  it("becomes an endpoint that says where it came from", () => {
    expect(a2aServerEndpoint(server)).toEqual({
      type: "a2a",
      baseUrl: "https://hub",
      auth: server.auth,
      target: "default",
      timeoutMs: 90_000,
      options: { pollIntervalMs: 10, a2aServerId: "hub" },
    });
    expect(server.options).toEqual({ pollIntervalMs: 10 });
  });

  it("lets one agent have its own target", () => {
    expect(a2aServerEndpoint(server, "billing").target).toBe("billing");
    expect(a2aServerEndpoint(parseA2aServerSpec("s", { baseUrl: "https://h" }))).not.toHaveProperty("target");
  });

  it("refuses fields that it does not know", () => {
    expect(() => parseA2aServerSpec("s", { baseUrl: "https://h", type: "a2a" })).toThrow("unknown field 'type'");
  });
});
