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

describe('the stored listing of a server', () => {
  test('is read back byte by byte, with the identity of its program', async () => {
    await using scene = await open();
    const listing = listingOf('{ "name":"work","description":"\\u00e9 \u00e9" }');
    await scene.kept.keep('a', 'digest', listing, 'sha256:1');
    assert.deepEqual(await scene.kept.find('a', 'digest'), { listing, identity: 'sha256:1' });
    await scene.kept.keep('a', 'digest', listing);
    assert.deepEqual(await scene.kept.find('a', 'digest'), { listing, identity: undefined });
  });

  test('is not found under another digest, nor after its removal', async () => {
    await using scene = await open();
    await scene.kept.keep('a', 'digest', listingOf('{}'));
    assert.equal(await scene.kept.find('a', 'other'), undefined);
    assert.equal(await scene.kept.find('b', 'digest'), undefined);
    await scene.kept.forget('a');
    assert.equal(await scene.kept.find('a', 'digest'), undefined);
    assert.deepEqual(await readdir(scene.path), []);
  });

  test('has at most 8 MiB: above that, an earlier one is not returned instead', async () => {
    await using scene = await open();
    await scene.kept.keep('a', 'digest', listingOf('{}'));
    await scene.kept.keep('a', 'digest', listingOf('x'.repeat(8 * 2 ** 20 + 1)));
    assert.equal(await scene.kept.find('a', 'digest'), undefined);
    await scene.kept.keep('a', 'digest', listingOf('x'.repeat(8 * 2 ** 20)));
    assert.ok(await scene.kept.find('a', 'digest'));
  });

  test('is ignored if it cannot be read', async () => {
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

  test('has its last listing', async () => {
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

  test('has no listing if its image has changed', async () => {
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

  test('has its last listing if the identity of the program is unknown', async () => {
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
