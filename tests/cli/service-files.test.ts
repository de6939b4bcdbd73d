import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type ServiceProgram, launchdPlist, systemdUnit } from '../../hub/cli/service-files.ts';
import { run } from './run.ts';

const golden = async (name: string) =>
  await readFile(join(import.meta.dirname, '../fixtures/service', name), 'utf8');
const program: ServiceProgram = {
  node: '/opt/node/bin/node',
  script: '/home/ada/my "hub" 100%/$x <&>/bin/agenthub.mjs',
  folder: '/home/ada/my "hub" 100%/$x <&>',
  env: { PATH: '/usr/bin:/home/ada/100%/bin', AGENTHUB_HOME: '/home/ada/a b' },
};

describe('the service file', () => {
  test('of systemd is the golden one, with every special character escaped', async () => {
    assert.equal(systemdUnit(program), await golden('agenthub.service'));
  });

  test('of launchd is the golden one, with every special character escaped', async () => {
    assert.equal(
      launchdPlist(program, '/Users/ada/Library/Logs/agenthub.log'),
      await golden('agenthub.plist'),
    );
  });

  test('is printed for the system, or for the one that is named', async () => {
    const unit = await run(['service', 'print']);
    assert.equal(unit.code, 0, unit.err);
    assert.match(unit.out, /^ExecStart=\/usr\/bin\/env "\/usr\/bin\/node" .* "serve"$/m);
    assert.match(unit.out, /^WorkingDirectory=-\/srv\/hub$/m);
    assert.match((await run(['service', 'print', 'launchd'])).out, /<key>KeepAlive<\/key>/);
    for (const words of [['start'], ['print', 'upstart']]) {
      const wrong = await run(['service', ...words]);
      assert.equal(wrong.code, 2);
      assert.match(wrong.err, /is not allowed|there is no service file/);
    }
  });
});

const isThere = (() => {
  try {
    execFileSync('systemd-analyze', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // `systemd-analyze` is not installed.
  }
})();

describe.skipIf(!isThere)(
  `systemd${isThere ? '' : ' (skipped: there is no systemd-analyze; it is in the Debian package systemd)'}`,
  () => {
    let folder = '';
    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'agenthub-unit-'));
    });
    afterAll(() => rm(folder, { recursive: true, force: true }));

    const verify = async (unit: string) => {
      const file = join(folder, 'agenthub.service');
      await writeFile(file, unit);
      const words = ['verify', '--user', '--man=no', file];
      return await promisify(execFile)('systemd-analyze', words, {
        env: { ...process.env, XDG_RUNTIME_DIR: folder },
      }).then(
        ({ stderr }) => stderr,
        ({ stderr }: { readonly stderr: string }) => stderr,
      );
    };

    test('accepts the unit, also of a folder with special characters, and finds the programs', async () => {
      const strange = join(folder, 'my "hub" 100% $x');
      await mkdir(strange);
      const node = join(strange, 'node');
      await symlink(process.execPath, node);
      const script = join(strange, 'agenthub.mjs');
      await copyFile(join(import.meta.dirname, '../../bin/agenthub.mjs'), script);
      const unit = systemdUnit({ ...program, node, script, folder: strange });
      assert.doesNotMatch(await verify(unit), /agenthub/);
      assert.match(await verify(unit.replace('Type=exec', 'Type=none')), /agenthub\.service/);
    });
  },
);
