import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openScene } from './scene.ts';

const minute = 60_000;

describe('an access token that is about to expire', () => {
  test('is refreshed before the call, once for 50 callers', async () => {
    await using scene = await openScene();
    await scene.logIn();
    // The token lives for 1,000 s, and is refreshed in its last minute.
    scene.clock.advance(1_000_000 - minute - 1);
    assert.equal(await scene.tokens.current(), 'access-2');
    scene.clock.advance(1);
    const all = await Promise.all(Array.from({ length: 50 }, () => scene.tokens.current()));
    assert.deepEqual([...new Set(all)], ['access-3']);
    assert.equal(scene.refreshes().length, 1);
    const [refresh] = scene.refreshes();
    assert.equal(refresh?.form.get('refresh_token'), 'refresh-2');
    assert.equal(refresh?.form.get('resource'), scene.server.url);
  });

  test('with a short life is refreshed in its last tenth', async () => {
    await using scene = await openScene();
    scene.server.answer('/token', () => ({ body: scene.server.tokens({ expires_in: 10 }) }));
    await scene.logIn();
    scene.clock.advance(8_999);
    await scene.tokens.current();
    assert.equal(scene.refreshes().length, 0);
    scene.clock.advance(1);
    await scene.tokens.current();
    assert.equal(scene.refreshes().length, 1);
  });

  test('is sent while the authorization server is down, and the refresh is retried after a while', async () => {
    await using scene = await openScene();
    await scene.logIn();
    scene.server.answer('/token', () => ({ status: 503, body: 'away' }));
    scene.clock.advance(1_000_000 - minute);
    for (let call = 0; call < 3; call++) assert.equal(await scene.tokens.current(), 'access-2');
    assert.equal(scene.refreshes().length, 1);
    scene.clock.advance(5_000);
    await scene.tokens.current();
    assert.equal(scene.refreshes().length, 2);
    // Once the token has expired, calls fail, but the login remains.
    scene.clock.advance(minute);
    await assert.rejects(scene.tokens.current(), { code: 'HUB_REMOTE_UNREACHABLE' });
    assert.equal((await scene.logins.status('docs')).state, 'logged_in');
  });

  test('may have an expiry beyond the range of dates', async () => {
    await using scene = await openScene();
    scene.server.answer('/token', () => ({ body: scene.server.tokens({ expires_in: 1e300 }) }));
    await scene.logIn();
    const { expiresAt = 0 } = await scene.logins.status('docs');
    assert.match(new Date(expiresAt).toISOString(), /^20/);
    assert.equal(await scene.open().tokensOf('docs').current(), 'access-2');
  });
});

describe('the token endpoint', () => {
  test.for([
    [500, { error: 'invalid_grant' }],
    [503, '<html>down</html>'],
    [429, { error: 'invalid_grant' }],
    [429, { error: 'rate_limited' }],
    [403, '<html>blocked</html>'],
    [400, { error: 'slow_down' }],
    [400, { error: 'server_error' }],
    [400, { error: 'invalid_request' }],
    [200, '<html>sign in</html>'],
    [200, { token_type: 'Bearer' }],
    [302, ''],
  ] as const)('that answers %s %o does not end the login', async ([status, body]) => {
    await using scene = await openScene();
    await scene.logIn();
    scene.server.answer('/token', () => ({ status, body }));
    await assert.rejects(scene.tokens.renew('access-2', {}), { code: 'HUB_REMOTE_UNREACHABLE' });
    assert.equal((await scene.logins.status('docs')).state, 'logged_in');
    scene.server.answer('/token', () => ({ body: scene.server.tokens() }));
    scene.clock.advance(5_000);
    assert.match(await scene.tokens.renew('access-2', {}), /^access-/);
  });

  test('that refuses the refresh token ends the login, and the registration is reused', async () => {
    await using scene = await openScene();
    await scene.logIn();
    scene.server.answer('/token', () => ({ status: 400, body: { error: 'invalid_grant' } }));
    await assert.rejects(scene.tokens.renew('access-2', {}), { code: 'HUB_LOGIN_REQUIRED' });
    assert.equal((await scene.logins.status('docs')).state, 'none');
    await scene.logins.begin('docs');
    assert.equal(scene.server.of('/register').length, 1);
  });

  test.for(['invalid_client', 'unauthorized_client'])(
    'that answers %s makes the next login register again',
    async error => {
      await using scene = await openScene();
      await scene.logIn();
      scene.server.answer('/token', () => ({ status: 401, body: { error } }));
      await assert.rejects(scene.tokens.renew('access-2', {}), { code: 'HUB_LOGIN_REQUIRED' });
      await scene.logins.begin('docs');
      assert.equal(scene.server.of('/register').length, 2);
    },
  );
});

