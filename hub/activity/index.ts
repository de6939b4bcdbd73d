export { type Activity, createActivity } from './activity.ts';
export type { ActivityFilter, CallSummary, Payload } from './call.ts';
