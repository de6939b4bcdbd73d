import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createRecordingLog } from '#helpers/recording-log';
import { type Listing, createHandles } from '#servers';
import { createTable } from '#store';
import type { Own } from '../../hub/servers/server-types.ts';
import { createPersistedState } from '../../hub/servers/persisted-state.ts';
import { emptyListing } from '../../hub/servers/listing/listing.ts';
import { createAnswering, legacyReplies, modernReplies, settle, startOf } from './answering.ts';
import { configFor, supervise } from './scripted.ts';

const listing: Listing = {
  ...emptyListing,
  tool: [{ key: 'work', bytes: Buffer.from('{"name":"work"}') }],
};

type Options = {
  readonly digestOf?: (() => string) | undefined;
  readonly own?: Own;
  readonly identityOf?: () => Promise<string | undefined>;
  /** Delays each write of a listing until this promise resolves. */
  readonly written?: Promise<void>;
};

/** Creates the persisted state of one server, with a listing and handles in memory. */
function open(options: Options = {}) {
  const { digestOf = () => 'digest', own, identityOf, written } = options;
  const { log, logged } = createRecordingLog();
  const handles = createHandles(createTable({ file: undefined, maxEntries: 10 }, { log: silent }));
  const kept: (readonly [digest: string, identity: string | undefined])[] = [];
  const state = createPersistedState(
    () => configFor(),
    {
      digestOf,
      ...(identityOf && { identityOf }),
      keptListings: {
        find: async (_server, digest) =>
          digest === 'digest' ? { listing, identity: 'sha256:1' } : undefined,
        async keep(_server, digest, _listing, identity) {
          await written;
          kept.push([digest, identity]);
        },
        forget: async () => {},
      },
      adoption: { handles, digestOf, adopt: async () => undefined },
    },
    log,
    own,
  );
  return { state, handles, kept, logged };
}

const own = (): Own => ({
  instance: 'one',
  base: supervise().server,
  client: undefined,
  era: 'legacy',
  isShared: false,
});

const unlaunchable = () => {
  throw new Error('the variable TOKEN is not set');
};

describe('the listing of an earlier run', () => {
  test('is looked up by the digest of the launch', async () => {
    assert.deepEqual(await open().state.recall(), { listing, identity: 'sha256:1' });
    assert.equal(await open({ digestOf: () => 'other' }).state.recall(), undefined);
  });

  test('is not looked up for an instance per session, nor for a config that cannot be launched', async () => {
    assert.equal(await open({ own: own() }).state.recall(), undefined);
    assert.equal(await open({ digestOf: unlaunchable }).state.recall(), undefined);
  });

  test.each<[string, () => Promise<string | undefined>, boolean]>([
    ['the same program', async () => 'sha256:1', false],
    ['another program', async () => 'sha256:2', true],
    ['no program', async () => undefined, false],
    ['an error', () => Promise.reject(new Error('the engine is away')), false],
  ])('is outdated, or not, if %s would be launched', async (_, identityOf, expected) => {
    const { state } = open({ identityOf });
    assert.equal(await state.isOutdated({ listing, identity: 'sha256:1' }), expected);
  });

  test('is never outdated if its program is unknown, or the server has started meanwhile', async () => {
    const found = Promise.withResolvers<string>();
    const { state } = open({ identityOf: () => found.promise });
    const started = await startOf(createAnswering(legacyReplies));
    assert.equal(await state.isOutdated({ listing, identity: undefined }), false);
    const asked = state.isOutdated({ listing, identity: 'sha256:1' });
    state.onStarted(started);
    found.resolve('sha256:2');
    assert.equal(await asked, false);
  });
});

