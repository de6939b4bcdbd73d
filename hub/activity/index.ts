export { type Activity, type ActivityOptions, createActivity } from './activity.ts';
export type { ActivityFilter, CallDetail, CallSummary, Payload } from './call.ts';
