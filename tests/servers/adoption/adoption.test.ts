import assert from 'node:assert/strict';
import { mkdir, mkdtempDisposable, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { HubError, silent } from '#core';
import { until } from '#helpers/hub';
import { type Handles, type ServerNeeds, createHandles } from '#servers';
import { createTable } from '#store';
import { type Scripted, call, configFor, supervise } from '../scripted.ts';

const digestOf = ({ description }: { readonly description: string | undefined }) =>
  `digest of ${description}`;

/** Creates an engine whose servers keep running when their hub ends. */
async function createEngine(file?: string) {
  const handles = createHandles(createTable({ file, maxEntries: 10 }, { log: silent }));
  await handles.load();
  const left = new Map<string, Scripted>();
  let handed = 0;
  let isHeld = false;
  const held = Promise.withResolvers<void>();
  const adopted: string[] = [];
  const adoption: NonNullable<NonNullable<ServerNeeds['launches']>['adoption']> = {
    handles,
    digestOf,
    async adopt(_config, handle, _events, _signal, variant) {
      adopted.push(`${handle} as ${variant}`);
      return left.get(handle);
    },
  };
  return {
    handles,
    left,
    adopted,
    needs: {
      adoption,
      script: () => ({
        async handle() {
          const handle = `container-${++handed} then`;
          if (isHeld) await held.promise;
          return handle;
        },
      }),
    },
    hold: () => void (isHeld = true),
    release: () => held.resolve(),
  };
}

const isKept = (handles: Handles) => handles.find('scripted') !== undefined;

describe('a server that outlives the hub', () => {
  test('is adopted by the next run: as the same instance, with ids of its own range', async () => {
    const engine = await createEngine();
    const first = supervise({}, engine.needs);
    await first.server.ready();
    await until(() => isKept(engine.handles));
    engine.left.set('container-1 then', first.newest);
    await using second = supervise({}, engine.needs);
    assert.equal(await call(second.server), 'first');
    assert.equal(second.launched.length, 0);
    assert.deepEqual(engine.adopted, ['container-1 then as undefined']);
    const { methods, ids } = first.newest;
    assert.equal(methods.filter(method => method === 'initialize').length, 1);
    assert.ok(ids.slice(-3).every(id => id > 2 ** 32));
    assert.equal(engine.handles.find('scripted')?.generation, 1);
  });

  test('is replaced if the config would launch another program', async () => {
    const engine = await createEngine();
    const first = supervise({}, engine.needs);
    await first.server.ready();
    await until(() => isKept(engine.handles));
    await using second = supervise({ description: 'second' }, engine.needs);
    assert.equal(await call(second.server), 'second');
    assert.deepEqual(engine.adopted, []);
    assert.equal(second.launched.length, 1);
  });

  test('is replaced if it does not answer, and its variant is not reused', async () => {
    const engine = await createEngine();
    const first = supervise({}, engine.needs);
    await first.server.ready();
    await first.server.reconfigure(configFor({ description: 'second' }), true);
    await until(() => engine.handles.find('scripted')?.variant === 'next');
    const { instance: handle } = engine.handles.find('scripted') ?? assert.fail('nothing is kept');
    first.newest.mute();
    engine.left.set(handle, first.newest);
    const config = { description: 'second', startTimeoutMs: 300 };
    await using second = supervise(config, engine.needs);
    assert.equal(await call(second.server), 'second');
    assert.equal(first.newest.isAlive, false);
    assert.equal(second.newest.variant, undefined);
    // The successor gets the variant `next`, because the running instance has the name without a variant.
    await second.server.reconfigure(configFor({ description: 'third' }), true);
    assert.equal(second.newest.variant, 'next');
  });

  test('is replaced at once if the engine refuses the connection, as for a paused container', async () => {
    const engine = await createEngine();
    const first = supervise({}, engine.needs);
    await first.server.ready();
    await until(() => isKept(engine.handles));
    const adopt = () => Promise.reject(new HubError('HUB_ENGINE_REFUSED', 'it is paused'));
    const adoption = { ...engine.needs.adoption, adopt };
    await using second = supervise({}, { ...engine.needs, adoption });
    const told: string[] = [];
    second.server.changed(status => {
      if (status.state === 'starting') told.push(status.progress);
    });
    assert.equal(await call(second.server), 'first');
    assert.deepEqual(second.states, ['starting', 'running']);
    assert.ok(told.includes('the instance of the earlier run does not answer: it is replaced'));
    assert.equal(second.launched.length, 1);
  });

  test('is adopted even if that cannot be recorded, with ids that no recorded run has', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'adoption-'));
    const disk = join(folder.path, 'disk');
    await mkdir(disk);
    const engine = await createEngine(join(disk, 'handles.json'));
    const first = supervise({}, engine.needs);
    await first.server.ready();
    await until(() => isKept(engine.handles));
    engine.left.set('container-1 then', first.newest);
    const asked = first.newest.ids.length;
    await rm(disk, { recursive: true });
    const drawn = new Set<number>();
    for (let run = 0; run < 3; run++) {
      const next = supervise({}, engine.needs);
      assert.equal(await call(next.server), 'first');
      assert.equal(next.launched.length, 0);
      for (const id of first.newest.ids.slice(asked)) {
        assert.ok(Number(id) >= 2 ** 52 && Number.isSafeInteger(Number(id)), String(id));
        drawn.add(Math.floor(Number(id) / 2 ** 32));
      }
    }
    assert.equal(drawn.size, 3, 'each run has numbers of its own');
  });

  test('keeps its handle while the connection is lost, and is adopted again when it is restored', async () => {
    const engine = await createEngine();
    await using scene = supervise({}, engine.needs);
    await scene.server.ready();
    await until(() => isKept(engine.handles));
    scene.newest.end({ lost: true, detail: 'lost: the engine is away' });
    await until(() => scene.server.status.state === 'unreachable');
    assert.equal(isKept(engine.handles), true);
    await scene.server.stop(true);
    assert.equal(isKept(engine.handles), false, 'who stops it does not want it back');
  });
});

