export {
  DeadlineExceeded,
  createAbortScope,
  neverAborted,
  sleep,
  unlessAborted,
  untilIdle,
  untilAborted,
  waitAtMost,
  within,
} from './abort.ts';
export { addressOf, isLoopback, withoutSecrets } from './address.ts';
export { type BackoffOptions, backoffMs } from './backoff.ts';
export { freeBuffer, moveToPages } from './buffer-memory.ts';
export { type Clock, type Timer, createTicker, durationText, systemClock } from './clock.ts';
export { writeMilliseconds, writeShort, writeThree, writeWhole } from './digits.ts';
export {
  type Code,
  type ErrorData,
  type ErrorKind,
  HubError,
  codes,
  errorCodeOf,
  ignoreMissing,
  isCode,
  kindOf,
  messageOf,
  retryable,
  isSqliteBusy,
} from './errors.ts';
export { type Event, createEmitter } from './events.ts';
export { isExactNumber, parseExactly, tryParseExactly } from './exact-json.ts';
export { type FairQueue, createFairQueue } from './fair-queue.ts';
export { http, https } from './http.ts';
export {
  type Json,
  type JsonObject,
  isJsonObject,
  isObject,
  stringsIn,
  tryParseJson,
} from './json.ts';
export { type Service, startAll } from './lifecycle.ts';
export { type Log, silent } from './log.ts';
export { type ThreadPace, createPace } from './pace.ts';
export { readText } from './response-text.ts';
export { isSecretFileName, isSecretFolderName } from './secret-names.ts';
export {
  assignment,
  basicCredential,
  credential,
  introducedCredentials,
  isPlaceholder,
  isSecretName,
  isUserAndPassword,
  mentionsSecret,
  secretName,
  secretWords,
} from './secret-patterns.ts';
export { setBounded } from './set-bounded.ts';
export { createSharedMap } from './shared-map.ts';
export { firstProblems, shortened, shown, typeInWords } from './shown.ts';
export { createSingleFlight } from './single-flight.ts';
export { decodePercent, decodeText, shellWord } from './text.ts';
export { type BatchSink, createWriteBatch } from './write-batch.ts';
export { type KeyedSlotMap, createKeyedSlotMap, createSlotMap } from './slot-map.ts';
