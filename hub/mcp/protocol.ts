/** The sessionful revisions of MCP, newest first (modelcontextprotocol.io/specification). */
export const protocolVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** The newest revision, which the hub offers to servers and to clients that ask for an unknown one. */
export const latestVersion = protocolVersions[0];

/**
 * How a client or a server speaks MCP: `legacy` opens a session with `initialize` (revisions up to
 * 2025-11-25), `modern` tells all about itself in every request (2026-07-28).
 */
export type Era = 'legacy' | 'modern';

/** The stateless revision. */
export const modernVersion = '2026-07-28';

/** What `server/discover` names, and the refusal of another revision (-32022): the stateless ones. */
export const modernVersions = [modernVersion] as const;

/** What the members of `params._meta` and `result._meta` are called that MCP 2026-07-28 defines. */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

/** The extension by which MCP 2026-07-28 has tasks. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** True for a sessionful revision that the hub speaks. */
export function isKnownVersion(version: unknown): version is (typeof protocolVersions)[number] {
  return protocolVersions.some(known => known === version);
}

/** Batches were part of MCP in its first two revisions and are refused since 2025-06-18. */
export function allowsBatches(version: string): boolean {
  return version === '2025-03-26' || version === '2024-11-05';
}

/** Levels of `notifications/message`, from the most talkative on (RFC 5424). */
export const logLevels = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
] as const;
export type LogLevel = (typeof logLevels)[number];

/** True for a level of the specification. */
export function isLogLevel(level: unknown): level is LogLevel {
  return logLevels.some(known => known === level);
}
