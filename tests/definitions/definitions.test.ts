import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'vitest';
import { type ServerConfig, loadConfig } from '#config';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { createRecordingLog } from '#helpers/recording-log';
import { createBacklog } from '#store';
import { createDefinitions } from '../../hub/definitions/definitions.ts';

let folder = '';
let config: ServerConfig;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agenthub-definitions-'));
  config = await configOf({ url: 'http://127.0.0.1:1/mcp' });
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map(one => one.written()));
  await rm(folder, { recursive: true });
});
const opened: ReturnType<typeof createDefinitions>[] = [];

async function configOf(entry: object): Promise<ServerConfig> {
  const file = join(folder, 'hub.json');
  await writeFile(file, JSON.stringify({ mcpServers: { calc: entry } }));
  const [server] = (await loadConfig(file, { env: {}, home: folder })).servers;
  assert.ok(server);
  return server;
}

async function open() {
  const clock = createManualClock();
  const { log, logged } = createRecordingLog();
  const events: string[] = [];
  const backlog = createBacklog();
  const definitions = createDefinitions(join(folder, 'hub.lock.json'), {
    clock,
    log,
    backlog,
    record: ({ action }) => void events.push(action),
  });
  opened.push(definitions);
  await definitions.load();
  return { definitions, clock, logged, events, backlog };
}

const tools = (said: Readonly<Record<string, string>>, instructions?: string) => ({
  tool: Object.entries(said).map(([key, description]) => ({
    key,
    bytes: Buffer.from(JSON.stringify({ name: key, description })),
  })),
  prompt: [],
  instructions,
});

const namesOf = (held: readonly { readonly name: string; readonly state: string }[]) =>
  held.map(({ name, state }) => `${name} ${state}`);

test('a schema whose sets are written in another order is the same', async () => {
  const { definitions, clock } = await open();
  const converting = (schema: object) => ({
    tool: [{ key: 'convert', bytes: Buffer.from(JSON.stringify({ inputSchema: schema })) }],
    prompt: [],
    instructions: undefined,
  });
  const unit = { type: ['string', 'null'], enum: ['m', 'km'], examples: ['m', 'km'] };
  const schema = { properties: { unit }, required: ['unit', 'value'] };
  definitions.seen(config, converting(schema));
  clock.advance(11_000);
  const other = { ...unit, type: ['null', 'string'], enum: ['km', 'm'] };
  const reordered = { properties: { unit: other }, required: ['value', 'unit'] };
  assert.deepEqual(definitions.heldIn(config, converting(reordered)), []);
  for (const changed of [
    { ...schema, required: ['unit'] },
    { ...schema, properties: { unit: { ...unit, examples: ['km', 'm'] } } },
  ])
    assert.deepEqual(namesOf(definitions.heldIn(config, converting(changed))), ['convert changed']);
});

