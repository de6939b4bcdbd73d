/** The sessionful revisions of MCP, newest first (modelcontextprotocol.io/specification). */
export const protocolVersions = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const;

/** The newest revision, which the hub offers to servers and to clients that ask for an unknown one. */
export const latestVersion = protocolVersions[0];

/** True for a revision that the hub speaks. */
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
