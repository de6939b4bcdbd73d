import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { isObject, silent } from '#core';
import type { LaunchSpec } from '#runtimes';
import { type Handle, createHandles, digestOf } from '#servers';
import { createTable } from '#store';

const handle: Handle = {
  digest: 'd',
  instance: 'container-1 2026-01-01',
  initializeAnswer: '{}',
  generation: 3,
  variant: 'next',
};

/** The same handle as stored in the file. */
const saved = {
  digest: 'd',
  instance: 'container-1 2026-01-01',
  introduction: '{}',
  generation: 3,
  variant: 'next',
};

async function open() {
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-handles-'));
  const file = join(folder, 'handles.json');
  const load = async () => {
    const handles = createHandles(createTable({ file, maxEntries: 3 }, { log: silent }));
    await handles.load();
    return handles;
  };
  return { file, load, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

describe('handles of servers', () => {
  test('are stored for the next run, until they are removed', async () => {
    await using scene = await open();
    const first = await scene.load();
    await first.keep('a', handle);
    await first.keep('b', { ...handle, initializeAnswer: undefined, variant: undefined });
    const second = await scene.load();
    assert.deepEqual(second.find('a'), handle);
    assert.equal(second.find('b')?.initializeAnswer, undefined);
    await second.forget('a');
    assert.equal((await scene.load()).find('a'), undefined);
    assert.ok((await scene.load()).find('b'));
  });

  test('are stored in order: a later change is never undone by an earlier one', async () => {
    await using scene = await open();
    const handles = await scene.load();
    await Promise.all([handles.keep('a', handle), handles.forget('a')]);
    assert.equal((await scene.load()).find('a'), undefined);
    await Promise.all([handles.forget('a'), handles.keep('a', handle)]);
    assert.deepEqual((await scene.load()).find('a'), handle);
  });

  test('that are not needed are removed, and no others', async () => {
    await using scene = await open();
    const handles = await scene.load();
    await handles.keep('a', handle);
    await handles.keep('b', { ...handle, digest: 'other' });
    await handles.retain((_, { digest }) => digest === 'd');
    assert.ok(handles.find('a'));
    assert.equal(handles.find('b'), undefined);
    assert.equal((await scene.load()).find('b'), undefined);
  });

  test('identify a container to adopt by its full id', async () => {
    await using scene = await open();
    const handles = await scene.load();
    await handles.keep('a', handle);
    assert.equal(handles.isAwaited('container-1'), true);
    assert.equal(handles.isAwaited('container'), false);
    assert.equal(handles.isAwaited('container-12'), false);
  });

  test('have the answer to initialize under the name that earlier hubs read and write', async () => {
    await using scene = await open();
    await writeFile(scene.file, JSON.stringify({ a: JSON.stringify(saved) }));
    const handles = await scene.load();
    assert.deepEqual(handles.find('a'), handle);
    await handles.keep('b', handle);
    const written: unknown = JSON.parse(await readFile(scene.file, 'utf8'));
    assert.ok(isObject(written));
    assert.deepEqual(JSON.parse(String(written['b'])), saved);
  });

  test('that are invalid are ignored', async () => {
    await using scene = await open();
    const wrong = [
      'no JSON',
      '[]',
      JSON.stringify({ ...saved, digest: 1 }),
      JSON.stringify({ ...saved, instance: undefined }),
      JSON.stringify({ ...saved, introduction: {} }),
      JSON.stringify({ ...saved, variant: 1 }),
      JSON.stringify({ ...saved, generation: '3' }),
      JSON.stringify({ ...saved, generation: 0.5 }),
    ];
    for (const text of wrong) {
      await writeFile(scene.file, JSON.stringify({ a: text, b: JSON.stringify(saved) }));
      const handles = await scene.load();
      assert.equal(handles.find('a'), undefined, text);
      assert.deepEqual(handles.find('b'), handle, 'the others are');
    }
  });
});

describe('the digest of what is launched', () => {
  const spec: LaunchSpec = {
    server: 'a',
    target: { kind: 'process', command: 'node', args: ['a', 'b'] },
    env: { A: '1', B: '2' },
    maxLineBytes: 1,
    maxWaitingBytes: 1,
  };
  const secret = Buffer.from('secret');

  test('is the same in whatever order members are', () => {
    const { env, server, ...rest } = spec;
    assert.equal(
      digestOf({ ...rest, env: { B: '2', A: '1' }, server }, secret),
      digestOf({ server, env, ...rest }, secret),
    );
  });

  test('differs for any other value, and with another secret', () => {
    const others: readonly LaunchSpec[] = [
      { ...spec, env: { A: '1', B: '3' } },
      { ...spec, env: { A: '12', B: '' } },
      { ...spec, target: { kind: 'process', command: 'node', args: ['b', 'a'] } },
      { ...spec, target: { kind: 'process', command: 'node', args: ['a,b'] } },
    ];
    const all = [
      digestOf(spec, secret),
      digestOf(spec, Buffer.from('other')),
      ...others.map(other => digestOf(other, secret)),
    ];
    assert.equal(new Set(all).size, all.length);
  });
});
