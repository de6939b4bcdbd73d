export type { Channel, Closed, Receiver } from './channel.ts';
export {
  RpcError,
  encodeCall,
  encodeError,
  encodeResult,
  errorAnswer,
  malformedAnswer,
  rpcCodes,
} from './errors.ts';
export {
  type LineChannel,
  type LineChannelOptions,
  type LineSink,
  createLineChannel,
  idAtAnEnd,
} from './line-channel.ts';
export {
  type Answer,
  type Malformed,
  type Message,
  type Notification,
  type Request,
  readMessage,
  readMessages,
} from './message.ts';
export {
  type LogLevel,
  allowsBatches,
  isKnownVersion,
  isLogLevel,
  latestVersion,
  logLevels,
  protocolVersions,
} from './protocol.ts';
export type { Span } from './scan.ts';
export { type Edit, elementsOf, membersOf, rawText, splice, stringAt, valueOf } from './spans.ts';
