// Handles package-lock.json, which lists all packages with their digests. `restore` uses the lock in the build context,
// so that the same packages are installed again; `tell` prints the new lock as a line, which the hub stores.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

/** In the working folder, as is package.json. */
const file = 'package-lock.json';
const given = '/opt/lock';

if (process.argv[2] === 'restore') {
  const text = readFileSync(given, 'utf8');
  writeFileSync(file, text);
  const { dependencies } = JSON.parse(text).packages[''];
  writeFileSync('package.json', JSON.stringify({ dependencies }, undefined, 2));
} else {
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  // npm leaves out an optional dependency that the registry does not have, and then refuses the lock that names it.
  for (const [path, { optionalDependencies = {} }] of Object.entries(lock.packages))
    for (const name of Object.keys(optionalDependencies))
      if (!isInLock(lock, path, name)) delete optionalDependencies[name];
  writeFileSync(file, JSON.stringify(lock, undefined, 2));
  for (const [path, entry] of Object.entries(lock.packages))
    if (path !== '' && !entry.inBundle && !entry.integrity) {
      process.stderr.write(`the registry gives no digest of ${path}, so it cannot be installed\n`);
      process.exit(1);
    }
  process.stdout.write(`agenthub-lock ${gzipSync(JSON.stringify(lock)).toString('base64')}\n`);
}

/** True if the lock has a package `name` where Node looks for it from the package at `path`. */
function isInLock({ packages }, path, name) {
  const folder = path === '' ? '' : `${path}/`;
  if (Object.hasOwn(packages, `${folder}node_modules/${name}`)) return true;
  const parent = path.slice(0, Math.max(0, path.lastIndexOf('node_modules/') - 1));
  return path !== '' && isInLock({ packages }, parent, name);
}
