import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, describe, test } from 'vitest';
import type { FanOutConfig } from '#config';
import { type JsonObject, createEmitter, isObject, parseExactly } from '#core';
import { createManualClock } from '#helpers/clock';
import { type TestHub, startHub, until } from '#helpers/hub';
import type { Principal } from '#policy';
import { type Observed, createPrincipalRequests } from '#routing';
import { callTools } from '../../../hub/builtin/fan-out/call-tools.ts';
import { createTestAccess } from '../../routing/test-access.ts';

const file = 'counter.mjs';
const fixtures = [
  { name: 'one', file },
  { name: 'two', file },
];
const clock = createManualClock();
const { event: changed, fire } = createEmitter<void>();
const { access, change } = createTestAccess(fixtures);
let configs: readonly FanOutConfig[] = [];
let hidesTools = false;
let seen: Observed[] = [];
let hub: TestHub;
beforeAll(async () => {
  hub = await startHub(fixtures, {
    clock,
    access,
    fanOut: { configs: () => configs, hidesTools: () => hidesTools, changed },
    observer: call => void seen.push(call),
  });
});
afterAll(() => hub?.[Symbol.asyncDispose]());
beforeEach(() => {
  hidesTools = false;
  change({});
  seen = [];
});

function configure(
  ...wanted: readonly (Partial<FanOutConfig> & { readonly tools: readonly string[] })[]
) {
  configs = wanted.map(one => ({ name: 'all', merge: 'concat', timeoutMs: 30_000, ...one }));
  fire();
}

const principal: Principal = { kind: 'client', name: 'cursor', grants: { administer: false } };
const requests = (as = principal) => createPrincipalRequests(as, hub.router);
const signal = () => AbortSignal.timeout(20_000);

async function listed(as = principal): Promise<readonly JsonObject[]> {
  const { tools } = await requests(as).request('tools/list', {}, signal());
  const isTool = (tool: unknown): tool is JsonObject => isObject(tool);
  return Array.isArray(tools) ? tools.filter(isTool) : [];
}
const names = async (as = principal) => (await listed(as)).map(({ name }) => name);

/** Calls the fan-out tool. Returns the texts of its result, whether it is an error, and its `_meta`. */
async function call(args: JsonObject = {}, ending = signal()) {
  const params = { name: 'all', arguments: args };
  const result = await requests().request('tools/call', params, ending);
  const content: unknown[] = Array.isArray(result['content']) ? result['content'] : [];
  const texts = content.map(block => (isObject(block) ? String(block['text']) : ''));
  return { texts, isError: result['isError'] === true, meta: result['_meta'] };
}

const inFlight = (server: string) => hub.server(server).running?.upstream.inFlight();

describe('a fan-out tool', () => {
  test('joins the results of its tools, and names those that failed', async () => {
    configure({ tools: ['one_look', 'two_fail', 'two_gone', 'two_peek'] });
    const { texts, isError, meta } = await call();
    assert.equal(isError, false);
    assert.match(
      texts.join('|'),
      /^one_look:\|look \d+\|two_peek:\|peek \d+\|Failed:\ntwo_fail: fail \d+\ntwo_gone: no server offers it now$/,
    );
    const about = isObject(meta) ? meta['agenthub/fan_out'] : undefined;
    assert.deepEqual(isObject(about) && about['answered'], ['one_look', 'two_peek']);
  });

  test('calls each tool as the principal that called it', async () => {
    configure({ tools: ['one_look', 'two_peek'] });
    await call();
    assert.deepEqual(
      new Set(seen.map(({ name, principal: { name: as }, server }) => `${name} ${as} ${server}`)),
      new Set(['one_look cursor one', 'two_peek cursor two', 'all cursor fan_out']),
    );
  });

  test('passes arguments on unchanged, also numbers that JavaScript cannot represent', async () => {
    configure({ tools: ['one_look', 'two_look'] });
    await requests().request(
      'tools/call',
      { name: 'all', arguments: parseExactly('{"id":12345678901234567890}') },
      signal(),
    );
    const sent = seen.filter(({ server }) => server !== 'fan_out');
    assert.equal(sent.length, 2);
    for (const { request } of sent) assert.match(request.toString(), /"id":12345678901234567890\}/);
  });

  test('with "first" calls one after the other until one succeeds', async () => {
    configure({ tools: ['one_fail', 'two_look', 'one_peek'], merge: 'first' });
    const { texts } = await call();
    assert.match(texts.join('|'), /^look \d+\|Failed:\none_fail: fail \d+$/);
    assert.deepEqual(
      seen.map(({ name }) => name),
      ['one_fail', 'two_look', 'all'],
    );
  });

  test('with "race" gives the first result, and cancels the others', async () => {
    configure({ tools: ['one_look', 'two_release'], merge: 'race' });
    const { texts } = await call({ hold: 1, count: 0 });
    assert.deepEqual(texts, ['released 0']);
    await until(() => inFlight('one') === 0);
    assert.equal(seen.find(({ name }) => name === 'one_look')?.outcome, 'HUB_CALL_CANCELLED');
  });

  test('is an error if no tool succeeded', async () => {
    configure({ tools: ['one_fail', 'two_fail'], merge: 'race' });
    const { texts, isError } = await call();
    assert.ok(isError);
    assert.match(
      texts.join('|'),
      /^Failed:\n(?:one|two)_fail: fail \d+\n(?:one|two)_fail: fail \d+$/,
    );
  });

  test('shows a long error that is cut within a surrogate pair as valid Unicode', async () => {
    const failed = { isError: true, content: [{ type: 'text', text: `x${'😀'.repeat(300)}` }] };
    const { content } = await callTools(
      { name: 'all', merge: 'concat', timeoutMs: 1_000, tools: ['one'], notCalled: [], args: {} },
      { requests: { request: async () => failed }, clock, signal: signal(), progress() {} },
    );
    assert.deepEqual(content, [
      { type: 'text', text: `Failed:\none: x${'😀'.repeat(249)}\uFFFD...` },
    ]);
  });

  test('names a tool that takes too long, and cancels it', async () => {
    configure({ tools: ['one_look', 'two_release'], timeoutMs: 5_000 });
    const calling = call({ hold: 1, count: 0 });
    await until(() => seen.some(({ name }) => name === 'two_release') && inFlight('one') === 1);
    clock.advance(5_000);
    const { texts } = await calling;
    assert.equal(texts.at(-1), 'Failed:\none_look: it did not answer within 5 s');
    await until(() => inFlight('one') === 0);
  });

  test('cancels all of its tools when it is cancelled', async () => {
    configure({ tools: ['one_look', 'two_look'] });
    const leaving = new AbortController();
    const calling = call({ hold: 1 }, leaving.signal);
    await until(() => inFlight('one') === 1 && inFlight('two') === 1);
    leaving.abort();
    await assert.rejects(calling);
    await until(() => inFlight('one') === 0 && inFlight('two') === 0);
  });

  test('has a description of its tools, and annotations that are true of all of them', async () => {
    configure(
      { tools: ['one_look', 'two_write'], merge: 'first' },
      { name: 'own', tools: ['one_look'], description: 'Ours.' },
    );
    const [all, own] = (await listed()).filter(({ name }) => name === 'all' || name === 'own');
    assert.match(
      JSON.stringify(all?.['description']),
      /^"Calls one_look, two_write with the same arguments one after the other, until one succeeds\. one_look: Counts/,
    );
    assert.deepEqual(all?.['annotations'], {
      readOnlyHint: false,
      destructiveHint: true,
      idempotentHint: false,
      openWorldHint: true,
    });
    assert.equal(own?.['description'], 'Ours.');
    assert.equal(isObject(own?.['annotations']) && own['annotations']['readOnlyHint'], true);
  });
});