describe('a stored listing', () => {
  test('has the digest of the launch and the identity of the program', async () => {
    const { state, kept } = open();
    state.keep(listing, 'sha256:1');
    await state.written();
    assert.deepEqual(kept, [['digest', 'sha256:1']]);
  });

  test('is not written for an instance per session, nor for a config that cannot be launched', async () => {
    for (const options of [{ own: own() }, { digestOf: unlaunchable }]) {
      const { state, kept } = open(options);
      state.keep(listing, undefined);
      await state.written();
      assert.deepEqual(kept, []);
    }
  });

  test('is awaited until it is written', async () => {
    const writing = Promise.withResolvers<void>();
    const { state, kept } = open({ written: writing.promise });
    state.keep(listing, undefined);
    const closed = state.written().then(() => kept.length);
    writing.resolve();
    assert.equal(await closed, 1);
  });
});

describe('the handle of a server that has started', () => {
  const handle = async () => 'container-1';

  test('is stored with all that a later run needs to adopt it', async () => {
    const { state, handles } = open();
    const started = await startOf(createAnswering(legacyReplies, { handle }), { variant: 'next' });
    state.onStarted(started);
    await settle();
    const { initializeAnswer, ...kept } = handles.find('scripted') ?? assert.fail('none is kept');
    assert.deepEqual(kept, {
      digest: 'digest',
      instance: 'container-1',
      generation: 0,
      variant: 'next',
    });
    assert.match(initializeAnswer ?? '', /"protocolVersion":"2025-11-25"/);
  });

  test('has no initialize result for a server of the stateless revision', async () => {
    const { state, handles } = open();
    const config = configFor({ era: 'modern' });
    state.onStarted(await startOf(createAnswering(modernReplies, { handle }), { config }));
    await settle();
    const kept = handles.find('scripted');
    assert.ok(kept);
    assert.deepEqual([kept.instance, kept.initializeAnswer], ['container-1', undefined]);
  });

  test('replaces the earlier one, even if the new instance has none', async () => {
    const { state, handles } = open();
    state.onStarted(await startOf(createAnswering(legacyReplies, { handle })));
    await settle();
    state.onStarted(await startOf(createAnswering(legacyReplies)));
    await settle();
    assert.equal(handles.find('scripted'), undefined);
  });

  test('is not stored if the instance was replaced before it became known', async () => {
    const { state, handles } = open();
    const asked = Promise.withResolvers<string>();
    const late = createAnswering(legacyReplies, { handle: () => asked.promise });
    state.onStarted(await startOf(late));
    await settle();
    await state.forgetHandle();
    asked.resolve('container-1');
    await settle();
    assert.equal(handles.find('scripted'), undefined);
  });

  test('that cannot be obtained is absent, with a log line', async () => {
    const { state, handles, logged } = open();
    const lost = () => Promise.reject(new Error('the engine is away'));
    state.onStarted(await startOf(createAnswering(legacyReplies, { handle: lost })));
    await settle();
    assert.equal(handles.find('scripted'), undefined);
    assert.deepEqual(logged, [
      {
        level: 'debug',
        message: 'the server will not outlive the hub',
        fields: { error: 'the engine is away' },
      },
    ]);
  });

  test('of an adopted instance, or one per session, is unchanged', async () => {
    const fail = () => assert.fail('it is asked for its handle');
    const started = await startOf(createAnswering(legacyReplies, { handle: fail }));
    const adopting = open();
    await adopting.handles.keep('scripted', {
      digest: 'digest',
      instance: 'container-0',
      initializeAnswer: undefined,
      generation: 1,
      variant: undefined,
    });
    adopting.state.onStarted({ ...started, isAdopted: true });
    await settle();
    assert.equal(adopting.handles.find('scripted')?.instance, 'container-0');
    const session = open({ own: own() });
    await session.handles.keep('scripted', {
      digest: 'digest',
      instance: 'container-0',
      initializeAnswer: undefined,
      generation: 1,
      variant: undefined,
    });
    session.state.onStarted(started);
    await session.state.forgetHandle();
    await settle();
    assert.equal(session.handles.find('scripted')?.instance, 'container-0');
  });
});
