// Handles package-lock.json, which lists all packages with their digests. `restore` uses the lock in the build context,
// so that the same packages are installed again; `tell` prints the new lock as a line, which the hub stores.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const file = '/opt/server/package-lock.json';
const given = '/opt/lock';

if (process.argv[2] === 'restore') {
  const text = readFileSync(given, 'utf8');
  writeFileSync(file, text);
  const { dependencies } = JSON.parse(text).packages[''];
  writeFileSync('/opt/server/package.json', JSON.stringify({ dependencies }, undefined, 2));
} else {
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  for (const [path, entry] of Object.entries(lock.packages))
    if (path !== '' && !entry.inBundle && !entry.integrity) {
      process.stderr.write(`the registry gives no digest of ${path}, so it cannot be installed\n`);
      process.exit(1);
    }
  process.stdout.write(`agenthub-lock ${gzipSync(JSON.stringify(lock)).toString('base64')}\n`);
}
