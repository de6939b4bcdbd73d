import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, systemClock } from '#core';
import { until } from '#helpers/hub';
import { call, supervise } from './scripted.ts';

const hourMs = 3_600_000;
const died = { code: 1, detail: 'exited with code 1' };

describe.each([
  ['forward', hourMs],
  ['back', -hourMs],
])('a clock that is set an hour %s', (_, jumpMs) => {
  /** Ends a running server, and sets the clock while the server waits for its restart. */
  async function jumped(more: { readonly callTimeoutMs?: number } = {}) {
    let offMs = 0;
    const clock = { ...systemClock, now: () => Date.now() + offMs };
    const scene = supervise(more, { clock });
    await scene.server.ready();
    scene.newest.end(died);
    await until(() => scene.server.status.state === 'backing_off');
    offMs = jumpMs;
    return scene;
  }

  test('does not change that a call waits for a restart that is due soon', async () => {
    await using scene = await jumped();
    assert.equal(await call(scene.server), 'first');
    assert.equal(scene.launched.length, 2);
  });

  test('does not change the retry time of a call that does not wait', async () => {
    await using scene = await jumped({ callTimeoutMs: 1 });
    const error = await scene.server.ready().catch((reason: unknown) => reason);
    assert.ok(error instanceof HubError);
    assert.equal(error.code, 'HUB_SERVER_DOWN');
    const { retryAfterMs = -1 } = error.data;
    assert.ok(retryAfterMs > 0 && retryAfterMs <= 1_000, `${retryAfterMs} ms`);
  });
});
