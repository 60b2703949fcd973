/** What the model reads where a call was cut off. */
export const INTERRUPTED_RESULT = "[Tool execution was interrupted]";
