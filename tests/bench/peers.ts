import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const folder = fileURLToPath(new URL('peers', import.meta.url));
const fileOf = (path: string) => `${folder}/node_modules/${path}`;

/** Other programs that offer a stdio server over HTTP, started as their documentation says. */
export const peers = ['supergateway', 'mcp-proxy'] as const;
export type PeerName = (typeof peers)[number];

/** Returns the arguments of `node` for a peer that offers this command at /mcp, with a server process per session. */
export function peerArguments(
  name: PeerName,
  port: number,
  server: readonly string[],
): readonly string[] {
  const on = ['--port', String(port)];
  if (name === 'mcp-proxy') {
    const how = ['--server', 'stream', '--host', '127.0.0.1'];
    return [fileOf('mcp-proxy/dist/bin/mcp-proxy.mjs'), ...how, ...on, '--', ...server];
  }
  const how = ['--outputTransport', 'streamableHttp', '--stateful', '--logLevel', 'none'];
  const command = server.map(word => `"${word}"`).join(' ');
  return [fileOf('supergateway/dist/index.js'), ...how, ...on, '--stdio', command];
}

/** Installs the peers unless they are installed. Returns why that failed, as a clause; undefined if it worked. */
export async function installPeers(): Promise<string | undefined> {
  if (existsSync(fileOf('.package-lock.json'))) return undefined;
  try {
    await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: folder,
    });
    return undefined;
  } catch (error) {
    const [first = ''] = String(error).split('\n', 1);
    return `npm could not install them in tests/bench/peers: ${first}`;
  }
}
