import { readdir } from 'node:fs/promises';
import { type ClientMachine, packagesFolder } from './config-locations.ts';

/** Adds the app packages of the Windows store, which decide where some clients keep their files. */
export async function findMachine(known: Omit<ClientMachine, 'packages'>): Promise<ClientMachine> {
  if (known.platform !== 'win32') return { ...known, packages: [] };
  return { ...known, packages: await readdir(packagesFolder(known)).catch(() => []) };
}
