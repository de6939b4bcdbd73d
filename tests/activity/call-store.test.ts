import assert from 'node:assert/strict';
import {
  appendFile,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { createActivity, createCallStore } from '#activity';
import { createManualClock } from '#helpers/clock';
import { redactJson, redactText } from '#telemetry';

const dayMs = 86_400_000;
const usual = { store: true, maxBytes: 2 ** 20, maxAgeMs: 30 * dayMs };
const redaction = { text: redactText, json: redactJson };
const call = {
  at: 1_750_000_000_000,
  method: 'tools/call',
  name: 'notes_add',
  server: 'notes',
  session: '7',
  client: 'claude-code 2.1',
  tookMs: 12.5,
  serverMs: 12.25,
  outcome: 'ok',
  request: Buffer.from('{"id":1,"params":{"text":"a private note"}}'),
  reply: Buffer.from('{"id":1,"result":{}}'),
} as const;

let home = '';
let folder = '';
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'agenthub-activity-'));
  folder = join(home, 'activity');
});
afterEach(async () => await rm(home, { recursive: true }));

/** Starts a run of the hub, which reads the calls of earlier runs. */
async function run(given: Partial<typeof usual> & { maxCalls?: number } = {}) {
  const { maxCalls = 100, ...more } = given;
  let options = { ...usual, ...more };
  const clock = createManualClock();
  const warnings: unknown[] = [];
  const skipped: number[] = [];
  const store = createCallStore(folder, () => options, {
    clock,
    redact: redactText,
    warn: error => warnings.push(error),
    skipped: lines => skipped.push(lines),
  });
  const { lastSession, ...earlier } = await store.open();
  const activity = createActivity(
    { maxCalls, maxPayloadBytes: 10_000, maxKeptBytes: 1_000 },
    { redaction, earlier: { ...earlier, read: most => store.read(most) } },
  );
  store.follow(activity);
  return {
    activity,
    store,
    clock,
    lastSession,
    warnings,
    skipped,
    change: (changed: Partial<typeof usual>) => (options = { ...options, ...changed }),
    names: async () => {
      await activity.restored();
      return activity.list({}, 1_000).map(({ id, name }) => `${id} ${name}`);
    },
  };
}

const stored = async () => await readFile(join(folder, 'calls.jsonl'), 'utf8');

