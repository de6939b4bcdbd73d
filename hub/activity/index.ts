export { type Activity, type EarlierCalls, createActivity } from './activity.ts';
export type { CallSummary, Payload } from './call.ts';
export { type CallStore, type CallStoreOptions, createCallStore } from './call-store.ts';
