import assert from 'node:assert/strict';
import { test } from 'vitest';
import { plainLine } from '../../hub/config/launcher.ts';

test.each([
  ['npx -y a', 'npx -y a'],
  ['/usr/local/bin/npx a', 'npx a'],
  [String.raw`C:\node\npx.cmd -y a`, 'npx -y a'],
  ['cmd /c npx -y a', 'npx -y a'],
  ['cmd /C NPX -y a', 'npx -y a'],
  ['npm exec a -- -v', 'npx -y a -- -v'],
  ['npm exec -- a -v', 'npx -y a -v'],
  ['npm --yes x a', 'npx -y a'],
  ['pnpm dlx a', 'npx -y a'],
  ['bunx a -y', 'npx -y a -y'],
  ['bun x a', 'npx -y a'],
  ['yarn dlx a', 'npx -y a'],
  ['uv tool run a', 'uvx a'],
  ['pipx run a', 'uvx a'],
  ['podman run a', 'docker run a'],
  ['npm install a', 'npm install a'],
  ['uv run a', 'uv run a'],
  ['cmd /c', 'cmd /c'],
  ['node server.js', 'node server.js'],
])('%s is %s', (line, expected) => {
  const [command = '', ...args] = line.split(' ');
  const plain = plainLine({ command, args });
  assert.equal([plain.command, ...plain.args].join(' '), expected);
});
