import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type Clock, createEmitter, isObject } from '#core';
import { createManualClock } from '#helpers/clock';
import { startHub } from '#helpers/hub';
import { modernVersion } from '#mcp';
import type { Server } from '#servers';
import { createCatalog } from '../../hub/routing/catalog.ts';
import { createLists } from '../../hub/routing/lists.ts';
import { supervise } from '../servers/scripted.ts';
import { openModern } from './modern.ts';

const hourMs = 3_600_000;

/** Creates a manual clock whose wall clock can be set independently of its monotonic time. */
function createSettableClock() {
  const time = createManualClock({ passingMs: 10 });
  let offMs = 0;
  const clock: Clock = { ...time, now: () => time.now() + offMs };
  const advance = (milliseconds: number) => time.advance(milliseconds);
  return { clock, advance, set: (byMs: number) => void (offMs += byMs) };
}

test.each([hourMs, -hourMs])(
  "a list is fresh for the server's lifetime when the clock is set by %i ms",
  async jumpMs => {
    const { clock, advance, set } = createSettableClock();
    await using scene = supervise();
    await scene.server.ready();
    const until = clock.monotonic() + 60_000;
    const server: Server = {
      ...scene.server,
      listing: scene.server.listing,
      freshUntil: () => until,
      scope: () => 'public',
    };
    const servers = { all: [server], changed: createEmitter<undefined>().event };
    const naming = { separator: '_', maxLength: 46 } as const;
    const lists = createLists({
      catalog: createCatalog(servers, () => naming),
      servers,
      clock,
    });
    const ttlMs = () => {
      const reply = lists.answer('tool', undefined, '1', modernVersion, { administer: false });
      const bytes = Buffer.isBuffer(reply) ? reply : Buffer.concat(reply);
      const answer: unknown = JSON.parse(bytes.toString());
      return isObject(answer) && isObject(answer['result']) ? answer['result']['ttlMs'] : undefined;
    };
    assert.equal(ttlMs(), 60_000);
    set(jumpMs);
    assert.equal(ttlMs(), 60_000);
    advance(59_000);
    assert.equal(ttlMs(), 1_000);
  },
);

test.each([hourMs, -hourMs])(
  'a request to a client stays answerable for its lifetime when the clock is set by %i ms',
  async jumpMs => {
    const { clock, advance, set } = createSettableClock();
    await using hub = await startHub([{ name: 'asker' }], { clock });
    const client = openModern(hub, hub.server('asker'));
    const sample = { messages: [], maxTokens: 1 };
    const sampled = { role: 'assistant', content: { type: 'text', text: 'yes' }, model: 'm' };
    const asking = { method: 'sampling/createMessage', params: sample };
    const goOn = async (result: Readonly<Record<string, unknown>>) =>
      await client.call('ask', asking, {
        requestState: result['requestState'],
        inputResponses: { 1: sampled },
      });
    const first = await client.call('ask', asking);
    set(jumpMs);
    const done = await goOn(first.result);
    assert.equal(done.result['resultType'], 'complete');
    const late = await client.call('ask', asking);
    set(jumpMs);
    advance(10 * 60_000 + 1);
    assert.match(String((await goOn(late.result)).error?.['message']), /expired/);
  },
);
