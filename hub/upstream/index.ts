export type {
  About,
  ServerRequest,
  Caller,
  ResponseStream,
  Owner,
  ForwardedRequest,
  Relayed,
  ServerNotification,
} from './caller.ts';
export { type LimitedLog, createLimitedLog } from './limited-log.ts';
export { createPace } from './pace.ts';
export { type Upstream, createUpstream } from './upstream.ts';
