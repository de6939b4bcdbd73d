import { isObject, tryParseJson } from '#core';
import { refusal, show } from './refusal.ts';

const integrityHash = /^sha(1|256|384|512)-[A-Za-z0-9+/]{27,86}={0,2}$/;
/** npm writes this address into a lock even when another registry is configured. */
const npmRegistry = 'https://registry.npmjs.org/';
const requirement =
  /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}==[a-zA-Z0-9][a-zA-Z0-9.!+_-]{0,100}( --hash=sha256:[0-9a-f]{64})+$/;

/** Refuses a lock unless every package comes from the registry, with a version and a digest and no other option. */
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
  const lock = tryParseJson(text);
  if (lock === undefined) throw refusal('a lock of a build that is not JSON');
  if (!isObject(lock) || lock['lockfileVersion'] !== 3 || !isObject(lock['packages']))
    throw refusal('a lock of a build that does not have lockfileVersion 3');
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

/** A bundled package is part of the package around it and covered by that digest. */
const isNpmPackage = (entry: { readonly [key: string]: unknown }) => {
  const { link, resolved, integrity, inBundle } = entry;
  if (link !== undefined) return false;
  if (inBundle === true) return resolved === undefined;
  return (
    typeof integrity === 'string' &&
    integrity.split(' ').every(one => integrityHash.test(one)) &&
    (resolved === undefined || (typeof resolved === 'string' && resolved.startsWith(npmRegistry)))
  );
};
