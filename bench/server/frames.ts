/** What every server says: one turn of twenty deltas. */
export const WORDS: readonly string[] = Array.from({ length: 20 }, (_, index) => `word${index} `);

/** The same turn as frames of an AI SDK stream, written by hand. */
export const handwritten = (): readonly object[] => [
  { type: "start" },
  { type: "start-step" },
  { type: "text-start", id: "txt_0" },
  ...WORDS.map((delta) => ({ type: "text-delta", id: "txt_0", delta })),
  { type: "text-end", id: "txt_0" },
  { type: "finish-step" },
  { type: "finish", finishReason: "stop" },
];
