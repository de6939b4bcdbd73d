import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { describe, test } from 'vitest';
import { type Clock, silent } from '#core';
import {
  type EngineEvent,
  createEngineEvents,
  jsonLines,
} from '../../../../hub/runtimes/docker/engine/events.ts';

const line = (action: string, id: string) =>
  `${JSON.stringify({ Type: 'container', Action: action, Actor: { ID: id } })}\n`;
const turn = () => new Promise(resolve => setImmediate(resolve));

/** Creates an engine whose event streams the test writes, and a clock that the test moves. */
function scripted(streams: readonly (PassThrough | Error)[]) {
  const delays: number[] = [];
  const timers: (() => void)[] = [];
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    after(delayMs, work) {
      delays.push(delayMs);
      timers.push(work);
      return { refresh() {}, [Symbol.dispose]: () => {} };
    },
  };
  let next = 0;
  let connected = 0;
  const engine = {
    address: 'unix:///engine',
    events: () => {
      const stream = streams[next++] ?? new PassThrough();
      return stream instanceof Error ? Promise.reject(stream) : Promise.resolve(stream);
    },
  };
  const events = createEngineEvents('io.agenthub.hub=1', {
    engine,
    clock,
    log: silent,
    onConnected: () => connected++,
  });
  return {
    events,
    delays,
    connections: () => connected,
    fire: async () => {
      timers.shift()?.();
      await turn();
    },
  };
}

describe('the events of the engine', () => {
  test('reach the container that they are about, also when they arrive in pieces', async () => {
    const stream = new PassThrough();
    const { events } = scripted([stream]);
    const heard: string[] = [];
    for (const id of ['a', 'b']) events.watch(id, event => heard.push(`${id} ${event}`));
    await events.start();
    heard.length = 0;
    stream.write(line('oom', 'a').slice(0, 20));
    stream.write(line('oom', 'a').slice(20) + line('die', 'b') + line('die', 'unknown') + '{"no');
    stream.write(' json\n' + line('start', 'a') + line('die', 'a'));
    await turn();
    await turn();
    assert.deepEqual(heard, ['a oom', 'b die', 'a die']);
    events.stop();
    stream.end();
  });

  test('are followed again after an outage of the engine, and all containers are checked', async () => {
    const [first, second] = [new PassThrough(), new PassThrough()];
    const away = new Error('connect ECONNREFUSED');
    const { events, delays, fire, connections } = scripted([first, away, away, second]);
    const heard: EngineEvent[] = [];
    using _watch = events.watch('a', event => heard.push(event));
    await events.start();
    assert.deepEqual(heard, ['resumed']);
    first.destroy(new Error('socket hang up'));
    await turn();
    await fire();
    await fire();
    await fire();
    assert.deepEqual(delays, [200, 400, 800]);
    assert.deepEqual(heard, ['resumed', 'resumed']);
    assert.equal(connections(), 2);
    second.write(line('die', 'a'));
    await turn();
    assert.equal(heard.at(-1), 'die');
    events.stop();
  });

  test('a start resolves even without an engine, and a stop ends the attempts', async () => {
    const { events, delays, fire } = scripted([new Error('ENOENT'), new Error('ENOENT')]);
    await events.start();
    events.stop();
    await fire();
    assert.deepEqual(delays, [200]);
  });

  test('a watch that is disposed gets no events', async () => {
    const stream = new PassThrough();
    const { events } = scripted([stream]);
    const heard: EngineEvent[] = [];
    events.watch('a', event => heard.push(event))[Symbol.dispose]();
    await events.start();
    stream.write(line('die', 'a'));
    await turn();
    assert.deepEqual(heard, []);
    events.stop();
  });
});

async function read(...chunks: readonly (string | Buffer)[]): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const value of jsonLines(Readable.from(chunks, { objectMode: false })))
    found.push(value);
  return found;
}

test('each line is an object, wherever the chunks are cut', async () => {
  assert.deepEqual(await read('{"a"', ':1}\n{"b":2}\r\n', '\n{"c":3}\n'), [
    { a: 1 },
    { b: 2 },
    { c: 3 },
  ]);
});

test('a character that is split between chunks is decoded as one', async () => {
  const bytes = Buffer.from('{"a":"ü"}\n');
  assert.deepEqual(await read(bytes.subarray(0, 7), bytes.subarray(7)), [{ a: 'ü' }]);
});

test('the last line needs no line break', async () => {
  assert.deepEqual(await read('{"a":1}\n{"b":2}'), [{ a: 1 }, { b: 2 }]);
});

test('a truncated line, and one that is not an object, are skipped', async () => {
  assert.deepEqual(await read('[1]\nnot json\n{"a":1}\n{"b":'), [{ a: 1 }]);
});
