import { randomUUID } from "node:crypto";
import { AwakenError } from "@awaken/contract";

export interface SqlOptions {
  /** Unix milliseconds. */
  readonly clock?: () => number;
  /** Ids of events and tokens of claims. */
  readonly ids?: () => string;
  /** Parts of messages, events and effects above this size are stored once by their hash. */
  readonly blobBytes?: number;
  /** Threads that were used last are held in memory, in about so many bytes: 32 MiB when left out, none for 0. */
  readonly cacheBytes?: number;
}

/** What a store hands to all its ports. */
export interface Env {
  readonly clock: () => number;
  readonly ids: () => string;
  readonly blobBytes: number;
  /** Aborts when the store closes. */
  readonly closing: AbortSignal;
}

const DEFAULT_BLOB_BYTES = 64 * 1024;

export const createEnv = (options: SqlOptions, closing: AbortSignal, clock: () => number = Date.now): Env => ({
  clock: options.clock ?? clock,
  ids: options.ids ?? randomUUID,
  blobBytes: options.blobBytes ?? DEFAULT_BLOB_BYTES,
  closing,
});

/** Tells a thread from one that had its id before. */
export const newIncarnation = (): string => randomUUID().slice(-12);

export const closedError = (): AwakenError => new AwakenError("storage_io", "the store is closed");
export const overError = (): AwakenError => new AwakenError("storage_io", "the transaction of these ports is over");
