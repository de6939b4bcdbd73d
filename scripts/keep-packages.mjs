// `node keep-packages.mjs NAME...`: removes all other development packages from package.json in the working folder, so
// that `npm ci` installs only these, in the versions of package-lock.json. Run by images/hub/Dockerfile, because a
// build of the image needs few of them.
import { readFileSync, writeFileSync } from 'node:fs';

const names = process.argv.slice(2);
const manifest = JSON.parse(readFileSync('package.json', 'utf8'));
const unknown = names.find(name => manifest.devDependencies[name] === undefined);
if (unknown) throw new Error(`${unknown} is not among the devDependencies of package.json`);
manifest.devDependencies = Object.fromEntries(
  names.map(name => [name, manifest.devDependencies[name]]),
);
writeFileSync('package.json', JSON.stringify(manifest));
