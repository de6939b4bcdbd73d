// Writes /opt/server/run, which starts the package's command as npx would: its only command, otherwise the command
// with the name of the package.
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

// A script instead of a link, so that the server is run by the same path as with npx. If the command is ambiguous for
// npx too, the script prints an error, and the image can be used by setting "command" in the config of the server.
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
