import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  chmod,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, test } from 'vitest';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..');

/** A double of npm that logs when it begins and ends, and creates node_modules as an install does. */
const npm = `#!/bin/sh
echo begins >>npm.log
sleep 1
mkdir -p node_modules
cp package-lock.json node_modules/.package-lock.json
echo ends >>npm.log
`;

/** A double of npm that logs when it begins, and ends only by a signal. */
const endless = `#!/bin/sh
echo begins >>npm.log
exec sleep 60
`;

describe('preparing a clone', () => {
  let folder = '';

  /** Runs the prepare script in the clone, with its own folder for temporary files. */
  async function prepare(temporary: string) {
    await mkdir(join(folder, temporary));
    return await run(process.execPath, ['scripts/prepare.mjs'], {
      cwd: folder,
      env: {
        PATH: [join(folder, 'npm'), process.env['PATH']].join(delimiter),
        TMPDIR: join(folder, temporary),
      },
    });
  }
  const log = async () => await readFile(join(folder, 'npm.log'), 'utf8');

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-prepare-'));
    await mkdir(join(folder, 'npm'));
    await mkdir(join(folder, 'bin'));
    await mkdir(join(folder, 'scripts'));
    await cp(join(root, 'bin', 'build.mjs'), join(folder, 'bin', 'build.mjs'));
    await cp(join(root, 'scripts', 'prepare.mjs'), join(folder, 'scripts', 'prepare.mjs'));
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify({ packages: {} }));
    await writeFile(join(folder, 'npm', 'npm'), npm);
    await chmod(join(folder, 'npm', 'npm'), 0o755);
  });
  afterEach(async () => await rm(folder, { recursive: true, force: true }));

  test('installs once, even if two processes have different folders for temporary files', async () => {
    await Promise.all([prepare('first'), prepare('second')]);
    assert.equal(await log(), 'begins\nends\n');
  });

  test('installs all packages, whatever npm omits or refuses by the environment and the .npmrc of the user', async () => {
    const writeJson = async (file: string, value: object) =>
      await writeFile(join(folder, file), JSON.stringify(value));
    await mkdir(join(folder, 'dep'));
    await mkdir(join(folder, 'home'));
    // The package `node` runs npm in its install script, where the .npmrc of the clone has no effect.
    const preinstall = 'npm config get install-strategy > "$INIT_CWD/strategy"';
    await writeJson('dep/package.json', { name: 'dep', version: '1.0.0', scripts: { preinstall } });
    await cp(join(root, '.npmrc'), join(folder, '.npmrc'));
    await run('npm', ['pack', './dep'], { cwd: folder });
    const devDependencies = { dep: 'file:dep-1.0.0.tgz' };
    await writeJson('package.json', { devDependencies, engines: { node: '>=999' } });
    await run('npm', ['install', '--package-lock-only'], { cwd: folder });
    await writeFile(
      join(folder, 'home', '.npmrc'),
      'engine-strict=true\nomit[]=dev\ninstall-strategy=linked\n',
    );
    await run(process.execPath, ['scripts/prepare.mjs'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: join(folder, 'home'), NODE_ENV: 'production' },
    });
    const dep = join(folder, 'node_modules', 'dep');
    const installed = await readFile(join(dep, 'package.json'), 'utf8');
    assert.equal(JSON.parse(installed).version, '1.0.0');
    assert.ok((await lstat(dep)).isDirectory(), 'it is no link');
    assert.equal(await readFile(join(folder, 'strategy'), 'utf8'), 'hoisted\n');
  });

  test('npx leaves the packages of a clone, whatever layout the .npmrc of the user chooses', async () => {
    const clone = join(folder, 'npx');
    const dep = join(clone, 'node_modules', 'dep');
    const home = join(folder, 'npx-home');
    for (const one of [dep, home]) await mkdir(one, { recursive: true });
    const bin = { agenthub: 'bin.mjs' };
    await writeFile(
      join(clone, 'package.json'),
      JSON.stringify({ name: 'agenthub', version: '1.0.0', bin }),
    );
    await writeFile(join(clone, 'bin.mjs'), '#!/usr/bin/env node\nconsole.log("ran");\n', {
      mode: 0o755,
    });
    await cp(join(root, '.npmrc'), join(clone, '.npmrc'));
    await writeFile(join(dep, 'package.json'), JSON.stringify({ name: 'dep', version: '1.0.0' }));
    await writeFile(join(home, '.npmrc'), 'install-strategy=linked\n');
    const env = { PATH: process.env['PATH'], HOME: home };
    const { stdout } = await run('npx', ['agenthub'], { cwd: clone, env });
    assert.equal(stdout, 'ran\n');
    assert.ok(existsSync(join(dep, 'package.json')));
  });

  test.each(['SIGINT', 'SIGTERM'] as const)(
    'ends npm at %s, and leaves no lock for which the next process would wait',
    async signal => {
      await writeFile(join(folder, 'npm', 'npm'), endless);
      const child = spawn(process.execPath, ['scripts/prepare.mjs'], {
        cwd: folder,
        env: { PATH: [join(folder, 'npm'), process.env['PATH']].join(delimiter) },
        stdio: 'ignore',
      });
      while (!existsSync(join(folder, 'npm.log'))) await setTimeout(10);
      child.kill(signal);
      const [code] = await once(child, 'exit');
      assert.equal(code, 128 + constants.signals[signal]);
      assert.equal(await log(), 'begins\n');
      assert.equal(existsSync(join(folder, '.prepare.lock')), false);
    },
  );

  test('does not wait for a process that died during the preparation', async () => {
    const lock = join(folder, '.prepare.lock');
    await writeFile(lock, '');
    const aMinuteAgo = new Date(Date.now() - 60_000);
    await utimes(lock, aMinuteAgo, aMinuteAgo);
    await prepare('temporary');
    assert.equal(await log(), 'begins\nends\n');
  });
});
