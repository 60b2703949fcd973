/** One thing that was looked at. */
export type Finding =
  | { readonly level: "ok"; readonly subject: string; readonly text: string }
  | { readonly level: "warn" | "fail"; readonly subject: string; readonly text: string; readonly fix: string };

export const ok = (subject: string, text: string): Finding => ({ level: "ok", subject, text });
export const warn = (subject: string, text: string, fix: string): Finding => ({ level: "warn", subject, text, fix });
export const fail = (subject: string, text: string, fix: string): Finding => ({ level: "fail", subject, text, fix });
