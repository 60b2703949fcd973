import { DEFAULT_SCOPE } from "@awaken/contract";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attach } from "./late-attach.ts";
import type { Readers } from "./readers.ts";
import { following } from "./relay-door.ts";

const ENDED = { done: true, value: undefined };

afterEach(() => {
  vi.restoreAllMocks();
});

describe("a reader who comes before the part that follows is loaded", () => {
  it("and leaves before it is there has entered nothing, and is told that it is over", async () => {
    const room = await following.open();
    const loading = Promise.withResolvers<typeof room>();
    vi.spyOn(following, "room", "get").mockReturnValue(undefined);
    vi.spyOn(following, "open").mockImplementation(() => loading.promise);
    const enter = vi.fn<Readers["enter"]>();
    const there: Readers = { enter, exit: () => {}, expect: () => undefined, onClosing: () => () => {} };
    const readers = { now: () => there, open: () => there };
    const events = attach(readers, DEFAULT_SCOPE, "run-1")[Symbol.asyncIterator]();
    expect(events.take()).toBeUndefined();
    const next = events.next();
    expect(await events.return()).toEqual(ENDED);
    loading.resolve(room);
    expect(await next).toEqual(ENDED);
    expect(await events.next()).toEqual(ENDED);
    expect(enter).not.toHaveBeenCalled();
  });
});