describe('a server that is new', () => {
  test('is trusted, and what it changes later is held back, logged and reported once', async () => {
    const { definitions, clock, logged, events } = await open();
    definitions.seen(config, tools({ add: 'Adds.' }, 'Be kind.'));
    clock.advance(11_000);
    assert.deepEqual(definitions.heldIn(config, tools({ add: 'Adds.' }, 'Be kind.')), []);
    const now = tools({ add: 'Steals.', more: 'New.' }, 'Be bad.');
    definitions.seen(config, now);
    for (let times = 0; times < 2; times++)
      assert.deepEqual(namesOf(definitions.heldIn(config, now)), [
        'add changed',
        'more new',
        ' changed',
      ]);
    assert.equal(logged.filter(({ level }) => level === 'warn').length, 3);
    assert.equal(events.filter(action => action === 'definition_deviates').length, 3);
  });

  test('that changes its tools all the time fills neither the log nor the audit log', async () => {
    const { definitions, clock, logged, events } = await open();
    const listed = (generation: number) =>
      tools(
        Object.fromEntries(
          Array.from({ length: 50 }, (_, at) => [`tool${at}`, `Generation ${generation}.`]),
        ),
      );
    definitions.seen(config, listed(0));
    clock.advance(11_000);
    for (let generation = 1; generation <= 20; generation++)
      assert.equal(definitions.heldIn(config, listed(generation)).length, 50);
    const warnings = logged.filter(({ level }) => level === 'warn');
    assert.equal(warnings.length, 101);
    assert.match(warnings.at(-1)?.message ?? '', /^100 definitions were reported within an hour/);
    assert.equal(events.filter(action => action === 'definition_deviates').length, 101);
    clock.advance(60 * 60_000);
    definitions.heldIn(config, listed(21));
    assert.equal(events.filter(action => action === 'definition_deviates').length, 151);
  });

  test('may list its tools late, and one by one', async () => {
    const { definitions, clock } = await open();
    definitions.seen(config, tools({}, 'Be kind.'));
    clock.advance(60_000);
    const offers = [tools({ one: '1' }), tools({ one: '1', two: '2' })];
    for (const offer of offers) {
      definitions.seen(config, offer);
      assert.deepEqual(definitions.heldIn(config, offer), []);
      clock.advance(1_000);
    }
    const changed = tools({ one: 'other', two: '2' });
    definitions.seen(config, changed);
    assert.deepEqual(namesOf(definitions.heldIn(config, changed)), ['one changed']);
    clock.advance(10_000);
    const later = tools({ one: '1', two: '2', three: '3' });
    definitions.seen(config, later);
    assert.deepEqual(namesOf(definitions.heldIn(config, later)), ['three new']);
  });

  test('has its first instructions pinned, also if it lists its tools later or never', async () => {
    const { definitions, events } = await open();
    const kind = tools({}, 'Be kind.');
    for (let starts = 0; starts < 2; starts++) definitions.seen(config, kind);
    assert.deepEqual(definitions.heldIn(config, kind), []);
    assert.deepEqual(events, ['definitions_pinned']);
    for (const offer of [tools({}, 'Be bad.'), tools({ add: 'Adds.' }, 'Be bad.')]) {
      assert.deepEqual(namesOf(definitions.heldIn(config, offer)), [' changed']);
      definitions.seen(config, offer);
      assert.deepEqual(namesOf(definitions.heldIn(config, offer)), [' changed']);
    }
    assert.deepEqual(definitions.heldIn(config, tools({ add: 'Adds.' }, 'Be kind.')), []);
  });

  test('is pinned again if its entry has another URL, but not if only other keys differ', async () => {
    const { definitions, clock } = await open();
    definitions.seen(config, tools({ add: 'Adds.' }));
    clock.advance(11_000);
    const now = tools({ add: 'Other.' });
    const same = await configOf({ url: 'http://127.0.0.1:1/mcp', timeout: 5 });
    definitions.seen(same, now);
    assert.deepEqual(namesOf(definitions.heldIn(same, now)), ['add changed']);
    const other = await configOf({ url: 'http://127.0.0.1:2/mcp' });
    definitions.seen(other, now);
    assert.deepEqual(definitions.heldIn(other, now), []);
  });
});

describe('a decision about a changed definition', () => {
  test('is in the lock file, and is known to the next run', async () => {
    const { definitions, clock } = await open();
    definitions.seen(config, tools({ add: 'Adds.', sub: 'Subtracts.' }));
    clock.advance(11_000);
    const now = tools({ add: 'Adds two.', sub: 'Steals.' });
    await definitions.decide('accept', config, now, { name: 'add' });
    await definitions.decide('reject', config, now, { name: 'sub' });
    const { definitions: next } = await open();
    assert.deepEqual(namesOf(next.heldIn(config, now)), ['sub rejected']);
    const warned = await configOf({ url: 'http://127.0.0.1:1/mcp', pinning: 'warn' });
    assert.deepEqual(namesOf(next.heldIn(warned, now)), ['sub rejected']);
    assert.equal(next.mayHold(warned), true);
    await next.decide('accept', config, now, { name: 'sub' });
    assert.deepEqual(next.heldIn(config, now), []);
    assert.equal(next.mayHold(warned), false);
  });

  test('is refused if the definition has changed again since it was shown', async () => {
    const { definitions, clock } = await open();
    definitions.seen(config, tools({ add: 'Adds.' }));
    clock.advance(11_000);
    const [shown] = definitions.deviations(config, tools({ add: 'Adds two.' }));
    const hashes = [shown?.definition.hash ?? ''];
    const now = tools({ add: 'Steals.' });
    await assert.rejects(definitions.decide('accept', config, now, { hashes }), {
      code: 'HUB_DEFINITION_STALE',
    });
    assert.deepEqual(namesOf(definitions.heldIn(config, now)), ['add changed']);
    await assert.rejects(definitions.decide('accept', config, now, { name: 'other' }), {
      code: 'HUB_NAME_UNKNOWN',
    });
    await assert.rejects(definitions.decide('accept', config, now, { name: 'x'.repeat(100_000) }), {
      message: /no definition of "x{59}\.\.\. deviates/,
    });
  });

  test('that cannot be written has no effect', async () => {
    const { definitions, clock } = await open();
    definitions.seen(config, tools({ add: 'Adds.' }));
    await definitions.written();
    clock.advance(11_000);
    const text = await readFile(definitions.file, 'utf8');
    await writeFile(definitions.file, text.slice(0, -20));
    const now = tools({ add: 'Other.' });
    await assert.rejects(definitions.decide('accept', config, now, {}), {
      code: 'HUB_LOCK_INVALID',
    });
    await writeFile(definitions.file, text);
    await definitions.load();
    assert.deepEqual(namesOf(definitions.heldIn(config, now)), ['add changed']);
  });
});

