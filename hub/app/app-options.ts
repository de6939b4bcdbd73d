import type { WatchedServers } from '#cli';
import type { Event, Log } from '#core';
import type { StdioStreams } from '#jsonrpc';
import type { Secrets } from '#secrets';
import type { Redaction } from '#telemetry';
import type { ConfigFiles } from './wire-config.ts';
import type { ServersOptions } from './wire-servers.ts';

export type AppOptions = ServersOptions & {
  readonly files: ConfigFiles;
  readonly log: Log;
  /** Fires with each line of the log as JSON. Absent: the log is not stored. */
  readonly logged?: Event<string> | undefined;
  /** Removes secrets from everything that is displayed. */
  readonly redaction: Redaction;
  readonly openSecrets: () => Promise<Secrets>;
  /**
   * Records for commands where this hub has its files. Rejects with HUB_DATA_LOCKED while a hub runs with a copy of its
   * data folder.
   */
  readonly noteHub?: (hubId: string) => Promise<void>;
  /** False for a hub that only serves the client on stdin, and opens no port. */
  readonly listens: boolean;
  readonly stdio: StdioStreams | undefined;
  /** Shows the servers on a terminal. */
  readonly watchServers?: ((servers: WatchedServers) => void) | undefined;
  readonly profile?: string | undefined;
};
