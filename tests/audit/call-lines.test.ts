import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'vitest';
import { type AuditedCall, createCallBodies, createCallQueue } from '../../hub/audit/call-lines.ts';
import { createTexts } from '../../hub/audit/texts.ts';

const call: AuditedCall = {
  method: 'tools/call',
  name: 'files_read',
  server: 'files',
  session: '3',
  client: 'Cursor 1.0',
  at: 1_750_000_000_123,
  tookMs: 4.567_89,
  outcome: 'ok',
};

const rules = [
  undefined,
  { action: 'allow', rule: 'policy[1]' },
  { action: 'deny', rule: undefined },
] as const;

/** Returns the members that the line of a call should have. */
function expected(one: AuditedCall, principal: string, args: Buffer | undefined): object {
  const { method, name, server, session, client, at, tookMs, outcome, decision } = one;
  const members = {
    at: new Date(Math.floor(at)).toISOString(),
    kind: 'call',
    principal,
    client,
    server,
    method,
    name: name?.slice(0, 300),
    decision: decision?.action,
    rule: decision?.rule,
    outcome,
    session,
    arguments_sha256: args && hash('sha256', args),
    duration_ms: Math.round(tookMs * 1000) / 1000,
  };
  return JSON.parse(JSON.stringify(members));
}

/** Returns a generator of numbers below a bound, which are the same in each run. */
function createNumbers(seed: number) {
  let state = seed;
  return (bound: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % bound;
  };
}

test('a call has its own fields, whatever calls were written before it', () => {
  const bodies = createCallBodies(createTexts(text => text));
  const below = createNumbers(16);
  const pick = <T>(values: readonly [T, ...T[]]): T => values[below(values.length)] ?? values[0];
  function body(one: AuditedCall, principal: string, args: Buffer | undefined) {
    const template = bodies.templateOf(one, principal);
    const maxBytes = bodies.maxBytes(template, one.session);
    const to = Buffer.alloc(maxBytes + 7);
    const end = bodies.write(to, 7, one, template, args);
    assert.ok(end <= to.length);
    return JSON.parse(`{${to.toString('utf8', 7, end)}}`);
  }
  for (let count = 0; count < 5_000; count++) {
    const decision = pick([...rules]);
    const one: AuditedCall = {
      method: pick(['tools/call', 'prompts/get', 'völlig "anders"']),
      name: pick([undefined, 'files_read', 'a"b\\c\n', '😀 süß', 'x'.repeat(400), `tool_${count}`]),
      server: pick([undefined, 'files', 'web']),
      session: pick(['3', '4', String(count)]),
      client: pick([undefined, 'Cursor 1.0', 'Zed "2"']),
      at: call.at + below(5_000) + below(1_000) / 1_000,
      tookMs: pick([0, 0.0004, 0.12, 4.567_89, 59_999.9996, 86_400_000.5]),
      outcome: pick(['ok', 'tool_error', 'HUB_CALL_TIMEOUT']),
      ...(decision && { decision }),
    };
    const principal = pick(['cursor', 'local', 'agent:a1']);
    const args = pick([undefined, Buffer.from('{"path":"/a"}'), Buffer.alloc(70_000, 'x')]);
    assert.deepEqual(body(one, principal, args), expected(one, principal, args));
  }
});

test('texts are redacted again with the secrets that are added later', () => {
  let secret = 'hunter22';
  const texts = createTexts(text => text.replaceAll(secret, '[redacted]'));
  const bodies = createCallBodies(texts);
  const nameOf = (name: string) =>
    JSON.parse(`{${bodies.templateOf({ ...call, name }, 'cursor').bytes.toString()}}`).name;
  const names = ['hunter22', 'swordfish'];
  assert.deepEqual(names.map(nameOf), ['[redacted]', 'swordfish']);
  secret = 'swordfish';
  texts.forget();
  bodies.forget();
  assert.deepEqual(names.map(nameOf), ['hunter22', '[redacted]']);
});

/** Returns the expected members of a call's line. The number of the call is its session. */
const shown = (number: number, args: Buffer | undefined) => ({
  session: String(number),
  at: new Date(1_750_000_000_000 + number).toISOString(),
  arguments_sha256: args && hash('sha256', args),
  duration_ms: number / 1_000,
});

test('each call gets a line of its own, in order, whatever the size of its arguments', () => {
  const lines: object[] = [];
  const queue = createCallQueue(createCallBodies(createTexts(text => text)), (write, maxBytes) => {
    const members = Buffer.alloc(maxBytes);
    const text = members.toString('utf8', 0, write(members, 0));
    const { session, at, arguments_sha256, duration_ms } = JSON.parse(`{${text}}`);
    lines.push({ session, at, arguments_sha256, duration_ms });
  });
  const expected: object[] = [];
  const message = Buffer.alloc(8_192);
  const sizes = [undefined, 0, 40, 2_048, 2_049, 8_192, 700, 1_900];
  for (let number = 0; number < 1_000; number++) {
    const size = sizes[(number * 7) % sizes.length];
    const start = number % 5;
    const args =
      size === undefined
        ? undefined
        : { message: message.fill(number), start, end: Math.min(start + size, message.length) };
    queue.add(
      { ...call, session: String(number), at: 1_750_000_000_000 + number, tookMs: number / 1_000 },
      'cursor',
      args,
    );
    expected.push(shown(number, args && message.subarray(args.start, args.end)));
  }
  assert.ok(lines.length < expected.length);
  queue.drain();
  queue.drain();
  assert.deepEqual(lines, expected);
});

test('at most 128 calls wait', () => {
  let lines = 0;
  const queue = createCallQueue(createCallBodies(createTexts(text => text)), () => lines++);
  const one = { ...call, session: '1', at: 0, tookMs: 0 };
  for (let number = 0; number < 128; number++) queue.add(one, 'cursor', undefined);
  assert.equal(lines, 0);
  queue.add(one, 'cursor', undefined);
  assert.equal(lines, 128);
});
