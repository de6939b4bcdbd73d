// Steps of the image build that depend on package.json. The first argument is the name of a step.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const root = '/app';
const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
const { scripts = {} } = manifest;
const script = ['build', 'prepare'].find(name => scripts[name] !== undefined) ?? '';

const steps = {
  // Removes the project's scripts from package.json: npm would run them before the project's files are copied.
  withoutScripts() {
    const { scripts: _, ...rest } = manifest;
    writeFileSync(`${root}/package.json`, JSON.stringify(rest, undefined, 2));
    writeFileSync('/tmp/omitted', script === '' ? '--omit=dev' : '');
  },
  script: () => process.stdout.write(script),
  // Prints package-lock.json as a line, which the hub stores.
  tell() {
    const lock = readFileSync(`${root}/package-lock.json`);
    process.stdout.write(`agenthub-lock ${gzipSync(lock).toString('base64')}\n`);
  },
  run: () => writeFileSync('/opt/server/run', `#!/bin/sh\n${startLine()}\n`, { mode: 0o755 }),
};
steps[process.argv[2]]();

function startLine() {
  const { name = '', bin = {}, main } = manifest;
  const ownName = name.replace(/^@[^/]*\//, '');
  const commands = typeof bin === 'string' ? { [ownName]: bin } : bin;
  const isOne = new Set(Object.values(commands)).size === 1;
  const file = isOne ? Object.values(commands)[0] : commands[ownName];
  if (file !== undefined) return `exec ${programOf(file)} "$@"`;
  if (scripts.start !== undefined) return 'exec node --run start -- "$@"';
  if (main !== undefined) return `exec ${programOf(main)} "$@"`;
  // The image can still be used by setting "command" in the config of the server.
  return `echo 'package.json names no program: add "bin", a script "start" or "main" to it, or "command" and "args" to the entry' >&2\nexit 64`;
}

function programOf(file) {
  const path = `'${root}/${file.replace(/^\.?\//, '').replaceAll("'", `'\\''`)}'`;
  return /\.[cm]?[jt]s$/.test(file) ? `node ${path}` : path;
}
