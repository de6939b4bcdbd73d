import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { HubError } from '#core';

/** Address of an engine: the options of dockerode, and the text for messages. */
export type Address = {
  readonly text: string;
  readonly connect:
    | { readonly socketPath: string }
    | { readonly host: string; readonly port: number; readonly protocol: 'http' | 'https' };
};

/** Docker's own port for TLS (docs.docker.com/engine/security/protect-access). */
const tlsPort = 2376;

/**
 * Parses a value of DOCKER_HOST. Undefined: the default of the platform, which is the socket of Docker Desktop in the
 * home folder if it exists, otherwise the socket of the system. Throws HUB_LAUNCH_INVALID.
 */
export function parseAddress(dockerHost: string | undefined): Address {
  const text = dockerHost || defaultHost();
  const [, scheme, rest] = /^(unix|npipe|tcp|http|https):\/\/(.+)$/.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) throw unreadable(text);
  if (scheme === 'unix' || scheme === 'npipe') return { text, connect: { socketPath: rest } };
  const url = URL.parse(`tcp://${rest}`);
  if (!url?.hostname) throw unreadable(text);
  const port = Number(url.port || (scheme === 'https' ? tlsPort : 2375));
  // dockerode reads the certificates from DOCKER_CERT_PATH itself.
  const protocol = scheme === 'https' || port === tlsPort ? 'https' : 'http';
  return { text, connect: { host: url.hostname, port, protocol } };
}

function defaultHost(): string {
  if (process.platform === 'win32') return 'npipe:////./pipe/docker_engine';
  const desktop = join(homedir(), '.docker/run/docker.sock');
  return `unix://${existsSync(desktop) ? desktop : '/var/run/docker.sock'}`;
}

const forms =
  'unix:///path/to/docker.sock, npipe:////./pipe/name or tcp://host:port; for an engine behind ssh forward its socket (ssh -L) and write the local path';
const unreadable = (text: string) =>
  new HubError('HUB_LAUNCH_INVALID', `DOCKER_HOST is "${text}". Write ${forms}`);
