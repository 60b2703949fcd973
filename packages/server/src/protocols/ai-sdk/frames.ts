import type { Chunk } from "./chunk.ts";

export const DONE = "data: [DONE]\n\n";

/** One chunk as it travels; the place to go on from is that of the event, and stands on its last chunk. */
export function frameOf(chunk: Chunk, cursor?: string): string {
  const data = `data: ${JSON.stringify(chunk)}\n\n`;
  return cursor === undefined ? data : `id: ${cursor}\n${data}`;
}