describe('under a policy', () => {
  test('the default description does not name tools, which others may be denied', async () => {
    hidesTools = true;
    configure({ tools: ['one_look', 'two_write'], merge: 'first' });
    const [all] = (await listed()).filter(({ name }) => name === 'all');
    const description = JSON.stringify(all?.['description']);
    assert.match(
      description,
      /^"Calls 2 tools with the same arguments one after the other, until one succeeds\. The first: Counts/,
    );
    assert.doesNotMatch(description, /one_look|two_write/);
  });

  test('a tool that the caller may not use is omitted silently', async () => {
    configure({ tools: ['one_look', 'two_peek'] });
    change({ policy: [{ tools: ['two_*'], action: 'deny' }] });
    const { texts } = await call();
    assert.match(texts.join('|'), /^one_look:\|look \d+$/);
  });

  test.each([
    ['tools by their names', { tools: ['two_*'] }],
    ['tools of a server', { servers: ['two'] }],
  ])('a tool that the caller may not use is not named in the result: %s', async (_what, rule) => {
    configure({ tools: ['one_look', 'two_write', 'two_gone', 'one_gone'] });
    change({ policy: [{ ...rule, action: 'deny' }] });
    const { texts, meta } = await call();
    assert.match(
      texts.join('|'),
      /^one_look:\|look \d+\|Failed:\none_gone: no server offers it now$/,
    );
    assert.doesNotMatch(JSON.stringify(meta), /two/);
  });

  test('a fan-out tool is listed only to callers who may see one of its tools, and unknown to others', async () => {
    configure({ tools: ['one_look', 'two_peek'] });
    const other: Principal = { ...principal, name: 'other' };
    change({
      policy: [{ clients: ['cursor'], tools: ['one_look', 'two_peek'], action: 'deny' }],
    });
    assert.ok(!(await names()).includes('all'));
    assert.ok((await names(other)).includes('all'));
    const { texts, isError } = await call();
    assert.deepEqual([texts, isError], [['no tool is called "all"'], true]);
  });

  test('a fan-out tool is denied by its own name like any other tool', async () => {
    configure({ tools: ['one_look'] });
    change({ policy: [{ tools: ['all'], action: 'deny' }] });
    await assert.rejects(call(), /policy denies the tool "all"/);
    assert.ok(!(await names()).includes('all'));
  });
});

test('a fan-out tool is listed only while one of its tools exists', async () => {
  configure({ tools: ['three_look'] });
  assert.ok(!(await names()).includes('all'));
  configure({ tools: ['three_look', 'two_look'] });
  assert.ok((await names()).includes('all'));
  // A fan-out tool never calls itself, even if its config lists its own name.
  configure({ tools: ['all'] });
  assert.ok(!(await names()).includes('all'));
  configure();
  assert.ok(!(await names()).includes('all'));
});
