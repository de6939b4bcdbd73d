// The steps of the build that depend on package.json; the first argument names one.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const root = '/app';
const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'));
const { scripts = {} } = manifest;
const script = ['build', 'prepare'].find(name => scripts[name] !== undefined) ?? '';

const steps = {
  // Scripts of the project would run before its files are there.
  withoutScripts() {
    const { scripts: _, ...rest } = manifest;
    writeFileSync(`${root}/package.json`, JSON.stringify(rest, undefined, 2));
    writeFileSync('/tmp/omitted', script === '' ? '--omit=dev' : '');
  },
  script: () => process.stdout.write(script),
  // The lock, on a line of the output, for the hub to keep.
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
  // The image still serves an entry whose "command" does.
  return `echo 'package.json names no program: add "bin", a script "start" or "main" to it, or "command" and "args" to the entry' >&2\nexit 64`;
}

function programOf(file) {
  const path = `'${root}/${file.replace(/^\.?\//, '').replaceAll("'", `'\\''`)}'`;
  return /\.[cm]?[jt]s$/.test(file) ? `node ${path}` : path;
}
