export type {
  About,
  ServerConnection,
  ServerRequest,
  Caller,
  ResponseStream,
  Owner,
  ForwardedRequest,
  Relayed,
  ServerNotification,
  Upstream,
} from './upstream-types.ts';
export { type LimitedLog, createLimitedLog } from './limited-log.ts';
export { createPace } from './pace.ts';
export { createUpstream } from './upstream.ts';
export {
  type Elicitation,
  type ElicitationAnswer,
  type ElicitationQuestion,
  InputRequired,
  answerIn,
  createElicitation,
  takesForms,
} from './elicitation.ts';