describe('calls', () => {
  test('are listed by the next run, without their messages, and new ones follow them', async () => {
    const first = await run();
    first.activity.record(call);
    first.activity.record({ ...call, name: undefined, server: undefined, client: undefined });
    await first.store.stop();

    const second = await run();
    assert.deepEqual([second.activity.lastId, second.lastSession], [2, 7]);
    second.activity.record({ ...call, name: 'notes_read', session: '8' });
    assert.deepEqual(await second.names(), ['3 notes_read', '2 undefined', '1 notes_add']);
    const { request, reply, ...rest } = call;
    assert.deepEqual(second.activity.find(1), {
      ...rest,
      id: 1,
      requestBytes: request.length,
      replyBytes: reply.length,
      request: undefined,
      reply: undefined,
    });
    assert.ok(second.activity.find(3)?.request);
    assert.doesNotMatch(await stored(), /private/);
  });

  test('are written a second after they were recorded, without secrets, for this user only', async () => {
    const { activity, clock, store } = await run();
    activity.record({ ...call, name: 'https://me:hunter2hunter2@example.com/notes' });
    assert.deepEqual(await readdir(home), []);
    clock.advance(1_000);
    await store.read(0);
    const text = await stored();
    assert.match(text, /example\.com/);
    assert.doesNotMatch(text, /hunter2/);
    assert.equal((await stat(join(folder, 'calls.jsonl'))).mode & 0o777, 0o600);
    assert.equal((await stat(folder)).mode & 0o777, 0o700);
  });

  test('of a burst are all written, and the next run lists as many of the newest as memory holds', async () => {
    const first = await run({ maxCalls: 1_200 });
    for (let index = 1; index <= 1_200; index++) first.activity.record(call);
    await first.store.stop();
    assert.equal((await stored()).trim().split('\n').length, 1_200);
    const second = await run();
    second.activity.record(call);
    const ids = (await second.names()).map(name => Number(name.split(' ')[0]));
    assert.deepEqual(
      ids,
      Array.from({ length: 100 }, (_, index) => 1_201 - index),
    );
  });

  test('keep texts of any characters and length, and times to a microsecond', async () => {
    const first = await run({ maxCalls: 400 });
    const texts = Array.from({ length: 300 }, (_, index) => `${index} "\u0007\\é😀`.repeat(20));
    for (const text of texts)
      first.activity.record({
        ...call,
        at: call.at + 0.5,
        name: text,
        client: text,
        tookMs: 0.0004,
        serverMs: 1.0006,
      });
    await first.store.stop();
    const second = await run({ maxCalls: 400 });
    await second.activity.restored();
    const [newest, ...others] = second.activity.list({}, 400);
    assert.equal(others.length, 299);
    assert.deepEqual(
      [newest?.at, newest?.tookMs, newest?.serverMs, newest?.client],
      [call.at + 0.5, 0, 1.001, texts.at(-1)],
    );
    assert.equal(newest?.name, texts.at(-1));
    assert.deepEqual(second.skipped, []);
  });

  test('take no more bytes than allowed', async () => {
    const { activity, store } = await run({ maxBytes: 2 * 60_000, maxCalls: 2_000 });
    for (let round = 0; round < 6; round++) {
      for (let index = 0; index < 300; index++) activity.record(call);
      await store.read(0);
      await store.stop();
    }
    const sizes = await Promise.all(
      (await readdir(folder)).map(async name => (await stat(join(folder, name))).size),
    );
    assert.equal(sizes.length, 2);
    assert.ok(Math.max(...sizes) <= 60_000, String(sizes));
    const next = await run({ maxCalls: 2_000 });
    assert.equal(next.activity.lastId, 1_800);
  });

  test('that are too old are not listed, and are removed', async () => {
    const first = await run();
    first.activity.record({ ...call, at: call.at - 31 * dayMs });
    first.activity.record(call);
    await first.store.stop();
    assert.deepEqual(await (await run()).names(), ['2 notes_add']);
    const old = new Date(call.at - 31 * dayMs);
    await utimes(join(folder, 'calls.jsonl'), old, old);
    assert.equal((await run()).activity.lastId, 0);
    assert.deepEqual(await readdir(folder), []);
  });

  test('are removed, and later ones are not written, when the config turns storing off', async () => {
    const { activity, store, change } = await run();
    activity.record(call);
    await store.stop();
    change({ store: false });
    await store.apply();
    activity.record(call);
    await store.stop();
    assert.deepEqual(await readdir(home), []);
    activity.record(call);
    change({ store: true });
    await store.apply();
    activity.record(call);
    await store.stop();
    assert.match(await stored(), /^\[4,.*\n$/);
    assert.equal((await run({ store: false })).activity.lastId, 0);
    assert.deepEqual(await readdir(home), []);
  });
});

describe('files of calls that are damaged', () => {
  test('lose the damaged lines, which one warning counts', async () => {
    const first = await run();
    for (let index = 0; index < 3; index++) first.activity.record(call);
    await first.store.stop();
    const [one = '', , three = ''] = (await stored()).split('\n');
    await writeFile(
      join(folder, 'calls.jsonl'),
      `${one}\n{"no":1}\n\u0000\u0001\n${three}\n[4,"x"`,
    );
    const second = await run();
    assert.equal(second.activity.lastId, 3);
    second.activity.record({ ...call, name: 'after' });
    await second.store.stop();
    const third = await run();
    assert.deepEqual(await third.names(), ['4 after', '3 notes_add', '1 notes_add']);
    assert.deepEqual([third.skipped, third.warnings], [[3], []]);
  });

  test('or unreadable as a whole count as empty', async () => {
    await mkdir(folder);
    await appendFile(join(folder, 'calls.jsonl'), Buffer.alloc(100_000, 0xff));
    const { activity, names } = await run();
    activity.record(call);
    assert.deepEqual(await names(), ['1 notes_add']);
  });

  test('or cannot be written cause one warning, and calls go on', async () => {
    await writeFile(folder, 'a file in place of the folder');
    const { activity, store, warnings, names } = await run();
    for (let index = 0; index < 3; index++) {
      activity.record(call);
      await store.stop();
    }
    assert.equal((await names()).length, 3);
    assert.equal(warnings.length, 1, String(warnings));
    await rm(folder);
    activity.record(call);
    await store.stop();
    assert.match(await stored(), /^\[4,/);
  });
});
