import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NamedClients, clientTokensFile, openNamedClients } from '#access';
import type { ClientConfig, Config } from '#config';
import { type Clock, systemClock } from '#core';
import { createRecordingLog } from '#helpers/hub';

type Configured = Pick<Config, 'clients' | 'tokens'>;

/** Returns a client of the config that has only a name. */
export const plainClient = (name: string, more: Partial<ClientConfig> = {}): ClientConfig => ({
  name,
  administer: false,
  ...more,
});

/** Creates a data folder, and a config that the test changes. */
export async function openScratchClients(first: Configured = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-clients-'));
  const file = join(folder, clientTokensFile);
  const { log, logged } = createRecordingLog();
  let config = first;
  let at = Date.parse('2026-11-23T12:00:00Z');
  const clock: Clock = { ...systemClock, now: () => at };
  const open = async (administration: 'on' | 'off' = 'on'): Promise<NamedClients> =>
    await openNamedClients({ file, administration }, { config: () => config, clock, log });
  return {
    folder,
    file,
    logged,
    clock,
    open,
    text: async () => await readFile(file, 'utf8'),
    /** Replaces the config. */
    set(changed: Configured): void {
      config = changed;
    },
    pass(ms: number): void {
      at += ms;
    },
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true });
    },
  };
}
