import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isObject, systemClock } from '#core';
import { askingHub, createAsk } from '../../../hub/documentation/process/ask.ts';

/** Creates the dependencies of a run, whose requests get these answers. */
function open(values: Readonly<Record<string, unknown>>) {
  let listener: (message: unknown) => void = () => {};
  const ask = createAsk({
    onMessage: given => (listener = given),
    send(message) {
      const { id, name } = isObject(message) ? message : {};
      listener({ id, value: values[String(name)] });
    },
  });
  return askingHub(ask, { clock: systemClock, pace: () => {} });
}

test('files are sent as bytes, and decoded in the process', async () => {
  const bytes = (path: string, content: Uint8Array) => ({
    path,
    kind: 'bytes',
    content,
    bytes: content.length,
  });
  const omitted = { path: 'd', kind: 'omitted', bytes: 9 };
  const { repository } = open({
    readFiles: [
      bytes('a', Buffer.from('x\u{1f600}')),
      bytes('marked', Buffer.from('\ufeff{}')),
      bytes('b', new Uint8Array([65, 0, 66])),
      bytes('c', new Uint8Array([0xff, 0xfe])),
      omitted,
    ],
  });
  assert.deepEqual(await repository.readFiles([], { fileBytes: 9, maxBytes: 9 }), [
    { path: 'a', kind: 'text', text: 'x\u{1f600}', bytes: 5 },
    { path: 'marked', kind: 'text', text: '{}', bytes: 5 },
    { path: 'b', kind: 'binary', bytes: 3 },
    { path: 'c', kind: 'binary', bytes: 2 },
    omitted,
  ]);
});
