import assert from 'node:assert/strict';
import { describe, test, vi } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { startHub, until } from '#helpers/hub';
import { namesIn, openClient } from './clients.ts';

/** Stops a process with SIGSTOP until the returned object is disposed of. */
function suspend(pid: number): Disposable {
  process.kill(pid, 'SIGSTOP');
  return { [Symbol.dispose]: () => void process.kill(pid, 'SIGCONT') };
}

describe('a list that a server marks as not cacheable', () => {
  test('waits for a hanging server for a second, once, and then has the known items', async () => {
    const clock = createManualClock();
    await using hub = await startHub([{ name: 'stateless' }, { name: 'echo' }], { clock });
    const client = openClient(hub);
    await client.initialize();
    const list = async () => namesIn((await client.ask('tools/list')).result['tools']);
    const names = await list();
    const { running } = hub.server('stateless');
    assert.ok(running);
    const spied = vi.spyOn(running.upstream, 'request');
    const readings = () => spied.mock.calls.filter(([method]) => method === 'tools/list').length;
    {
      using _ = suspend(Number(running.instance.about['pid']));
      let answered = 0;
      const first = list().finally(() => answered++);
      clock.advance(900);
      const second = list().finally(() => answered++);
      clock.advance(99);
      await new Promise(setImmediate);
      assert.equal(answered, 0, 'a server may take its time');
      clock.advance(1);
      assert.deepEqual(await first, names);
      assert.deepEqual(await second, names, 'the wait is one for all');
      for (let again = 0; again < 10; again++) assert.deepEqual(await list(), names);
      assert.equal(readings(), 1);
    }
    // The pending request for the list ends when the server runs again, and then the list is read anew.
    await until(() => {
      void list();
      return readings() === 2;
    });
    assert.deepEqual(await list(), names);
  });
});
