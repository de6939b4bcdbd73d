import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createLog } from '#telemetry';

function logged(fields: object, level: 'info' | 'warn' = 'info'): Record<string, unknown> {
  const lines: string[] = [];
  const log = createLog(
    { level: 'info', format: 'json' },
    { write: line => void lines.push(line) },
  );
  log[level](fields, 'said');
  assert.equal(lines.length, 1);
  return JSON.parse(lines[0] ?? '');
}

test('a line is one JSON object with level, time and message', () => {
  const { level, time, msg, server } = logged({ server: 'memory' }, 'warn');
  assert.deepEqual({ level, msg, server }, { level: 'warn', msg: 'said', server: 'memory' });
  assert.match(String(time), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
});

test.for([
  [{ token: 'hush' }],
  [{ Authorization: 'Bearer hush' }],
  [{ a: { b: { token: 'hush' } } }],
  [{ list: [{ password: 'hush' }] }],
  [{ env: { NAME: 'hush' } }],
  [{ GITHUB_TOKEN: 'hush', OBSIDIAN_API_KEY: 'hush' }],
  [{ a: { b: { c: { d: { e: { f: { g: 'hush' } } } } } } }],
])('no credential is logged: %j', ([fields]) => {
  assert.doesNotMatch(JSON.stringify(logged(fields ?? {})), /hush/);
});

test('other fields are logged unchanged', () => {
  const fields = { tokens: 3, collisions: [{ server: 'a', name: 'b' }], why: 'no secret in it' };
  assert.partialDeepStrictEqual(logged(fields), fields);
});

test('a level below the one set is not logged', () => {
  const lines: string[] = [];
  const log = createLog(
    { level: 'warn', format: 'json' },
    { write: line => void lines.push(line) },
  );
  log.info({}, 'quiet');
  log.child({ server: 'memory' }).error({}, 'loud');
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /"server":"memory"/);
});
