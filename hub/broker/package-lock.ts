import { isObject, tryParseJson } from '#core';
import { refusal, show } from './refusal.ts';

const integrityHash = /^sha(1|256|384|512)-[A-Za-z0-9+/]{27,86}={0,2}$/;
/** Address that npm writes into a lock even when another registry is configured. */
const npmRegistry = 'https://registry.npmjs.org/';
const requirement =
  /^[a-zA-Z0-9][a-zA-Z0-9._-]{0,200}==[a-zA-Z0-9][a-zA-Z0-9.!+_-]{0,100}( --hash=sha256:[0-9a-f]{64})+$/;

/**
 * Returns the lock. Throws HUB_BROKER_REFUSED unless every package comes from the registry, with a version and a digest
 * and no other option.
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
  const lock = tryParseJson(text);
  if (lock === undefined) throw refusal('a lock of a build that is not JSON');
  if (!isObject(lock) || lock['lockfileVersion'] !== 3 || !isObject(lock['packages']))
    throw refusal('a lock of a build that does not have lockfileVersion 3');
  const { packages } = lock;
  for (const [path, entry] of Object.entries(packages)) {
    const isGood =
      isObject(entry) &&
      (path === ''
        ? isRoot(entry)
        : isNpmPath(path) && isNpmPackage(path, entry) && needsOnlyNpm(path, entry, packages));
    if (!isGood) throw refusal(`${show(path)} in the lock of a build: ${show(entry)}`);
  }
}

type Entry = { readonly [key: string]: unknown };

const isRoot = ({ dependencies = {} }: Entry) =>
  isObject(dependencies) && Object.values(dependencies).every(isRange);

const namePattern = String.raw`(?:@[^@:/\s]+/)?[^@:/\s]+`;
const npmName = new RegExp(`^${namePattern}$`);
const npmPath = new RegExp(`^node_modules/${namePattern}(?:/node_modules/${namePattern})*$`);
const npmVersion = /^\d+\.\d+\.\d+(?:[-+][\w.+-]*)?$/;
/** Matches an alias of another package of the registry, such as `npm:ms@2.1.3`. */
const npmAlias = new RegExp(`^npm:${namePattern}(?:@[^@:/]+)?$`);

const isNpmPath = (path: string) =>
  npmPath.test(path) && !path.split('/').some(part => part === '.' || part === '..');

/**
 * True if an entry of a lock is a package of the npm registry. npm installs an entry without an address by its name and
 * version, and either can name another host. A bundled package is part of the package around it and covered by that
 * package's digest.
 */
const isNpmPackage = (path: string, entry: Entry) => {
  const { link, name, version, resolved, integrity, inBundle } = entry;
  if (link !== undefined) return false;
  if (name !== undefined && !(typeof name === 'string' && npmName.test(name))) return false;
  if (typeof version !== 'string' || !npmVersion.test(version)) return false;
  if (inBundle === true) return resolved === undefined && path.includes('/node_modules/');
  return (
    typeof integrity === 'string' &&
    integrity.split(' ').every(one => integrityHash.test(one)) &&
    (resolved === undefined || (typeof resolved === 'string' && resolved.startsWith(npmRegistry)))
  );
};

/**
 * True if all dependencies are from the registry. npm fetches others too, and installs them without the digest in the
 * lock.
 */
const needsOnlyNpm = (path: string, entry: Entry, packages: Entry) =>
  ['dependencies', 'optionalDependencies', 'peerDependencies'].every(kind => {
    const ranges = entry[kind] ?? {};
    return (
      isObject(ranges) &&
      Object.entries(ranges).every(
        ([name, range]) =>
          isRange(range) ||
          (typeof range === 'string' && npmAlias.test(range)) ||
          bundles(entry, name, packages[`${path}/node_modules/${name}`]),
      )
    );
  });

const isRange = (range: unknown) => typeof range === 'string' && !/[:/]/.test(range);

/**
 * True if a package bundles a dependency, so that npm does not fetch it. `found`: the entry of the dependency in the
 * package.
 */
const bundles = ({ bundleDependencies: names }: Entry, name: string, found: unknown) =>
  Array.isArray(names) && names.includes(name) && isObject(found) && found['inBundle'] === true;