test('with a lock file that is damaged at the start, the changes of every server are held back', async () => {
  await writeFile(join(folder, 'hub.lock.json'), '{"version": 1, "serv');
  const { definitions, logged } = await open();
  const now = tools({ add: 'Adds.' });
  definitions.seen(config, now);
  assert.deepEqual(namesOf(definitions.heldIn(config, now)), ['add changed']);
  assert.ok(definitions.fault instanceof HubError);
  assert.equal(logged.filter(({ level }) => level === 'error').length, 1);
  await writeFile(join(folder, 'hub.lock.json'), '{"version": 1, "servers": {}}');
  await definitions.load();
  assert.deepEqual(definitions.heldIn(config, now), []);
});

test('pins that cannot be written are reported with their remedy, and written once that is possible', async () => {
  const absent = join(folder, 'absent');
  await symlink(join(absent, 'hub.lock.json'), join(folder, 'hub.lock.json'));
  const { definitions, backlog, logged } = await open();
  definitions.seen(config, tools({ add: 'Adds.' }));
  await definitions.written();
  const [failure, ...others] = await backlog.retry();
  assert.equal(failure?.file, definitions.file);
  assert.match(
    String(failure?.reason),
    /^ENOENT.*\. Fix that, or name another file\. Until then, definitions are pinned in memory only$/,
  );
  assert.deepEqual(others, []);
  assert.equal(logged.filter(({ level }) => level === 'warn').length, 1);
  await mkdir(absent);
  assert.deepEqual(await backlog.retry(), []);
  assert.match(await readFile(definitions.file, 'utf8'), /"calc"/);
});

test('pins made while the lock file was damaged are written when it is repaired', async () => {
  const { definitions } = await open();
  definitions.seen(config, tools({ add: 'Adds.' }));
  await definitions.written();
  const text = await readFile(definitions.file, 'utf8');
  await writeFile(definitions.file, text.slice(0, -20));
  const other = { ...config, name: 'other' };
  definitions.seen(other, tools({ sub: 'Subtracts.' }));
  await definitions.written();
  await writeFile(definitions.file, text);
  await definitions.load();
  assert.deepEqual(definitions.names(), ['calc', 'other']);
  assert.match(await readFile(definitions.file, 'utf8'), /"other"/);
});

test('a file that is read during a write does not restore its earlier content', async () => {
  const { definitions } = await open();
  // A definition so large that reading the file takes a while.
  definitions.seen(config, tools({ long: 'x'.repeat(3_000_000) }));
  await definitions.written();
  const pins = definitions.pinsFor(config);
  assert.ok(pins);
  let isWritten = false;
  let lost = 0;
  definitions.changed(() => {
    if (!definitions.names().includes('other')) lost++;
  });
  const written = definitions.set('other', pins).finally(() => (isWritten = true));
  const loads: Promise<void>[] = [];
  while (!isWritten) {
    loads.push(definitions.load());
    await readFile(definitions.file);
  }
  await Promise.all([written, ...loads]);
  assert.equal(lost, 0);
});

test('after the removal of a file that was never valid, servers are compared again, and pinned', async () => {
  const file = join(folder, 'hub.lock.json');
  await writeFile(file, '<<<<<<< HEAD');
  const { definitions } = await open();
  const offer = tools({ add: 'adds' });
  definitions.changed(names => {
    if (names === undefined) definitions.seen(config, offer);
  });
  assert.equal(definitions.heldIn(config, offer).length, 1);
  await rm(file);
  await definitions.load();
  assert.ok(definitions.pinsFor(config));
  assert.deepEqual(definitions.heldIn(config, offer), []);
});
