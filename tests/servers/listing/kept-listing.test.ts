import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { until } from '#helpers/hub';
import { type Listing, createKeptListings } from '#servers';
import { createFolder } from '#store';
import { call, supervise } from '../scripted.ts';

async function open() {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-listings-'));
  return {
    path,
    kept: createKeptListings(createFolder(path, { log: silent })),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

const listingOf = (text: string): Listing => ({
  tool: [{ key: 'work', bytes: Buffer.from(text) }],
  resource: [],
  template: [],
  prompt: [],
});

describe('what is kept of what servers offer', () => {
  test('is found again byte by byte, with what its program is known by', async () => {
    await using scene = await open();
    const listing = listingOf('{ "name":"work","description":"\\u00e9 \u00e9" }');
    await scene.kept.keep('a', 'digest', listing, 'sha256:1');
    assert.deepEqual(await scene.kept.find('a', 'digest'), { listing, identity: 'sha256:1' });
    await scene.kept.keep('a', 'digest', listing);
    assert.deepEqual(await scene.kept.find('a', 'digest'), { listing, identity: undefined });
  });

  test('is not found under another digest, nor once it is forgotten', async () => {
    await using scene = await open();
    await scene.kept.keep('a', 'digest', listingOf('{}'));
    assert.equal(await scene.kept.find('a', 'other'), undefined);
    assert.equal(await scene.kept.find('b', 'digest'), undefined);
    await scene.kept.forget('a');
    assert.equal(await scene.kept.find('a', 'digest'), undefined);
    assert.deepEqual(await readdir(scene.path), []);
  });

  test('is no more than 8 MiB of a server: what was kept before is not shown in its place', async () => {
    await using scene = await open();
    await scene.kept.keep('a', 'digest', listingOf('{}'));
    await scene.kept.keep('a', 'digest', listingOf('x'.repeat(8 * 2 ** 20 + 1)));
    assert.equal(await scene.kept.find('a', 'digest'), undefined);
    await scene.kept.keep('a', 'digest', listingOf('x'.repeat(8 * 2 ** 20)));
    assert.ok(await scene.kept.find('a', 'digest'));
  });

  test('counts as nothing where it cannot be read', async () => {
    await using scene = await open();
    for (const text of ['', '{', '[]', '{"digest":1}', '{"digest":"other"}']) {
      await writeFile(join(scene.path, 'a.json'), text);
      assert.equal(await scene.kept.find('a', 'digest'), undefined, text);
    }
    await writeFile(
      join(scene.path, 'a.json'),
      '{"digest":"digest","tool":[1,{"key":2,"text":""},{"key":"k","text":"t"}],"prompt":7}',
    );
    assert.deepEqual((await scene.kept.find('a', 'digest'))?.listing, {
      ...listingOf(''),
      tool: [{ key: 'k', bytes: Buffer.from('t') }],
    });
  });
});

describe('a server that is not started', () => {
  const digestOf = ({ description }: { readonly description: string | undefined }) =>
    `digest of ${description}`;

  test('shows what it offered when it last ran', async () => {
    await using scene = await open();
    const needs = { digestOf, keptListings: scene.kept };
    {
      await using first = supervise({}, needs);
      await first.server.ready();
      await until(() => first.server.listing.tool.length === 1);
    }
    await using second = supervise({}, needs);
    await second.server.recall();
    assert.equal(second.server.listing.tool[0]?.key, 'work');
    assert.equal(second.server.status.state, 'stopped');
    await using changed = supervise({ description: 'another' }, needs);
    await changed.server.recall();
    assert.deepEqual(changed.server.listing.tool, []);
  });

  test('shows nothing of an image that is another by now', async () => {
    await using scene = await open();
    let identity = 'sha256:old';
    const needs = {
      digestOf,
      keptListings: scene.kept,
      identityOf: async () => identity,
      script: () => ({ identity }),
    };
    {
      await using first = supervise({}, needs);
      await first.server.ready();
    }
    await using same = supervise({}, needs);
    await same.server.recall();
    await new Promise(resolve => setImmediate(resolve));
    assert.equal(same.server.listing.tool.length, 1);
    identity = 'sha256:new';
    await using other = supervise({}, needs);
    const changed: string[] = [];
    using _ = other.server.listed(kind => changed.push(kind));
    await other.server.recall();
    await until(() => other.server.listing.tool.length === 0);
    assert.deepEqual(changed, ['tool', 'tool'], 'who lists is told');
    assert.equal(await call(other.server), 'first');
    assert.equal(other.server.listing.tool.length, 1);
  });

  test('shows what it offered where nothing tells what would be launched', async () => {
    await using scene = await open();
    const needs = { digestOf, keptListings: scene.kept, script: () => ({ identity: 'sha256:1' }) };
    {
      await using first = supervise({}, needs);
      await first.server.ready();
    }
    await using second = supervise(
      {},
      { ...needs, identityOf: () => Promise.reject(new Error('the engine is away')) },
    );
    await second.server.recall();
    await new Promise(resolve => setImmediate(resolve));
    assert.equal(second.server.listing.tool.length, 1);
  });
});
