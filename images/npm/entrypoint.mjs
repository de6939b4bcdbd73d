// Writes /opt/server/run, which starts the package's command as npx would: the only one that it has,
// or else the one that is named like the package.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const root = '/opt/server';
const read = file => JSON.parse(readFileSync(`${root}/${file}`, 'utf8'));

const [, name = ''] = /^((?:@[^/]*\/)?[^@]+)/.exec(process.argv[2] ?? '') ?? [];
const { bin = {} } = read(`node_modules/${name}/package.json`);
const ownName = name.replace(/^@[^/]*\//, '');
const commands = typeof bin === 'string' ? { [ownName]: bin } : bin;
const names = Object.keys(commands);

if (names.length === 0)
  fail(`${name} has no command ("bin" in its package.json), so it cannot be run as a server`);
const isOne = new Set(Object.values(commands)).size === 1;
const chosen = isOne ? names[0] : names.find(one => one === ownName);
if (chosen !== undefined && !existsSync(`${root}/node_modules/.bin/${chosen}`))
  fail(`the command ${chosen} of ${name} is missing from the package`);

// A script and not a link, so that the server sees the path that npx would run it by. Where npx could
// not choose either, the image still serves an entry whose "command" does.
writeFileSync(
  `${root}/run`,
  chosen === undefined
    ? `#!/bin/sh\necho '${name} has several commands: ${names.join(', ')}. Set "command" to one of them' >&2\nexit 64\n`
    : `#!/bin/sh\nexec '${root}/node_modules/.bin/${chosen}' "$@"\n`,
  { mode: 0o755 },
);

function fail(why) {
  process.stderr.write(`${why}\n`);
  process.exit(1);
}
