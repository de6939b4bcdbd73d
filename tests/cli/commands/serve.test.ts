import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ServeOptions } from '#cli';
import { HubError } from '#core';
import { run } from '../run.ts';

describe('serve', () => {
  test('runs until the signal aborts, and stops what it started', async () => {
    const ending = new AbortController();
    const seen: (ServeOptions | string)[] = [];
    const { code, out } = await run(
      ['serve', '--config', 'hub.yaml', '--port', '0'],
      {
        async startApp(options) {
          seen.push(options);
          setImmediate(() => ending.abort());
          const stop = async () => void seen.push('stopped');
          return { address: 'http://127.0.0.1:9090', stop };
        },
      },
      { signal: ending.signal },
    );
    assert.deepEqual(seen, [{ configFile: 'hub.yaml', port: 0 }, 'stopped']);
    assert.deepEqual(
      { code, out },
      { code: 0, out: 'AgentHub answers at http://127.0.0.1:9090/mcp' },
    );
  });

  test('--stdio ends with its client, and keeps stdout for messages', async () => {
    const seen: (ServeOptions | string)[] = [];
    const { promise: clientGone, resolve } = Promise.withResolvers<void>();
    const { code, out, err } = await run(['serve', '--stdio', '--port', '0'], {
      async startApp(options) {
        seen.push(options);
        setImmediate(resolve);
        const stop = async () => void seen.push('stopped');
        return { address: 'http://127.0.0.1:9090', clientGone, stop };
      },
    });
    assert.deepEqual(seen, [{ stdio: true, port: 0 }, 'stopped']);
    assert.deepEqual(
      { code, out, err },
      { code: 0, out: '', err: 'AgentHub answers at http://127.0.0.1:9090/mcp' },
    );
  });

  test('shows a login link on a terminal and in a container, and in no other output', async () => {
    const link = 'http://localhost:9090/dashboard/login?code=secret';
    const seen = async (columns: number | undefined, inContainer: boolean) => {
      const ending = new AbortController();
      const startApp = async () => {
        setImmediate(() => ending.abort());
        const address = 'http://localhost:9090';
        return { address, inContainer, loginLink: () => link, stop: async () => {} };
      };
      const fake = { signal: ending.signal, ...(columns !== undefined && { columns }) };
      const { out, err } = await run(['serve'], { startApp }, fake);
      assert.equal(err, '');
      return out.split('\n')[1];
    };
    const shown = `Dashboard: ${link} (works once, for ten minutes; "npx agenthub open" gives another)`;
    assert.equal(await seen(200, false), shown);
    assert.equal(await seen(undefined, true), shown);
    assert.equal(await seen(undefined, false), 'Dashboard: run "npx agenthub open" to log in');
  });

  test('without options leaves everything to the settings', async () => {
    const seen: ServeOptions[] = [];
    const startApp = async (options: ServeOptions) => {
      seen.push(options);
      return { address: '', stop: async () => {} };
    };
    await run(['serve'], { startApp }, { signal: AbortSignal.abort() });
    assert.deepEqual(seen, [{}]);
  });

  test('exits with 0 when it is stopped before it listens', async () => {
    const startApp = async (_options: ServeOptions, signal: AbortSignal) => {
      signal.throwIfAborted();
      return assert.fail('went on');
    };
    const { code, err } = await run(['serve'], { startApp }, { signal: AbortSignal.abort() });
    assert.deepEqual({ code, err }, { code: 0, err: '' });
  });

  test.for([
    ['HUB_CONFIG_INVALID', 2],
    ['HUB_LISTEN_REFUSED', 2],
    ['HUB_PORT_TAKEN', 1],
    ['HUB_ENGINE_UNREACHABLE', 1],
  ] as const)('%s exits with %i', async ([error, expected]) => {
    const startApp = async () => {
      throw new HubError(error, 'what happened, and what to do');
    };
    const { code, err } = await run(['serve'], { startApp });
    assert.deepEqual({ code, err }, { code: expected, err: 'what happened, and what to do' });
  });

  test('a bug is thrown, not reported as a message', async () => {
    const startApp = async () => {
      throw new TypeError('a bug');
    };
    await assert.rejects(run(['serve'], { startApp }), /a bug/);
  });

  test('passes the tags to the app', async () => {
    const asked: ServeOptions[] = [];
    const startApp = async (options: ServeOptions) => {
      asked.push(options);
      return { address: 'http://127.0.0.1:9090', stop: async () => {} };
    };
    await run(['serve', '--tags', 'work, notes'], { startApp }, { signal: AbortSignal.abort() });
    assert.deepEqual(asked, [{ tags: ['work', 'notes'] }]);
    const decomposed = 'é'.normalize('NFD');
    await run(['serve', '--tags', decomposed], { startApp }, { signal: AbortSignal.abort() });
    assert.deepEqual(asked[1], { tags: [decomposed.normalize('NFC')] });
    const { code, err } = await run(['serve', '--tags', 'work,,notes']);
    assert.equal(code, 2);
    assert.match(err, /--tags: "work,,notes" is not allowed/);
  });
});
