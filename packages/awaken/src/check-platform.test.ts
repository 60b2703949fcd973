import { describe, expect, it } from "vitest";
import { checkPlatform } from "./check-platform.ts";
import { createRuntime } from "./index.ts";

describe("the platform", () => {
  it("a Node that is too old is told in one line; what is no Node is not judged by its version of it", () => {
    expect(() => checkPlatform({ node: "20.11.0" })).toThrow(
      expect.objectContaining({ code: "unsupported_platform", message: "awaken needs Node 24 or newer, and this is Node 20.11.0" }),
    );
    for (const versions of [{ node: "24.0.0" }, { node: "22.6.0", bun: "1.2.0" }, { node: "20.11.1", deno: "2.0.0" }, {}, undefined]) {
      expect(() => checkPlatform(versions)).not.toThrow();
    }
  });

  it("createRuntime looks at the Node that it runs on", () => {
    const { versions } = process;
    Object.defineProperty(process, "versions", { value: { ...versions, node: "20.0.0" }, configurable: true });
    try {
      expect(() => createRuntime({ agents: {} })).toThrow(/Node 20\.0\.0/);
    } finally {
      Object.defineProperty(process, "versions", { value: versions, configurable: true });
    }
  });
});
