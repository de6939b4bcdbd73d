import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { textOf } from '#dashboard';
import type { LoginStatus } from '#oauth';
import { type ShownRule, accessPages } from '../../hub/dashboard/access.ts';
import type { DashboardAccess } from '../../hub/dashboard/dashboard-types.ts';
import { requestOf } from './request.ts';

const nothing: DashboardAccess = {
  needsToken: () => false,
  clients: () => [],
  secrets: async () => [],
  revoke: async () => {},
};

/** Returns the updated part of the page, 90 s after the epoch. */
async function shown(
  control: Partial<DashboardAccess>,
  rules: readonly ShownRule[] = [],
  logins: Readonly<Record<string, LoginStatus>> = {},
): Promise<string> {
  const { accessPartial } = accessPages({
    servers: { all: Object.keys(logins).map(remoteServer) },
    hub: {
      access: { ...nothing, ...control },
      logins: { status: async name => logins[name] ?? assert.fail(name) },
    },
    router: { policy: { rules: () => rules } },
    system: { clock: { now: () => 90_000 } },
  });
  const answer = await accessPartial(requestOf());
  return 'part' in answer ? textOf(answer.part) : assert.fail('no part');
}

const remoteServer = (name: string) => ({
  config: { name, launch: { kind: 'remote' } },
  status: { state: name.startsWith('wanting') ? 'needs_login' : 'running' },
});

/** Returns the texts of the cells in a column, without markup. */
const column = (text: string, title: string) =>
  Array.from(text.matchAll(new RegExp(`data-title="${title}"[^>]*>(.*?)</td>`, 'g')), ([, cell]) =>
    cell?.replaceAll(/<[^>]+>/g, ''),
  );

describe('clients by name', () => {
  const cursor = {
    name: 'cursor',
    administer: false,
    source: 'made' as const,
    createdAt: 30_000,
    seenAt: 60_000,
    calls: 1_234,
    refused: 2,
  };

  test('are shown with their use and the age of their token', async () => {
    const text = await shown({ clients: () => [cursor] });
    assert.deepEqual(column(text, 'Last seen'), ['30 s ago']);
    assert.deepEqual(column(text, 'Calls'), ['1,234']);
    assert.deepEqual(column(text, 'Refused'), ['2']);
    assert.deepEqual(column(text, 'Token'), ['made']);
    assert.deepEqual(column(text, 'Made'), ['1 min ago']);
  });

  test('that logged in are shown with the end of their token', async () => {
    const text = await shown({
      clients: () => [{ ...cursor, expiresAt: 90_000 + 3 * 86_400_000 }],
    });
    assert.deepEqual(column(text, 'Token'), ['by login ends in 3 d']);
  });

  test('that administer the hub are marked', async () => {
    const admin = { ...cursor, administer: true };
    assert.match(await shown({ clients: () => [admin] }), /cursor <span[^>]*>administers</);
  });

  test('that never called, or have no token, are shown as such', async () => {
    const idle = { ...cursor, source: undefined, createdAt: undefined, seenAt: undefined };
    const text = await shown({ clients: () => [idle] });
    assert.deepEqual(column(text, 'Last seen'), ['not since the start']);
    assert.deepEqual(column(text, 'Token'), ['none']);
  });

  test('offer to revoke a token that the hub made, but none of the config', async () => {
    const ci = { ...cursor, name: 'ci', source: 'config' as const };
    const text = await shown({ clients: () => [cursor, ci] });
    assert.deepEqual(column(text, 'Change'), ['Revoke…', '']);
    assert.match(text, /href="\/dashboard\/access\/cursor\/revoke"/);
  });

  test('are explained if there are none', async () => {
    assert.match(await shown({}), /agenthub token create NAME/);
    assert.match(await shown({}), /may call without a token/);
    assert.match(await shown({ needsToken: () => true }), /Calls need a token/);
  });
});

describe('policy rules', () => {
  test('are shown in order, with the calls that they decided', async () => {
    const deny = { tools: ['<b>*'], action: 'deny' as const };
    const allow = { clients: ['cursor'], action: 'allow' as const };
    const text = await shown({}, [
      { path: 'policy[0]', rule: deny, calls: 7, unknownTools: ['gone'] },
      { path: 'policy[1]', rule: allow, calls: 0, unknownTools: [] },
    ]);
    assert.match(text, /no such tool<\/span> <span class="note">gone</);
    assert.deepEqual(column(text, 'Action'), ['deny', 'allow']);
    assert.deepEqual(column(text, 'Calls decided'), ['7', '0']);
    assert.match(text, /&lt;b&gt;\*/);
    assert.doesNotMatch(text, /<b>\*/);
  });

  test('are explained if there are none', async () => {
    assert.match(await shown({}), /Everything is allowed/);
  });
});

describe('secrets', () => {
  const token = {
    name: 'GITHUB_TOKEN',
    state: 'readable',
    source: 'keychain',
    used_by: [{ server: 'github', path: 'env.GITHUB_TOKEN' }],
  } as const;

  test('are shown with their source and the servers that use them', async () => {
    const text = await shown({
      secrets: async () => [token, { ...token, name: 'OLD', used_by: [] }],
    });
    assert.deepEqual(column(text, 'From'), ['keychain', 'keychain']);
    assert.deepEqual(column(text, 'Used by'), ['github env.GITHUB_TOKEN', 'nothing']);
    assert.match(text, /href="\/dashboard\/servers\/github"/);
  });

  test('that are missing or unreadable are shown as such', async () => {
    const missing = {
      name: 'A',
      state: 'missing',
      reason: 'secret A is not set',
      used_by: [{ path: 'token' }],
    } as const;
    const locked = { ...token, state: 'unreadable', reason: 'the keychain is locked' } as const;
    const text = await shown({ secrets: async () => [missing, locked] });
    assert.deepEqual(column(text, 'From'), [
      'missing secret A is not set',
      'unreadable the keychain is locked',
    ]);
    assert.equal(column(text, 'Used by')[0], 'the hub token');
  });
});

describe('logins to servers', () => {
  const login = { state: 'logged_in', isPending: false, issuer: 'https://login.example' } as const;

  test('are shown with their expiry, and what renews it', async () => {
    const text = await shown({}, [], {
      renewed: { ...login, expiresAt: 150_000, isRefreshable: true, scope: 'read <b>' },
      expired: { ...login, expiresAt: 80_000, isRefreshable: false },
      endless: login,
      wanting: { state: 'none', isPending: false },
      open: { state: 'none', isPending: false },
    });
    assert.deepEqual(column(text, 'Expiry'), [
      'valid for 1 min, then renewed',
      'expired',
      'no expiry',
      '',
    ]);
    assert.deepEqual(column(text, 'Login'), ['logged in', 'logged in', 'logged in', 'needs login']);
    assert.match(text, /read &lt;b&gt;/);
    assert.doesNotMatch(text, /login-of-open/);
  });

  test('have buttons to log in and to log out', async () => {
    const text = await shown({}, [], {
      docs: { ...login, missingScope: 'more' },
      wanting: { state: 'none', isPending: false },
    });
    assert.deepEqual(column(text, 'Action'), ['Log in with more accessLog out', 'Log in']);
    for (const path of ['oauth-login/docs', 'oauth-logout/docs', 'oauth-login/wanting'])
      assert.match(text, new RegExp(`action="/dashboard/actions/${path}"`));
    assert.doesNotMatch(text, /oauth-logout\/wanting/);
  });

  test('are explained if there are none', async () => {
    assert.match(await shown({}), /No remote server needs a login/);
  });
});
