import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { verifyAudit } from '../../hub/audit/verify.ts';
import { type Config, readAudit, readSettings } from '#config';
import { systemClock } from '#core';
import { openDataDir } from '#store';
import { createStoredAudit } from '../../hub/app/stored-audit.ts';
import { openStoredClients, recordStored } from '../../hub/app/wire-clients.ts';

const hubVersion = '1.2.3';
const config: Config = { servers: [], naming: { separator: '_', maxLength: 46 } };

async function open() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-stored-'));
  const warned: string[] = [];
  const audit = { hubVersion, warn: (text: string) => void warned.push(text) };
  const settings = readSettings({ DATA_DIR: folder.path });
  const log = join(folder.path, 'audit');
  return {
    path: folder.path,
    log,
    warned,
    needs: { settings, clock: systemClock, audit },
    async lines() {
      const files = (await readdir(log)).filter(name => name.endsWith('.jsonl'));
      const texts = await Promise.all(files.map(name => readFile(join(log, name), 'utf8')));
      return texts.flatMap(text => text.trim().split('\n')).map(line => JSON.parse(line));
    },
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}

describe('a change without a running hub', () => {
  test('of tokens and secrets continues the chain of the audit log', async () => {
    await using at = await open();
    {
      await using clients = await openStoredClients(config, at.needs);
      await clients.create('cursor');
      await clients.create('vscode');
      await clients.revoke('cursor');
      await assert.rejects(clients.revoke('nobody'));
    }
    await recordStored({ action: 'secret_set', target: 'KEY' }, { ...at.needs, config: {} });
    assert.deepEqual(
      (await at.lines()).map(({ seq, kind, principal, action, target, outcome }) =>
        [seq, kind, principal, action, target, outcome].join(' '),
      ),
      [
        '1 change owner token_created cursor ok',
        '2 change owner token_created vscode ok',
        '3 change owner token_revoked cursor ok',
        '4 change owner secret_set KEY ok',
      ],
    );
    const { problems, torn } = await verifyAudit(at.log);
    assert.deepEqual([problems, torn, at.warned], [[], undefined, []]);
  });

  test('is made, with a warning, if the audit log cannot be written', async () => {
    await using at = await open();
    await writeFile(at.log, 'not a folder');
    await using clients = await openStoredClients(config, at.needs);
    const { token } = await clients.create('cursor');
    assert.ok(token);
    assert.equal(at.warned.length, 1);
    assert.match(at.warned[0] ?? '', /has no line in the audit log.*EEXIST|ENOTDIR/);
  });

  test('creates no audit log if it is off', async () => {
    await using at = await open();
    const off = { ...readAudit(undefined), enabled: false };
    const stored = createStoredAudit(at.path, {
      config: { audit: off },
      clock: systemClock,
      hubVersion,
      warn: assert.fail,
    });
    await stored.record({ action: 'secret_set', target: 'KEY' });
    await assert.rejects(readdir(at.log), { code: 'ENOENT' });
  });

  test('is refused while a hub has the data folder', async () => {
    await using at = await open();
    await using _data = await openDataDir(at.path, () => 'abcdef0123456789');
    const change = { action: 'secret_set', target: 'KEY' } as const;
    await assert.rejects(recordStored(change, { ...at.needs, config: {} }), {
      code: 'HUB_DATA_LOCKED',
    });
  });
});