describe('the handle of a server', () => {
  test('is removed when the server exits, and when it is stopped', async () => {
    const engine = await createEngine();
    await using scene = supervise({}, engine.needs);
    await scene.server.ready();
    await until(() => isKept(engine.handles));
    scene.newest.end({ code: 1, detail: 'exited with code 1' });
    await until(() => scene.server.status.state === 'backing_off');
    assert.equal(isKept(engine.handles), false);
    await scene.server.ready();
    await until(() => isKept(engine.handles));
    await scene.server.stop(false);
    assert.equal(isKept(engine.handles), false);
  });

  test('is not stored if it becomes known only after the server has ended', async () => {
    const engine = await createEngine();
    engine.hold();
    await using scene = supervise({}, engine.needs);
    await scene.server.ready();
    await scene.server.stop(false);
    engine.release();
    await new Promise(resolve => setImmediate(resolve));
    assert.equal(isKept(engine.handles), false);
  });

  test('belongs to the instance that has replaced another, and never to one that has not', async () => {
    const engine = await createEngine();
    const script = ({ description }: { readonly description: string | undefined }) => ({
      ...engine.needs.script(),
      isBroken: description === 'broken',
    });
    await using scene = supervise({}, { ...engine.needs, script });
    await scene.server.ready();
    await until(() => isKept(engine.handles));
    const before = engine.handles.find('scripted');
    const broken = configFor({ description: 'broken', startTimeoutMs: 50 });
    await assert.rejects(scene.server.reconfigure(broken, true));
    assert.deepEqual(engine.handles.find('scripted'), before);
    engine.hold();
    await scene.server.reconfigure(configFor({ description: 'second' }), true);
    assert.equal(isKept(engine.handles), false, 'the old one is nothing to go back to');
    engine.release();
    await until(() => isKept(engine.handles));
    assert.equal(engine.handles.find('scripted')?.digest, 'digest of second');
    assert.equal(engine.handles.find('scripted')?.variant, 'next');
  });

  test('belongs to the successor if it becomes known while a dead instance is being removed', async () => {
    const engine = await createEngine();
    let launches = 0;
    await using scene = supervise(
      {},
      {
        ...engine.needs,
        async gate() {
          if (++launches === 2) scene.newest.end({ code: 1, detail: 'exited with code 1' });
        },
      },
    );
    await scene.server.ready();
    await until(() => isKept(engine.handles));
    await scene.server.reconfigure(configFor({ description: 'second' }), true);
    await until(() => isKept(engine.handles));
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => setImmediate(resolve));
    assert.equal(engine.handles.find('scripted')?.digest, 'digest of second');
  });

  test('is absent if the engine cannot provide it', async () => {
    const engine = await createEngine();
    const script = () => ({
      handle: () => Promise.reject(new HubError('HUB_ENGINE_UNREACHABLE', 'away')),
    });
    await using scene = supervise({}, { ...engine.needs, script });
    assert.equal(await call(scene.server), 'first');
    assert.equal(isKept(engine.handles), false);
  });
});
