export const codeUnitOrder = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** A key that every engine sorts as JavaScript sorts the text; engines sort by bytes, which puts some characters elsewhere. */
export const codeUnitKey = (text: string): string => Buffer.from(text, "utf16le").swap16().toString("hex");
