import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/hub';
import { type Notification, readMessage } from '#jsonrpc';
import type { ListKind } from '#servers';
import { createRereads } from '../../../hub/servers/listing/reread.ts';

/** Waits until all answers so far are processed. */
const settled = () => new Promise(resolve => setImmediate(resolve));

/** Creates a server that answers requests for lists at once, and calls `upon` for each of them. */
function scene(
  options: {
    readonly upon?: () => void;
    readonly refuses?: boolean;
    readonly early?: true;
    readonly offers?: object;
    /** Time in ms that the hub takes to process a list. */
    readonly processMs?: number;
  } = {},
) {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const asked: string[] = [];
  const replaced: ListKind[] = [];
  const announced: ListKind[] = [];
  let current = true;
  const asking: Parameters<typeof createRereads>[1]['asking'] = {
    async request(method) {
      asked.push(method);
      options.upon?.();
      if (options.refuses) throw new HubError('HUB_SERVER_DOWN', 'files is gone');
      const answer = readMessage(
        Buffer.from(
          '{"jsonrpc":"2.0","id":1,"result":{"tools":[],"prompts":[],"resources":[],"resourceTemplates":[]}}',
        ),
      );
      return answer.kind === 'answer' ? answer : assert.fail(answer.kind);
    },
  };
  const rereads = createRereads(
    { tools: { listChanged: true }, prompts: {}, ...options.offers },
    { server: 'files', asking, timeoutMs: 1_000, clock, log: options.refuses ? log : silent },
    {
      isCurrent: () => current,
      replace(kind, _, isAnnounced) {
        replaced.push(kind);
        if (options.processMs !== undefined) clock.advance(options.processMs);
        if (isAnnounced) announced.push(kind);
      },
      announce: kind => void announced.push(kind),
    },
  );
  /** Sends the notification that the server's tools or prompts changed. */
  function changed(kind: 'tool' | 'prompt'): void {
    const method = `notifications/${kind}s/list_changed`;
    assert.ok(rereads.hear(notificationOf(method)));
  }
  if (options.early !== true) rereads.begin();
  return {
    clock,
    logged,
    asked,
    replaced,
    announced,
    rereads,
    changed,
    leave: () => (current = false),
  };
}

function notificationOf(method: string): Notification {
  const message = readMessage(Buffer.from(JSON.stringify({ jsonrpc: '2.0', method })));
  return message.kind === 'notification' ? message : assert.fail(message.kind);
}

describe('a list that changed', () => {
  test('is read at once, and once a second for all changes after that', async () => {
    const { clock, asked, replaced, changed } = scene();
    for (let change = 0; change < 10; change++) changed('tool');
    assert.deepEqual(asked, ['tools/list']);
    await settled();
    for (let change = 0; change < 10; change++) changed('tool');
    clock.advance(999);
    await settled();
    assert.equal(asked.length, 1);
    clock.advance(1);
    await settled();
    assert.equal(asked.length, 2);
    clock.advance(10_000);
    await settled();
    assert.equal(asked.length, 2, 'nothing changed since');
    assert.equal(clock.waiting, 0);
    changed('tool');
    assert.equal(asked.length, 3);
    assert.deepEqual(replaced, ['tool', 'tool']);
  });

  test('each time it is read is read once a second', async () => {
    const server: ReturnType<typeof scene> = scene({ upon: () => server.changed('tool') });
    server.changed('tool');
    for (let tenth = 0; tenth < 50; tenth++) {
      await settled();
      server.clock.advance(100);
    }
    await settled();
    assert.equal(server.asked.length, 6);
  });

  test.each([
    ['20 times as long as it took to process', 100, 2_000],
    ['at most five minutes', 60_000, 5 * 60_000],
  ])('and is long is read again after a rest: %s', async (_what, processMs, restMs) => {
    const { clock, asked, changed } = scene({ processMs });
    for (let change = 0; change < 2; change++) changed('tool');
    await settled();
    clock.advance(1_000);
    await settled();
    clock.advance(restMs - 1_001);
    await settled();
    assert.equal(asked.length, 1);
    clock.advance(1_001);
    await settled();
    assert.equal(asked.length, 2);
  });

  test('of one kind does not wait for another', () => {
    const { asked, changed } = scene();
    changed('tool');
    changed('prompt');
    assert.deepEqual(asked, ['tools/list', 'prompts/list']);
  });

  test('is not read once the server has ended', async () => {
    const { clock, asked, replaced, changed, leave } = scene();
    changed('tool');
    changed('tool');
    leave();
    await settled();
    clock.advance(1_000);
    await settled();
    assert.equal(asked.length, 1);
    assert.deepEqual(replaced, []);
  });

  test('that cannot be read is logged, and read again after the next change', async () => {
    const { clock, asked, logged, changed } = scene({ refuses: true });
    changed('tool');
    await settled();
    assert.deepEqual(
      logged.map(({ level, message }) => `${level} ${message}`),
      ['warn a changed list could not be read'],
    );
    clock.advance(1_000);
    await settled();
    changed('tool');
    assert.equal(asked.length, 2);
  });

  test('before the first lists are read is read again after them', () => {
    const { asked, changed, rereads } = scene({ early: true });
    changed('tool');
    changed('tool');
    assert.deepEqual(asked, []);
    rereads.begin();
    assert.deepEqual(asked, ['tools/list']);
  });

  test('of resources includes their templates; other notifications are ignored', () => {
    const { asked, rereads } = scene();
    assert.equal(rereads.hear(notificationOf('notifications/resources/updated')), false);
    assert.deepEqual(asked, []);
    assert.ok(rereads.hear(notificationOf('notifications/resources/list_changed')));
    assert.deepEqual(asked, ['resources/list', 'resources/templates/list']);
  });
});

