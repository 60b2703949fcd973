import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { parseMcpServerSpec } from "./mcp-server.ts";
import { encodePlain } from "./plain.ts";

const DEFAULTS = {
  id: "fs",
  timeoutSecs: 30,
  config: {},
  restartPolicy: { enabled: false, maxAttempts: null, delayMs: 1_000, backoffMultiplier: 2, maxDelayMs: 30_000 },
};

describe("MCP server", () => {
  it("has the defaults of the specification, per transport", () => {
    expect(parseMcpServerSpec("fs", { type: "stdio", command: "npx" })).toEqual({
      ...DEFAULTS,
      type: "stdio",
      command: "npx",
      args: [],
      env: {},
    });
    expect(parseMcpServerSpec("fs", { type: "http", url: "https://h/mcp?key=1" })).toEqual({
      ...DEFAULTS,
      type: "http",
      url: "https://h/mcp?key=1",
      headers: {},
    });
  });

  it("hides the values of env and headers, and stores them", () => {
    const stdio = parseMcpServerSpec("fs", { type: "stdio", command: "x", env: { TOKEN: "s3cr3t", EMPTY: "" } });
    const http = parseMcpServerSpec("fs", { type: "http", url: "https://h", headers: { authorization: "s3cr3t" } });
    expect(inspect([stdio, http], { depth: 9 })).not.toContain("s3cr3t");
    expect(encodePlain(stdio)).toMatchObject({ env: { TOKEN: "s3cr3t", EMPTY: "" } });
    expect(encodePlain(http)).toMatchObject({ headers: { authorization: "s3cr3t" } });
    expect(encodePlain(parseMcpServerSpec("fs", stdio))).toEqual(encodePlain(stdio));
  });

  it.each([
    [{ type: "stdio" }, "field 'command' is required: expected a string"],
    [{ type: "http" }, "field 'url' is required: expected a string"],
    [{ type: "stdio", command: "x", url: "https://h" }, "unknown field 'url'"],
    [{ type: "http", url: "https://h", command: "x" }, "unknown field 'command'"],
    [{ type: "http", url: "ws://h" }, "field 'url' must use http:// or https://"],
    [{ type: "http", url: "http:///x" }, "field 'url' must have a host"],
    [{ type: "ws", url: "ws://h" }, "field 'type' must be one of 'stdio', 'http', got 'ws'"],
    [{ command: "x" }, "field 'type' must be one of 'stdio', 'http', got nothing"],
    [{ type: "stdio", command: "x", env: { A: 1 } }, "field 'env.A' must be a string, got a number"],
    [{ type: "stdio", command: "x", env: { A: "***" } }, "field 'env.A' cannot be a redacted placeholder"],
    [{ type: "stdio", command: "x", timeoutSecs: 0 }, "field 'timeoutSecs' must be greater than zero"],
    [
      { type: "stdio", command: "x", restartPolicy: { backoffMultiplier: 0.5 } },
      "field 'restartPolicy.backoffMultiplier' must be at least 1",
    ],
  ])("refuses %j", (input, problem) => {
    expect(() => parseMcpServerSpec("fs", input)).toThrow(`invalid MCP server spec: ${problem}`);
  });
});
