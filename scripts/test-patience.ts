import { vi } from "vitest";

// A set-up of every test file: a wait for a fact takes as long as the fact does. A limit ends only what hangs, also where the machine is slow.

const LEAST_MS = 120_000;

type Limits = number | { readonly timeout?: number; readonly interval?: number };

function patient(limits: Limits = {}): { timeout: number; interval?: number } {
  if (typeof limits === "number") return { timeout: Math.max(limits, LEAST_MS) };
  return { ...limits, timeout: Math.max(limits.timeout ?? 0, LEAST_MS) };
}

const { waitFor, waitUntil } = vi;
vi.waitFor = (look, limits) => waitFor(look, patient(limits));
vi.waitUntil = (look, limits) => waitUntil(look, patient(limits));
