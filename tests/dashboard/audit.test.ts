import assert from 'node:assert/strict';
import { test } from 'vitest';
import { textOf } from '#dashboard';
import { auditPages } from '../../hub/dashboard/audit.ts';
import type { DashboardAudit } from '../../hub/dashboard/dashboard-types.ts';
import { requestOf } from './request.ts';

type Asked = Parameters<DashboardAudit['list']>;
type Lines = Awaited<ReturnType<DashboardAudit['list']>>['lines'];

/** Returns the page with these lines, and the queries that it sent to the log. */
async function shown(
  lines: Lines,
  query: Readonly<Record<string, string>> = {},
  status: Awaited<ReturnType<DashboardAudit['status']>> = { kind: 'up' },
) {
  const asked: Asked[] = [];
  const pages = auditPages({
    telemetry: {
      audit: {
        status: async () => status,
        async list(...args) {
          asked.push(args);
          return { lines, next: lines.length > 0 ? 7 : undefined };
        },
      },
    },
  });
  const answer = await pages.audit(requestOf({ query }));
  const text = 'page' in answer ? textOf(answer.page.main) : assert.fail('no page');
  return { text, asked };
}

const line = { seq: 9, at: '2026-03-01T10:00:00.000Z', kind: 'call' };

const cell = (text: string, title: string) =>
  new RegExp(`data-title="${title}"[^>]*>(.*?)</td>`).exec(text)?.[1]?.replaceAll(/<[^>]+>/g, '');

test('a call is shown with its client, outcome and rule', async () => {
  const { text } = await shown([
    {
      ...line,
      principal: 'cursor',
      client: 'Cursor 1.0',
      server: 'files',
      method: 'tools/call',
      name: 'files_write_file',
      rule: 'policy[2]',
      outcome: 'HUB_POLICY_DENIED',
      duration_ms: 0.4,
    },
  ]);
  assert.match(text, /files_write_file <span class="note">tools\/call</);
  assert.equal(cell(text, 'Who'), 'cursor Cursor 1.0');
  assert.equal(cell(text, 'Server'), 'files');
  assert.equal(cell(text, 'Outcome'), 'HUB_POLICY_DENIED');
  assert.equal(cell(text, 'Rule'), 'policy[2]');
  assert.equal(cell(text, 'Took'), '0.40 ms');
});

test('a name cannot reverse the text beside it', async () => {
  const { text } = await shown([
    { ...line, method: 'tools/call', name: 'a\u202eb', principal: 'local', client: 'c\u202ed' },
  ]);
  assert.match(text, /a&lt;U\+202E&gt;b <span class="note">tools\/call</);
  assert.equal(cell(text, 'Who'), 'local c&lt;U+202E&gt;d');
});

test('a refused request is shown with its address and path', async () => {
  const { text } = await shown([
    { ...line, kind: 'refusal', address: '127.0.0.1', method: 'POST', path: '/<b>' },
  ]);
  assert.equal(cell(text, 'Who'), '127.0.0.1');
  assert.equal(cell(text, 'Outcome'), 'refused');
  assert.match(text, /POST <span class="note">\/&lt;b&gt;</);
});

test('a change is shown with what was changed', async () => {
  const { text } = await shown([
    { ...line, kind: 'change', principal: 'owner', action: 'server_stop', target: 'notes' },
  ]);
  assert.equal(cell(text, 'Who'), 'owner');
  assert.equal(cell(text, 'Server'), 'notes');
});

test('a filter is passed to the log, and kept in the form and the pages', async () => {
  const query = { client: 'cursor', tool: 'files_*', denied: 'yes', before: '40' };
  const { text, asked } = await shown([line], query);
  assert.deepEqual(asked, [
    [
      { client: 'cursor', tool: 'files_*', isDenied: true },
      { limit: 50, before: 40 },
    ],
  ]);
  assert.match(text, /name="tool" value="files_\*"/);
  assert.match(text, /value="yes" checked/);
  assert.match(text, /href="[^"]*before=7[^"]*"[^>]*>Older</);
});

test('an invalid line number is ignored', async () => {
  const { asked } = await shown([], { before: 'x' });
  assert.equal(asked[0]?.[1].before, undefined);
});

test('an empty log and a filter without matches have different texts', async () => {
  assert.match((await shown([])).text, /No lines yet/);
  assert.match((await shown([], { client: 'a' })).text, /No line matches the filter/);
});

test('a log that is off or cannot be written says so', async () => {
  assert.match((await shown([], {}, { kind: 'off' })).text, /The log is off/);
  const failing = { kind: 'failing', reason: 'ENOSPC: no space left', lost: 0 } as const;
  assert.match((await shown([], {}, failing)).text, /cannot be written: ENOSPC/);
});

test('a change is shown with its subject', async () => {
  const details = { secret_set: 'GITHUB_TOKEN', allow: ['files', 'client:ada'] };
  const { text } = await shown([
    {
      ...line,
      kind: 'change',
      principal: 'owner',
      action: 'config_reload',
      outcome: 'ok',
      details,
    },
  ]);
  assert.match(
    text,
    /config_reload <span class="note">secret_set: GITHUB_TOKEN; allow: files, client:ada</,
  );
});
