import { delimiter } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Folders that npm and npx put at the start of PATH: those of programs of packages, and one of npm itself. */
const ofNpm = /[\\/]node_modules[\\/]\.bin$|[\\/]node-gyp-bin$/;

/** Returns PATH without the folders that npm and npx add, some of which npx removes later. */
export function ownPath({ PATH = '', npm_command: command }: Environment): string {
  if (command === undefined) return PATH;
  const folders = PATH.split(delimiter);
  const first = folders.findIndex(folder => !ofNpm.test(folder));
  return first === -1 ? PATH : folders.slice(first).join(delimiter);
}
