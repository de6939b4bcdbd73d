export {
  decodeHeaderValue,
  encodeHeaderValue,
  headerMismatch,
  headersFor,
  mcpHeaders,
  nameMember,
} from './headers.ts';
export { hubCapability, hubIdOf, hubsOf, withHubs } from './hubs.ts';
export { checkMetadata, metaEdits } from './metadata.ts';
export { legacyTool } from './output-schema.ts';
export { type ParamHeader, readParamHeaders } from './param-headers.ts';
export {
  type Era,
  type LogLevel,
  allowsBatches,
  allowsEmptyEvents,
  isKnownVersion,
  isLogLevel,
  isStateless,
  keepsSessions,
  latestVersion,
  logLevels,
  metaKeys,
  modernVersion,
  modernVersions,
  negotiatedVersion,
  protocolVersions,
  tasksExtension,
} from './protocol.ts';
export { attemptParams, invalidState, requireMac } from './request-state.ts';
