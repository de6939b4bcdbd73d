import { hash } from 'node:crypto';
import { z } from 'zod';
import { HubError, setBounded } from '#core';
import type { Driver } from './driver.ts';
import { createDriverFolder } from './folder.ts';
import { type ConfigKeys, gitEnvironment } from './git-switches.ts';
import { partsOf } from './git.ts';

const timeoutMs = 60_000;
const maxConfigBytes = 4 * 2 ** 20;
/** Maximum number of config files whose keys are cached. The oldest are dropped first. */
const maxKept = 64;
/** Maximum size in bytes of a config file whose keys are cached. */
const maxKeptBytes = 64 * 1024;

/** Lists the keys in the git config of a repository and of its worktrees. Included files are not read. */
export type ConfigKeyReader = (
  root: string,
  driver: Driver,
  signal: AbortSignal,
) => Promise<ConfigKeys>;

/** Creates a reader that runs git only for config files whose content it has not seen before. */
export function createConfigKeyReader(): ConfigKeyReader {
  /** Keys by the hash of the content, which is all that git reads for them. */
  const kept = new Map<string, ConfigKeys>();

  return async (root, driver, signal) => {
    const keys = new Set<string>();
    const addKeysOf = async (folder: string, name: string) => {
      const content = await createDriverFolder(driver, folder).read(name, maxConfigBytes, signal);
      if (content === undefined) return;
      const id = hash('sha256', content);
      const found =
        kept.get(id) ?? (await listKeys(content, `${folder}/${name}`, root, driver, signal));
      if (content.length <= maxKeptBytes) setBounded(kept, id, found, maxKept);
      for (const key of found) keys.add(key);
    };
    await addKeysOf('.git', 'config');
    await addKeysOf('.git', 'config.worktree');
    if (!keys.has('extensions.worktreeconfig')) return [...keys];
    for (const name of await createDriverFolder(driver, '.git/worktrees').folders(signal))
      await addKeysOf(`.git/worktrees/${name}`, 'config.worktree');
    return [...keys];
  };
}

async function listKeys(
  content: Buffer,
  file: string,
  root: string,
  driver: Driver,
  signal: AbortSignal,
): Promise<ConfigKeys> {
  const args = ['config', '--file', '-', '--no-includes', '--list', '--name-only', '-z'];
  // Run without a repository: this is the only command that runs before the repository's config is checked.
  const env = { ...gitEnvironment([]), GIT_DIR: '/dev/null' };
  const input = content.toString('base64');
  const params = { args, env, input, maxBytes: maxConfigBytes, timeoutMs };
  const schema = z.object({ code: z.number(), stdout: z.base64(), stderr: z.string() });
  const { code, stdout, stderr } = await driver.request(
    { method: 'git', params, timeoutMs },
    schema,
    signal,
  );
  if (code === 0) return partsOf(Buffer.from(stdout, 'base64').toString());
  throw new HubError(
    'HUB_REPOSITORY_REFUSED',
    `${root}: git cannot read ${file}: ${stderr.trim()}`,
  );
}
