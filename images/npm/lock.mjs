// The lock: each package that is to be installed, with its digest. `restore` takes the one that came with the build, so
// that the same is installed again; `tell` writes the new one on a line of the output, for the hub to keep.
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
