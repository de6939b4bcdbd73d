export type { About, Asked, Caller, Exchange, Owner, Question, Relayed, Told } from './caller.ts';
export { type LimitedLog, createLimitedLog } from './limited-log.ts';
export { createPace } from './pace.ts';
export { type Upstream, createUpstream } from './upstream.ts';
