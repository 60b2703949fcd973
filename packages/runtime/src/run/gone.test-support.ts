import { vi } from "vitest";
import { Door } from "../stream/door.ts";

/** As in a process that has not needed the part yet, and whose files are gone. */
export function gone(door: Door<unknown>): void {
  vi.spyOn(door, "room", "get").mockReturnValue(undefined);
  const missing = new Door<unknown>(() => Promise.reject(new Error("no such file")));
  vi.spyOn(door, "open").mockImplementation(() => missing.open());
}

/** As in a process that has not needed the part yet, and can load it until it calls what this gives: then its files are gone. */
export function notYet(door: Door<unknown>): () => void {
  const open = door.open.bind(door);
  const room = vi.spyOn(door, "room", "get").mockReturnValue(undefined);
  const opened = vi.spyOn(door, "open").mockImplementation(async () => {
    room.mockRestore();
    opened.mockRestore();
    return open();
  });
  return () => {
    if (door.room === undefined) gone(door);
  };
}

export const GONE = { code: "part_not_loaded", message: "a part is not loaded: no such file" };

/** As in a process that is about to load the part: it is there when what this gives is called. */
export function slow(door: Door<unknown>): () => Promise<void> {
  const open = door.open.bind(door);
  const arrival = Promise.withResolvers<void>();
  const room = vi.spyOn(door, "room", "get").mockReturnValue(undefined);
  const enter = async (): Promise<unknown> => {
    await arrival.promise;
    room.mockRestore();
    opened.mockRestore();
    return open();
  };
  let loading: Promise<unknown> | undefined;
  const opened = vi.spyOn(door, "open").mockImplementation(() => {
    loading ??= enter();
    return loading;
  });
  return async () => {
    arrival.resolve();
    await loading;
    // Whoever waited for it has gone on.
    await new Promise((done) => setTimeout(done, 1));
  };
}
