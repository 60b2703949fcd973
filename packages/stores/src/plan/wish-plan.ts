import { AwakenError } from "@awaken/contract";

/** Those that stay open; `already_consumed` when one that is taken is not among them. */
export function planTakes(open: readonly string[], takes: readonly string[] = []): readonly string[] {
  if (takes.length === 0) return open;
  const missing = takes.find((id) => !open.includes(id));
  if (missing === undefined) return open.filter((id) => !takes.includes(id));
  throw new AwakenError("already_consumed", `wish '${missing}' is not open: it was taken before, or is of another run`, {
    details: { wishId: missing },
  });
}
