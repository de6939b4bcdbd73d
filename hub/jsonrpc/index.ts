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
export { type LineChannelOptions, createLineChannel, idAtAnEnd } from './line-channel.ts';
export { type Members, dropMembers, setMembers } from './members.ts';
export {
  type Answer,
  type Malformed,
  type Message,
  type Notification,
  type Request,
  readAnswer,
  readMessage,
  readMessages,
} from './message.ts';
export { type ReplyBytes, whole } from './reply.ts';
export type { Span } from './scan.ts';
export {
  type Edit,
  elementsOf,
  membersOf,
  rawText,
  replace,
  splice,
  stringAt,
  valueOf,
} from './spans.ts';
export { type FramesOptions, type StdioStreams, openFrames } from './stdio-frames.ts';
