import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { HubError } from '#core';

/** Where an engine answers: what dockerode connects to, and the text that messages show. */
export type Address = {
  readonly text: string;
  readonly connect:
    | { readonly socketPath: string }
    | {
        readonly host: string;
        readonly port: number;
        readonly protocol: 'http' | 'https';
      };
};

/** Docker's own port for TLS (docs.docker.com/engine/security/protect-access). */
const tlsPort = 2376;

/**
 * Reads a value of DOCKER_HOST. Undefined stands for the platform's default: Docker Desktop's socket
 * in the home folder where there is one, else the system's. Throws HUB_LAUNCH_INVALID.
 */
export function parseAddress(dockerHost: string | undefined): Address {
  const text = dockerHost || defaultHost();
  const [, scheme, rest] = /^(unix|npipe|tcp|http|https):\/\/(.+)$/.exec(text) ?? [];
  if (scheme === undefined || rest === undefined) throw unreadable(text);
  if (scheme === 'unix' || scheme === 'npipe') return { text, connect: { socketPath: rest } };
  const url = URL.parse(`tcp://${rest}`);
  if (!url?.hostname) throw unreadable(text);
  const port = Number(url.port || (scheme === 'https' ? tlsPort : 2375));
  // Certificates come from DOCKER_CERT_PATH, which dockerode reads beside DOCKER_HOST.
  const protocol = scheme === 'https' || port === tlsPort ? 'https' : 'http';
  return { text, connect: { host: url.hostname, port, protocol } };
}

function defaultHost(): string {
  if (process.platform === 'win32') return 'npipe:////./pipe/docker_engine';
  const desktop = join(homedir(), '.docker/run/docker.sock');
  return `unix://${existsSync(desktop) ? desktop : '/var/run/docker.sock'}`;
}

const unreadable = (text: string) =>
  new HubError(
    'HUB_LAUNCH_INVALID',
    `DOCKER_HOST is "${text}". Write unix:///path/to/docker.sock, npipe:////./pipe/name or tcp://host:port; ` +
      `for an engine behind ssh forward its socket (ssh -L) and name the local end`,
  );
