import { readdir } from 'node:fs/promises';
import { type Machine, packagesFolder } from './places.ts';

/** Looks up what of a machine only Windows has. */
export async function findMachine(known: Omit<Machine, 'packages'>): Promise<Machine> {
  if (known.platform !== 'win32') return { ...known, packages: [] };
  return { ...known, packages: await readdir(packagesFolder(known)).catch(() => []) };
}