describe('a refresh token that is replaced', () => {
  test('is stored before the new access token is used', async () => {
    await using scene = await openScene();
    await scene.logIn();
    await scene.tokens.renew('access-2', {});
    const again = scene.open().tokensOf('docs');
    assert.equal(await again.current(), 'access-3');
    await again.renew('access-3', {});
    assert.equal(scene.refreshes()[1]?.form.get('refresh_token'), 'refresh-3');
    assert.ok(scene.redacted.has('refresh-3'));
  });

  test('is used from memory if it cannot be stored', async () => {
    await using scene = await openScene();
    await scene.logIn();
    scene.place.isWritable = false;
    assert.equal(await scene.tokens.renew('access-2', {}), 'access-3');
    assert.ok(scene.logged.some(({ level }) => level === 'error'));
    scene.place.isWritable = true;
    await scene.tokens.renew('access-3', {});
    assert.equal(scene.refreshes()[1]?.form.get('refresh_token'), 'refresh-3');
  });

  test('is still used from memory after a new login could not be stored either', async () => {
    await using scene = await openScene();
    await scene.logIn();
    const { url } = await scene.logins.begin('docs');
    scene.place.isWritable = false;
    await scene.tokens.renew('access-2', {});
    await assert.rejects(scene.logins.finish(scene.server.grant(url)), /disk is full/);
    assert.equal(await scene.tokens.current(), 'access-3');
  });

  test('stays the same if the authorization server sends no new one', async () => {
    await using scene = await openScene();
    await scene.logIn();
    scene.server.answer('/token', () => ({
      body: scene.server.tokens({ refresh_token: undefined }),
    }));
    await scene.tokens.renew('access-2', {});
    scene.server.answer('/token', () => ({ body: scene.server.tokens() }));
    await scene.tokens.renew('access-3', {});
    assert.equal(scene.refreshes()[1]?.form.get('refresh_token'), 'refresh-2');
  });
});

describe('while a refresh is under way', () => {
  /** Begins a refresh that waits at the token endpoint until it is released. */
  async function held(scene: Awaited<ReturnType<typeof openScene>>) {
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const replies = scene.server.tokens();
    scene.server.answer('/token', async ({ form }) => {
      if (form.get('grant_type') !== 'refresh_token') return { body: scene.server.tokens() };
      asked.resolve();
      await release.promise;
      return { body: replies };
    });
    const renewed = scene.tokens.renew('access-2', {});
    renewed.catch(() => {});
    await asked.promise;
    return { renewed, release };
  }

  test('a logout takes effect, and the new tokens are revoked', async () => {
    await using scene = await openScene();
    await scene.logIn();
    const { renewed, release } = await held(scene);
    await scene.logins.logout('docs');
    release.resolve();
    await assert.rejects(renewed, { code: 'HUB_LOGIN_REQUIRED' });
    assert.equal((await scene.logins.status('docs')).state, 'none');
    assert.equal(scene.stored.size, 0);
    const revoked = scene.server.of('/revoke').map(({ form }) => form.get('token'));
    assert.deepEqual(revoked, ['refresh-2', 'access-2', 'refresh-3', 'access-3']);
  });

  test('an entry that is removed from the config keeps the new tokens', async () => {
    await using scene = await openScene();
    await scene.logIn();
    const { renewed, release } = await held(scene);
    scene.place.url = undefined;
    release.resolve();
    assert.equal(await renewed, 'access-3');
    scene.place.url = scene.server.url;
    assert.equal(await scene.tokens.current(), 'access-3');
    assert.deepEqual(scene.server.of('/revoke'), []);
  });

  test.for(['while', 'after'])(
    'a new login that cannot be stored changes nothing, if the refresh ends %s it is written',
    async order => {
      await using scene = await openScene();
      await scene.logIn();
      const { renewed, release } = await held(scene);
      const { url } = await scene.logins.begin('docs');
      const writing = Promise.withResolvers<void>();
      const full = Promise.withResolvers<void>();
      scene.disk.write = async () => {
        writing.resolve();
        await full.promise;
      };
      const finished = assert.rejects(scene.logins.finish(scene.server.grant(url)), /full/);
      await writing.promise;
      if (order === 'while') {
        release.resolve();
        // Other requests to the same server, after which the answer to the refresh has arrived.
        await scene.logins.begin('docs');
      }
      full.reject(new Error('full'));
      await finished;
      scene.disk.write = async () => {};
      release.resolve();
      assert.equal(await renewed, 'access-3');
      assert.equal(await scene.open().tokensOf('docs').current(), 'access-3');
    },
  );

  test('a new login is kept', async () => {
    await using scene = await openScene();
    await scene.logIn();
    const { renewed, release } = await held(scene);
    await scene.logIn();
    release.resolve();
    assert.equal(await renewed, 'access-4');
    assert.equal(await scene.tokens.current(), 'access-4');
    assert.equal(await scene.open().tokensOf('docs').current(), 'access-4');
  });
});

test('tokens belong to one address: another url of the entry has none', async () => {
  await using scene = await openScene();
  await scene.logIn();
  scene.place.url = `${scene.server.url}/other`;
  assert.equal(await scene.tokens.current(), undefined);
  await assert.rejects(scene.tokens.renew(undefined, {}), { code: 'HUB_LOGIN_REQUIRED' });
  assert.equal(scene.refreshes().length, 0);
});
