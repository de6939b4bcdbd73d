import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Environment } from './variables.ts';
import { isIn } from './paths.ts';

/** File names of engine sockets. They are refused in any folder. */
const socketNames = [
  'docker.sock',
  'docker.raw.sock',
  'docker.proxy.sock',
  'podman.sock',
  'containerd.sock',
];

/** Default socket paths. Rootless engines use a folder per user. */
const defaultSockets = [
  '/run/docker.sock',
  '/var/run/docker.sock',
  '/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/run/user/0/docker.sock',
];

/**
 * Folders in which the kernel and the engine expose the machine. The broker, which protects the engine, refuses more.
 */
const exposingFolders = ['/proc', '/sys', '/dev', '/var/lib/docker', '/var/lib/containerd'];

/** Path of the engine's socket, if DOCKER_HOST names one. */
export function findEngineSocket(env: Environment): string | undefined {
  return /^unix:\/\/(\/.+)$/.exec(env['DOCKER_HOST']?.trim() ?? '')?.[1];
}

/**
 * Returns why mounting `path` would let a container take over this machine. A socket is refused even read-only, because
 * a read-only mount does not prevent connections.
 */
export async function findSandboxEscape(
  path: string,
  readOnly: boolean,
  engineSocket: string | undefined,
): Promise<string | undefined> {
  const sockets = engineSocket === undefined ? defaultSockets : [...defaultSockets, engineSocket];
  if (
    socketNames.includes(basename(path)) ||
    sockets.some(socket => isIn(socket, path)) ||
    (await hasSocket(path))
  )
    return "it is or contains the engine's socket, which gives control over this machine; mount something else";
  const shared = exposingFolders.find(folder => isIn(folder, path) || isIn(path, folder));
  if (shared !== undefined)
    return `it is, contains or is in ${shared}, which gives control over this machine; mount something else`;
  // A subfolder of /etc is the user's explicit choice. Write access to all of /etc is equivalent to root.
  if (!readOnly && isIn('/etc', path))
    return 'write access to it gives control over this machine; mount it read-only, or mount a folder in it';
  return undefined;
}

async function hasSocket(folder: string): Promise<boolean> {
  const found = await Promise.all(
    socketNames.map(async name => await lstat(join(folder, name)).catch(() => undefined)), // no such file
  );
  return found.some(entry => entry?.isSocket());
}
