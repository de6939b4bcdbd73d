export { type Activity, type ActivityOptions, createActivity } from './activity.ts';
export type { ActivityFilter, Call, CallDetail, Payload } from './call.ts';
