import { isObject } from '#core';
import { refusal } from './refusal.ts';
import { show } from './target.ts';

const digest = /^sha(1|256|384|512)-[A-Za-z0-9+/]{27,86}={0,2}$/;
/** npm writes so what it has from whatever registry it is told to use in its place. */
const npmRegistry = 'https://registry.npmjs.org/';
const requirement =
  /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}==[a-zA-Z0-9][a-zA-Z0-9.!+_-]{0,100}( --hash=sha256:[0-9a-f]{64})+$/;

/**
 * The lock that came with a build: packages of the registry, each with its version and digest, and no
 * address, path or option. Throws HUB_BROKER_REFUSED for anything else.
 */
export function checkLock(base: 'npm' | 'python', lock: string | undefined): string | undefined {
  if (lock === undefined) return undefined;
  if (base === 'npm') checkNpm(lock);
  else checkPython(lock);
  return lock;
}

function checkPython(lock: string): void {
  const lines = lock.split('\n').filter(line => line !== '');
  const bad = lines.find(line => !requirement.test(line));
  if (bad !== undefined) throw refusal(`the line ${show(bad)} in the lock of a build`);
}

function checkNpm(text: string): void {
  let lock: unknown;
  try {
    lock = JSON.parse(text);
  } catch {
    throw refusal('a lock of a build that is not JSON');
  }
  if (!isObject(lock) || lock['lockfileVersion'] !== 3 || !isObject(lock['packages']))
    throw refusal('a lock of a build that is not of version 3');
  for (const [path, entry] of Object.entries(lock['packages'])) {
    const isGood =
      isObject(entry) && (path === '' ? isRoot(entry) : isNpmPath(path) && isNpmPackage(entry));
    if (!isGood) throw refusal(`${show(path)} in the lock of a build: ${show(entry)}`);
  }
}

const isRoot = ({ dependencies = {} }: { readonly [key: string]: unknown }) =>
  isObject(dependencies) &&
  Object.values(dependencies).every(range => typeof range === 'string' && !/[:/]/.test(range));

const isNpmPath = (path: string) =>
  path.startsWith('node_modules/') && !path.split('/').some(part => part === '.' || part === '..');

/** What is inside another package comes with it, and is digested with it. */
const isNpmPackage = (entry: { readonly [key: string]: unknown }) => {
  const { link, resolved, integrity, inBundle } = entry;
  if (link !== undefined) return false;
  if (inBundle === true) return resolved === undefined;
  return (
    typeof integrity === 'string' &&
    integrity.split(' ').every(one => digest.test(one)) &&
    (resolved === undefined || (typeof resolved === 'string' && resolved.startsWith(npmRegistry)))
  );
};
