import { lstat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Environment } from './env.ts';
import { isIn } from './paths.ts';

/** Names under which engines listen, wherever that is. */
const socketNames = [
  'docker.sock',
  'docker.raw.sock',
  'docker.proxy.sock',
  'podman.sock',
  'containerd.sock',
];

/** Where they listen by default; rootless ones do so in a folder for each user. */
const usualSockets = [
  '/run/docker.sock',
  '/var/run/docker.sock',
  '/run/podman/podman.sock',
  '/run/containerd/containerd.sock',
  '/run/user/0/docker.sock',
];

/**
 * What the kernel and the engine show of the machine and of all containers. The broker refuses more,
 * all of /run: it guards the engine against the hub, and this a person against a mistake.
 */
const powerful = ['/proc', '/sys', '/dev', '/var/lib/docker', '/var/lib/containerd'];

/** The engine's socket, if the environment names one. */
export function findEngineSocket(env: Environment): string | undefined {
  return /^unix:\/\/(\/.+)$/.exec(env['DOCKER_HOST']?.trim() ?? '')?.[1];
}

/**
 * Why no container may have what is at a path: it would have power over this machine. Undefined
 * for all else. A socket can be spoken to through a read-only mount too.
 */
export async function findDanger(
  path: string,
  readOnly: boolean,
  engineSocket: string | undefined,
): Promise<string | undefined> {
  const sockets = engineSocket === undefined ? usualSockets : [...usualSockets, engineSocket];
  if (
    socketNames.includes(basename(path)) ||
    sockets.some(socket => isIn(socket, path)) ||
    (await hasSocket(path))
  )
    return "it is or holds the engine's socket, which gives power over this machine; mount something else";
  const shared = powerful.find(folder => isIn(folder, path) || isIn(path, folder));
  if (shared !== undefined)
    return `it is, holds or is in ${shared}, which gives power over this machine; mount something else`;
  // The folders below it are a person's explicit choice; whoever writes to all of it makes itself root.
  if (!readOnly && isIn('/etc', path))
    return 'to write there gives power over this machine; mount it read-only, or a folder in it';
  return undefined;
}

async function hasSocket(folder: string): Promise<boolean> {
  const found = await Promise.all(
    socketNames.map(async name => await lstat(join(folder, name)).catch(() => undefined)),
  );
  return found.some(entry => entry?.isSocket());
}
