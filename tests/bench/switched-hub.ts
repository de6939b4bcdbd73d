import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startHub } from './subjects/hub.ts';

/** A hub whose config can be changed while it runs. */
export type SwitchedHub = AsyncDisposable & {
  readonly pid: number;
  readonly url: string;
  /** Makes the hub reload a config with the same servers and these other keys. */
  use(config: Readonly<Record<string, unknown>>): Promise<void>;
};

type Servers = Parameters<typeof startHub>[1];

/** Starts a hub whose config `use` replaces. */
export async function startSwitchedHub(
  name: string,
  servers: Servers,
  config: Readonly<Record<string, unknown>>,
): Promise<SwitchedHub> {
  await using opened = new AsyncDisposableStack();
  const hub = opened.use(await startHub(name, servers, { config }));
  const key = (await readFile(join(hub.dataDir, 'owner-key'), 'utf8')).trim();
  const kept = opened.move();
  return {
    pid: hub.pid,
    url: hub.url,
    async use(next) {
      await writeFile(hub.configFile, JSON.stringify({ ...next, servers }));
      const answer = await fetch(`${hub.url}/config/reload`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
      });
      if (!answer.ok) throw new Error(`the hub refused a config: ${await answer.text()}`);
      await answer.text();
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
