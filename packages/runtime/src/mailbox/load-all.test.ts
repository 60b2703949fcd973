import { afterEach, describe, expect, it, vi } from "vitest";
import { seldom as inferenceSeldom } from "../inference/seldom-door.ts";
import { discovery } from "../registry/remote-agents-door.ts";
import { seldom } from "../run/seldom-door.ts";
import { loadAll } from "./load-all.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("what a process with workers loads", () => {
  it("a part that cannot be loaded keeps it from none of the others", async () => {
    const tried = vi.spyOn(inferenceSeldom, "open").mockImplementation(() => Promise.reject(new Error("too many open files")));
    await loadAll(new AbortController().signal);
    expect(tried).toHaveBeenCalledOnce();
    expect(discovery.room).toHaveProperty("discoverAgents");
  });

  it("nothing more when it is closed meanwhile", async () => {
    const closing = new AbortController();
    const next = vi.spyOn(seldom, "open");
    vi.spyOn(inferenceSeldom, "open").mockImplementation(() => {
      closing.abort();
      return Promise.reject(new Error("too many open files"));
    });
    await loadAll(closing.signal);
    expect(next).not.toHaveBeenCalled();
  });
});
