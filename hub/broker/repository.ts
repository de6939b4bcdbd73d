import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckedContainer } from './container.ts';
import { refusal, show } from './refusal.ts';
import type { HubIdentity } from './schema.ts';

const gitImage = /^agenthub\/git:[0-9a-f]{12}$/;

/**
 * Checks the containers of git and of acceptance commands. Git gets one folder, at its own path, as the user who owns
 * it, and nothing else; the broker must have built its image. Acceptance commands may run in any image, and write to no
 * folder. Rejects with HUB_BROKER_REFUSED. Call it after links in the sources were resolved.
 */
export async function checkRepositoryContainer(
  name: string,
  { Image, User, HostConfig }: CheckedContainer,
  { hubName }: HubIdentity,
): Promise<void> {
  const mounts = HostConfig.Mounts ?? [];
  const isGit = name.startsWith(`${hubName}-.git-`);
  const isGate = name.startsWith(`${hubName}-.gate-`);
  const refuse = (what: string) => refusal(`the container ${show(name)}: ${what}`);
  const [mount] = mounts;
  if (isGit || isGate) {
    if (HostConfig.NetworkMode !== 'none') throw refuse('it must have no network');
    if (mount?.Type !== 'bind' || mounts.length !== 1 || mount.Source !== mount.Target)
      throw refuse('it must have one folder of the machine, at its own path');
    if (mount.ReadOnly !== isGate)
      throw refuse(isGate ? 'its folder must be read-only' : 'its folder must be writable');
  }
  if (!isGit) {
    if (gitImage.test(Image) && !isGate) throw refuse(`only git runs in the image ${show(Image)}`);
    if (!isGate && hasPrograms(HostConfig.Tmpfs))
      throw refuse('it must not execute what it writes');
    return;
  }
  if (!gitImage.test(Image)) throw refuse(`git does not run in the image ${show(Image)}`);
  const owner = await ownerOf(mount?.Type === 'bind' ? mount.Source : '');
  if (User !== owner)
    throw refuse(`it must run as ${owner}, who owns ${show(mount?.Source)}, not as ${User}`);
}

const hasPrograms = (folders: Readonly<Record<string, string>> = {}) =>
  Object.values(folders).some(options => !options.includes(',noexec,'));

/** Returns the owner of the `.git` in a folder, or else of the folder, as `uid:gid`. */
async function ownerOf(folder: string): Promise<string> {
  const { uid, gid } = await lstat(join(folder, '.git')).catch(() => lstat(folder)); // The folder is not a repository.
  return `${uid}:${gid === 0 ? uid : gid}`;
}
