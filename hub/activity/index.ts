export { type Activity, createActivity } from './activity.ts';
export type { CallSummary, Payload } from './call.ts';
export { createCallStore } from './call-store.ts';
