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
export { type EventHandlers, createEventParser } from './event-parser.ts';
export { type LineChannelOptions, createLineChannel, idAtAnEnd } from './line-channel.ts';
export {
  type Edit,
  type Members,
  type ReplyBytes,
  dropMembers,
  elementsOf,
  membersOf,
  rawText,
  replace,
  setMembers,
  splice,
  stringAt,
  valueOf,
  whole,
} from './spans.ts';
export {
  type Answer,
  type Malformed,
  type Message,
  type Notification,
  type Request,
  createLookalikes,
  readAnswer,
  readMessage,
  readMessages,
} from './message.ts';
export type { Span } from './scan.ts';
export { type FramesOptions, maxMessageBytes } from './framing.ts';
export { type StdioStreams, openFrames } from './stdio-frames.ts';
