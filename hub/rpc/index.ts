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
export { createLineSplitter } from './lines.ts';
export { type Members, dropMembers, setMembers } from './members.ts';
export { legacyTool } from './output-schema.ts';
export { type Metadata, checkMetadata } from './metadata.ts';
export {
  decodeHeaderValue,
  encodeHeaderValue,
  headerMismatch,
  headersFor,
  mcpHeaders,
  nameMember,
} from './mcp-headers.ts';
export {
  type Answer,
  type Malformed,
  type Message,
  type Notification,
  type Request,
  readMessage,
  readMessages,
} from './message.ts';
export { type ParamHeader, type ParamHeaders, readParamHeaders } from './param-headers.ts';
export {
  type Era,
  type LogLevel,
  allowsBatches,
  isKnownVersion,
  isLogLevel,
  latestVersion,
  logLevels,
  metaKeys,
  modernVersion,
  modernVersions,
  protocolVersions,
  tasksExtension,
} from './protocol.ts';
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
