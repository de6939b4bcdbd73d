/** Revisions of MCP with sessions, newest first (modelcontextprotocol.io/specification). */
export const protocolVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/**
 * The newest revision with sessions, which the hub offers to servers, and to clients that request an unknown revision.
 */
export const latestVersion = protocolVersions[0];

/**
 * Era of a client or server: `legacy` opens a session with `initialize` (up to 2025-11-25), `modern` includes its
 * metadata in every request (2026-07-28).
 */
export type Era = 'legacy' | 'modern';

/** A client's request, or the handshake result of a server. */
type Side = { readonly era: Era };

/** True if each message of this side is self-contained. */
export const isStateless = (side: Side | undefined): boolean => side?.era === 'modern';

/** True if this side has sessions. */
export const keepsSessions = (side: Side | undefined): boolean => side?.era === 'legacy';

/** The stateless revision. */
export const modernVersion = '2026-07-28';

/** Stateless revisions, listed by `server/discover` and in the error for other revisions (-32022). */
export const modernVersions = [modernVersion] as const;

/** Members of `params._meta` and `result._meta` that MCP 2026-07-28 defines. */
export const metaKeys = {
  protocolVersion: 'io.modelcontextprotocol/protocolVersion',
  clientCapabilities: 'io.modelcontextprotocol/clientCapabilities',
  clientInfo: 'io.modelcontextprotocol/clientInfo',
  logLevel: 'io.modelcontextprotocol/logLevel',
  subscriptionId: 'io.modelcontextprotocol/subscriptionId',
  serverInfo: 'io.modelcontextprotocol/serverInfo',
  relatedTask: 'io.modelcontextprotocol/related-task',
} as const;

/** The tasks extension of MCP 2026-07-28. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** True for a supported revision of MCP with sessions. */
export function isKnownVersion(version: unknown): version is (typeof protocolVersions)[number] {
  return protocolVersions.some(known => known === version);
}

/** Returns the revision for a client that requests `requested` in `initialize`. */
export const negotiatedVersion = (requested: unknown): string =>
  isKnownVersion(requested) ? requested : latestVersion;

/** True for the first two revisions of MCP, which have batches. Later revisions have none. */
export function allowsBatches(version: string): boolean {
  return version === '2025-03-26' || version === '2024-11-05';
}

/** True for the revision whose streams may have events without data (MCP 2025-11-25, transports). */
export const allowsEmptyEvents = (version: string | undefined): boolean => version === '2025-11-25';

/** Levels of `notifications/message`, lowest first (RFC 5424). */
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

/** True for a log level of MCP. */
export function isLogLevel(level: unknown): level is LogLevel {
  return logLevels.some(known => known === level);
}