describe('the notification of a change is passed on whether the list differs or not', () => {
  test('once for all of them before the list is read again', async () => {
    const { clock, announced, changed } = scene();
    changed('tool');
    await settled();
    assert.deepEqual(announced, ['tool']);
    changed('tool');
    changed('tool');
    clock.advance(1_000);
    await settled();
    assert.deepEqual(announced, ['tool', 'tool']);
  });

  test('even if the list cannot be read', async () => {
    const { announced, changed } = scene({ refuses: true });
    changed('tool');
    await settled();
    assert.deepEqual(announced, ['tool']);
  });

  test('once for resources and their templates', async () => {
    const { announced, rereads } = scene({ offers: { resources: {} } });
    rereads.hear(notificationOf('notifications/resources/list_changed'));
    await settled();
    assert.deepEqual(announced, ['resource']);
  });

  test("but not if the hub's reading of the list caused it", async () => {
    const server: ReturnType<typeof scene> = scene({ upon: () => server.changed('tool') });
    void server.rereads.refresh('tool');
    for (let second = 0; second < 5; second++) {
      await settled();
      server.clock.advance(1_000);
    }
    assert.ok(server.asked.length > 2);
    assert.deepEqual(server.announced, []);
  });

  test('but not if the hub only suspected a change', async () => {
    const { rereads, announced } = scene();
    rereads.doubt();
    await settled();
    assert.deepEqual(announced, []);
  });
});

describe('a list that may have changed', () => {
  test('is read at once, once for all callers, without delaying a change', async () => {
    const { rereads, asked, replaced } = scene();
    await Promise.all([rereads.refresh('tool'), rereads.refresh('tool')]);
    assert.deepEqual([asked, replaced], [['tools/list'], ['tool']]);
    void rereads.refresh('tool');
    rereads.hear(notificationOf('notifications/tools/list_changed'));
    assert.equal(asked.length, 2, 'two readings at once could end in the wrong order');
    await settled();
    assert.equal(asked.length, 3, 'a reading that began before the change is not enough');
    await rereads.refresh('resource');
    assert.equal(asked.length, 3, 'what the server does not offer is not read');
  });

  test('is unchanged if it cannot be read', async () => {
    const { rereads, logged, replaced } = scene({ refuses: true });
    await rereads.refresh('tool');
    assert.deepEqual(replaced, []);
    assert.match(logged[0]?.message ?? '', /could not be read/);
  });

  test('because the stream was interrupted is read if the server announces changes', () => {
    const { rereads, asked } = scene();
    rereads.doubt();
    assert.deepEqual(asked, ['tools/list']);
  });
});
