import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { settled, startHub } from '#helpers/hub-process';
import { docker } from '../runtimes/docker/hub.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

describeWithEngine('a folder that a server replaces by a link', () => {
  test('is not mounted into another server, whose start says why', async () => {
    const top = await realpath(await mkdtemp(join(tmpdir(), 'agenthub-links-')));
    await using stack = new AsyncDisposableStack();
    stack.defer(async () => await rm(top, { recursive: true, force: true }));
    await mkdir(join(top, 'work', 'docs'), { recursive: true });
    await mkdir(join(top, 'private'));
    const hubName = `links-${process.pid}`;
    const echo = (mount: string) => ({
      image: 'node:24-bookworm-slim',
      command: 'node',
      args: ['/fixtures/echo.mjs'],
      mounts: [`${fixtures}:/fixtures`, mount],
      auto_start: true,
    });
    const servers = {
      writer: echo(`${join(top, 'work')}:/work:rw`),
      reader: echo(`${join(top, 'work', 'docs')}:/docs`),
    };
    const hub = stack.use(await startHub({ config: { servers }, env: { HUB_NAME: hubName } }));
    assert.deepEqual(await settled(hub, 60_000), { writer: 'running', reader: 'running' });

    await rename(join(top, 'work', 'docs'), join(top, 'aside'));
    await symlink(join(top, 'private'), join(top, 'work', 'docs'));
    const restart = { method: 'POST', headers: hub.ownerHeaders };
    const response = await fetch(`${hub.url}/servers/reader/restart`, restart);
    assert.match(await response.text(), /work\/docs leads to .*\/private now, as a link has/);
    await expect(docker.getContainer(`${hubName}-reader`).inspect()).rejects.toThrow(/no such/i);
    await using client = await connect(`${hub.url}/mcp/writer`);
    assert.equal(await client.call('echo', { text: 'still here' }), 'still here');
  });
});
