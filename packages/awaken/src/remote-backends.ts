import type { Backend } from "@awaken/contract";
import { A2A_PROFILE, type BackendFactory } from "@awaken/runtime";

/** What talks to A2A agents with its defaults. It is loaded when the first one is asked. */
const a2a: BackendFactory = {
  type: "a2a",
  build(endpoint) {
    let backend: Promise<Backend> | undefined;
    const built = async (): Promise<Backend> => {
      const { buildA2a } = await import("./build-a2a.ts");
      return buildA2a(endpoint);
    };
    const ready = (): Promise<Backend> => {
      backend ??= built().catch((thrown: unknown) => {
        // Whoever asks next asks for it again.
        backend = undefined;
        throw thrown;
      });
      return backend;
    };
    return {
      profile: A2A_PROFILE,
      run: async (request) => (await ready()).run(request),
      abort: async (request) => (await ready()).abort?.(request),
    };
  },
};

/** The backends that were handed in, and one for A2A unless it is among them. What is no list is left for the core to refuse. */
export function withA2a(given: readonly BackendFactory[] | undefined): readonly BackendFactory[] | undefined {
  if (given !== undefined && !Array.isArray(given)) return given;
  const isThere = given?.some((factory) => typeof factory === "object" && factory !== null && factory.type === a2a.type) ?? false;
  return isThere ? given : [...(given ?? []), a2a];
}
