export { sameJson } from "../json.ts";
export { answerOf, atOnce } from "./at-once.ts";
export { checkCommit } from "./check-commit.ts";
export { checkPlainCommit, isPlainCommit } from "./check-plain-commit.ts";
export { clampLimit } from "./clamp-limit.ts";
export type {
  DispatchChange,
  // Public: stores of others spell it.
  PendingChange,
} from "./commit.ts";
export {
  type CommitResult,
  type CommitThread,
  isAside,
  isEnding,
  MAX_COMMIT_ATTEMPTS,
  type MessageDelta,
  needsFence,
  type PendingConsumption,
  type ThreadCommit,
} from "./commit.ts";
export { isComposed } from "./composed-commit.ts";
// Public: stores of others spell it.
export type { ConfigGuard } from "./config-records.ts";
export {
  type ConfigEntry,
  type ConfigKey,
  type ConfigStore,
  checkConfigRevision,
  readConfigRow,
  stampConfigRecord,
  toConfigRow,
} from "./config-records.ts";
export { arePlainMessages, userPartsSchema } from "./content-schema.ts";
export {
  cancelDispatch,
  compareDispatches,
  expireDispatch,
  extendLease,
  isLeaseOver,
  type LastOpen,
  nackDispatch,
  queueBehind,
  recordStart,
  releaseDispatch,
  supersedeDispatch,
} from "./dispatch-moves.ts";
export type {
  // Public: stores of others spell it.
  AckedDispatch,
  // Public: stores of others spell it.
  CancelledDispatch,
  DeadLetterDispatch,
  // Public: stores of others spell it.
  DispatchEcho,
  DispatchResult,
} from "./dispatch-record.ts";
export {
  type ClaimedDispatch,
  DISPATCH_STATUSES,
  type DispatchRecord,
  type DispatchStatus,
  dispatchRecord,
  type QueuedDispatch,
  type SupersededDispatch,
} from "./dispatch-record.ts";
// Public: stores of others spell it.
export type { Lease } from "./dispatch-transitions.ts";
export {
  ackDispatch,
  claimQueued,
  deadLetterDispatch,
  isDispatchOver,
  type NewDispatch,
  queueDispatch,
  queueVouched,
  readClaim,
  recordResult,
} from "./dispatch-transitions.ts";
export type {
  Claim,
  ClaimedRecords,
  ClaimRequest,
  Consumer,
  DispatchPosition,
  DispatchQueue,
  DispatchStore,
  Fence,
  InterruptedThread,
  // Public: stores of others spell it.
  LeaseRenewal,
  RunHint,
  ScopedDispatch,
  ScopedHint,
  ScopedThread,
} from "./dispatches.ts";
export { DONE_NATURALLY } from "./done-naturally.ts";
export { effectKey } from "./effect-key.ts";
export { effectiveMessages, foldedUpTo, GrowingView, type SequencedMessage, showEdit } from "./effective-view.ts";
export { eventDraft, storedEvent } from "./event-records.ts";
export { EVENT_SCHEMA_VERSION } from "./event-version.ts";
export {
  type EventAppend,
  type EventCursor,
  type EventDraft,
  type EventScope,
  type EventStart,
  type EventStore,
  type EventTarget,
  type EventVisibility,
  eventCursor,
  isSameEvent,
  type StoredEvent,
} from "./events.ts";
export { followUp } from "./follow-up.ts";
export { inputModeOf } from "./input-mode.ts";
// Public: stores of others spell it.
export type { EffectOwner } from "./ledger.ts";
export {
  claimEffect,
  type LedgerClaim,
  type LedgerEntry,
  type LedgerOutcome,
  type LedgerStore,
  ledgerEntry,
  settleEffect,
} from "./ledger.ts";
export { type LiveStore, MAX_PARCEL_BYTES, type Parcel } from "./live.ts";
export { checkMessageDelta } from "./message-delta.ts";
export { messageFact } from "./message-fact.ts";
export type { MessageFilter, MessageStore } from "./messages.ts";
export { type Outbound, touchedThreads } from "./outbound.ts";
export { MAX_LIMIT, type Order, type Page } from "./page.ts";
export type {
  DeliveryMode,
  // Public: stores of others spell it.
  PendingEdit,
} from "./pending.ts";
export {
  type Boundary,
  type NewPending,
  type PendingQueue,
  type PendingRecord,
  type PendingStore,
  pendingRecord,
  selectPending,
} from "./pending.ts";
export { checkPendingRevision, editPending, renumberPending, reorderPending, toPendingRecords, toQueue } from "./pending-queue.ts";
export { isPlainLog } from "./plain-log.ts";
export {
  PROFILE_SCHEMA_VERSION,
  type ProfileOwner,
  type ProfileRecord,
  type ProfileStore,
  profileOwner,
  profileRecord,
} from "./profiles.ts";
export type { RecordKind } from "./record.ts";
export { runRecord } from "./run-schema.ts";
export type { RunFilter, RunPosition, RunStore } from "./runs.ts";
export { small } from "./small.ts";
export {
  DEFAULT_RETENTION,
  hasQueue,
  type QueuePorts,
  type QueueStore,
  type QueueStoreStats,
  type Retention,
  type ScopedQueueStore,
  type ScopedStore,
  type Store,
  type StorePorts,
  type StoreStats,
  type SweepResult,
} from "./store.ts";
export {
  STREAM_CHECKPOINT_SCHEMA_VERSION,
  type StreamCheckpoint,
  type StreamCheckpointStore,
  streamCheckpoint,
} from "./stream-checkpoints.ts";
// Public: stores of others spell it.
export type { NewThread, ThreadPatch } from "./thread.ts";
export { checkLineage, patchThread, toThreadRecord } from "./thread.ts";
// Public: stores of others spell it.
export type { LatestRun, ThreadMetadata } from "./thread-projection.ts";
export {
  MESSAGE_SCHEMA_VERSION,
  type MessageRecord,
  newThread,
  projectRun,
  type ThreadRecord,
} from "./thread-projection.ts";
export { messageRecord, threadRecord, threadState } from "./thread-rows.ts";
export type { ChildStrategy, ThreadFilter, ThreadHead, ThreadPosition, ThreadStore } from "./threads.ts";
export { isMediaList } from "./tool-result-schema.ts";
export { type AppendedWish, type NewWish, planWish, resumeKey, type WishRecord, type WishStore, wishIdOf, wishRecord } from "./wishes.ts";
