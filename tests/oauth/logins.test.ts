import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openScene } from './scene.ts';

const failed = { code: 'HUB_LOGIN_FAILED' };

describe('the redirect back', () => {
  test('finishes the login of its state parameter, with PKCE and the resource', async () => {
    await using scene = await openScene();
    const { url } = await scene.logins.begin('docs');
    const { searchParams } = new URL(url);
    assert.equal(searchParams.get('resource'), scene.server.url);
    assert.equal(
      searchParams.get('redirect_uri'),
      'http://127.0.0.1:9090/dashboard/oauth/callback',
    );
    assert.equal(Buffer.from(searchParams.get('state') ?? '', 'base64url').length, 32);
    await scene.logins.finish(scene.server.grant(url));
    const form = scene.server.of('/token')[0]?.form;
    assert.equal(form?.get('resource'), scene.server.url);
    assert.equal(form?.get('redirect_uri'), 'http://127.0.0.1:9090/dashboard/oauth/callback');
    assert.ok((form?.get('code_verifier') ?? '').length >= 43);
  });

  test.for(['', 'a'.repeat(43), 'undefined'])(
    'with the state "%s" does nothing, and the login can still be finished',
    async state => {
      await using scene = await openScene();
      const { url } = await scene.logins.begin('docs');
      const foreign = scene.server.grant(url, { state });
      await assert.rejects(scene.logins.finish(foreign), failed);
      const without = new URLSearchParams({ code: 'a', iss: scene.server.issuer });
      await assert.rejects(scene.logins.finish(without), failed);
      assert.equal(scene.server.of('/token').length, 0);
      await scene.logins.finish(scene.server.grant(url));
    },
  );

  test('is used once, even if it fails', async () => {
    await using scene = await openScene();
    const { url } = await scene.logins.begin('docs');
    const both = [scene.server.grant(url), scene.server.grant(url)];
    const ends = await Promise.allSettled(both.map(answer => scene.logins.finish(answer)));
    assert.deepEqual(ends.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected']);
    await assert.rejects(scene.logins.finish(scene.server.grant(url)), failed);
    const second = await scene.logins.begin('docs');
    const denied = scene.server.grant(second.url, { error: 'access_denied' });
    await assert.rejects(scene.logins.finish(denied), /access_denied/);
    await assert.rejects(scene.logins.finish(scene.server.grant(second.url)), /not known/);
    assert.equal(scene.server.of('/token').length, 1);
    // The tokens of the earlier login are unchanged.
    assert.equal(await scene.tokens.current(), 'access-2');
  });

  test.for(['https://mixed-up.example', ''])('of the issuer "%s" is refused', async iss => {
    await using scene = await openScene();
    const { url } = await scene.logins.begin('docs');
    await assert.rejects(scene.logins.finish(scene.server.grant(url, { iss })), failed);
    assert.equal(scene.server.of('/token').length, 0);
  });

  test('is refused after ten minutes, in another run of the hub, or after another login began', async () => {
    await using scene = await openScene();
    const first = await scene.logins.begin('docs');
    await assert.rejects(scene.open().finish(scene.server.grant(first.url)), /not known/);
    const waiting = scene.logins.done('docs', new AbortController().signal);
    waiting.catch(() => {});
    const second = await scene.logins.begin('docs');
    await assert.rejects(waiting, /another login was begun/);
    await assert.rejects(scene.logins.finish(scene.server.grant(first.url)), /replaced/);
    scene.clock.advance(600_000);
    await assert.rejects(scene.logins.finish(scene.server.grant(second.url)), /ten minutes/);
    assert.equal(scene.server.of('/token').length, 0);
  });
});

test('of ten concurrent logins to a server, one can be finished', async () => {
  await using scene = await openScene();
  const begun = await Promise.all(Array.from({ length: 10 }, () => scene.logins.begin('docs')));
  const ends = await Promise.allSettled(
    begun.map(({ url }) => scene.logins.finish(scene.server.grant(url))),
  );
  // The double checks PKCE for the last URL only, so at most one login can succeed.
  assert.ok(ends.filter(({ status }) => status === 'fulfilled').length <= 1);
  await scene.logIn();
  assert.match((await scene.tokens.current()) ?? '', /^access-/);
});

test('a registration that the token endpoint refuses is not reused', async () => {
  await using scene = await openScene();
  await scene.logIn();
  const { url } = await scene.logins.begin('docs');
  assert.equal(scene.server.of('/register').length, 1);
  scene.server.answer('/token', () => ({ status: 401, body: { error: 'invalid_client' } }));
  await assert.rejects(scene.logins.finish(scene.server.grant(url)), /invalid_client|login/);
  await scene.logins.begin('docs');
  assert.equal(scene.server.of('/register').length, 2);
});

test('a login whose registration is refused ends, also if that registration cannot be removed', async () => {
  await using scene = await openScene();
  const { url } = await scene.logins.begin('docs');
  const done = scene.logins.done('docs', AbortSignal.timeout(2_000));
  done.catch(() => {});
  scene.server.answer('/token', () => ({ status: 401, body: { error: 'invalid_client' } }));
  scene.place.isWritable = false;
  const failed = { code: 'HUB_LOGIN_FAILED' };
  await assert.rejects(scene.logins.finish(scene.server.grant(url)), failed);
  assert.equal((await scene.logins.status('docs')).isPending, false);
  await assert.rejects(done, failed);
});

test('a login that cannot be stored fails, and the earlier one stays', async () => {
  await using scene = await openScene();
  await scene.logIn();
  const { url } = await scene.logins.begin('docs');
  scene.place.isWritable = false;
  await assert.rejects(scene.logins.finish(scene.server.grant(url)), /disk is full/);
  assert.equal(await scene.tokens.current(), 'access-2');
});

test('waiting callers are notified of the end of a login, even while its code is being exchanged', async () => {
  await using scene = await openScene();
  const { signal } = new AbortController();
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  scene.server.answer('/token', async () => {
    asked.resolve();
    await release.promise;
    return { body: scene.server.tokens() };
  });
  const { url } = await scene.logins.begin('docs');
  // The browser returns just before the login expires.
  scene.clock.advance(599_999);
  const finished = scene.logins.finish(scene.server.grant(url));
  await asked.promise;
  assert.equal((await scene.logins.status('docs')).isPending, true);
  const done = scene.logins.done('docs', signal);
  scene.clock.advance(1);
  release.resolve();
  await Promise.all([finished, done]);
  assert.equal((await scene.logins.status('docs')).isPending, false);
});

test('a login that is finished while another one is being revoked stays', async () => {
  await using scene = await openScene();
  await scene.logIn();
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  scene.server.answer('/revoke', async () => {
    asked.resolve();
    await release.promise;
    return {};
  });
  const ended = scene.logins.logout('docs');
  await asked.promise;
  await scene.logIn();
  release.resolve();
  assert.deepEqual(await ended, { wasLoggedIn: true, isRevoked: true });
  assert.equal((await scene.logins.status('docs')).state, 'logged_in');
  assert.equal(scene.stored.size, 1);
});

test('a logout ends a login whose code is being exchanged, and its tokens are revoked', async () => {
  await using scene = await openScene();
  const asked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  scene.server.answer('/token', async () => {
    asked.resolve();
    await release.promise;
    return { body: scene.server.tokens() };
  });
  const loggedIn: string[] = [];
  scene.logins.loggedIn(name => void loggedIn.push(name));
  const { url } = await scene.logins.begin('docs');
  const finished = scene.logins.finish(scene.server.grant(url));
  await asked.promise;
  const done = scene.logins.done('docs', new AbortController().signal);
  done.catch(() => {});
  await scene.logins.logout('docs');
  await assert.rejects(done, /it was logged out/);
  release.resolve();
  await assert.rejects(finished, /it was logged out/);
  assert.deepEqual(await scene.logins.status('docs'), { state: 'none', isPending: false });
  assert.deepEqual([scene.stored.size, loggedIn], [0, []]);
  assert.deepEqual(scene.audited, ['oauth_login HUB_LOGIN_FAILED']);
  assert.equal(scene.server.of('/revoke').length, 2);
});

describe('the removal of a server', () => {
  test('deletes and revokes its tokens, also those for another url, and ends its logins', async () => {
    await using scene = await openScene();
    await scene.logIn();
    await scene.logins.begin('docs');
    const done = scene.logins.done('docs', new AbortController().signal);
    done.catch(() => {});
    scene.place.url = undefined;
    assert.deepEqual(await scene.logins.remove('docs'), { isRevoked: true });
    await assert.rejects(done, /the server was removed/);
    assert.deepEqual([scene.stored.size, scene.server.of('/revoke').length], [0, 2]);
    assert.equal(scene.audited.at(-1), 'oauth_logout ok');
    assert.equal(await scene.logins.remove('docs'), undefined);
  });

  test('deletes the tokens also if they cannot be revoked, and keeps those that cannot be deleted', async () => {
    await using scene = await openScene();
    await scene.logIn();
    scene.server.answer('/revoke', () => ({ status: 503, body: {} }));
    scene.place.isWritable = false;
    await assert.rejects(scene.logins.remove('docs'), /disk is full/);
    assert.equal(await scene.tokens.current(), 'access-2');
    scene.place.isWritable = true;
    assert.deepEqual(await scene.logins.remove('docs'), { isRevoked: false });
    assert.equal(scene.stored.size, 0);
  });

  test('ends a login whose code is being exchanged, and its tokens are revoked', async () => {
    await using scene = await openScene();
    const asked = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    scene.server.answer('/token', async () => {
      asked.resolve();
      await release.promise;
      return { body: scene.server.tokens() };
    });
    const { url } = await scene.logins.begin('docs');
    const finished = scene.logins.finish(scene.server.grant(url));
    finished.catch(() => {});
    await asked.promise;
    scene.place.url = undefined;
    assert.equal(await scene.logins.remove('docs'), undefined);
    release.resolve();
    await assert.rejects(finished, failed);
    assert.deepEqual([scene.stored.size, scene.server.of('/revoke').length], [0, 2]);
  });

  test('while a login begins leaves no login that waits', async () => {
    await using scene = await openScene();
    const { metadata, metadataPath } = scene.server;
    scene.server.answer(metadataPath, async () => {
      scene.place.url = undefined;
      await scene.logins.remove('docs');
      return { body: metadata() };
    });
    await assert.rejects(scene.logins.begin('docs'), { code: 'HUB_REQUEST_INVALID' });
    assert.equal((await scene.logins.status('docs')).isPending, false);
  });
});

describe('a malicious server', () => {
  test.for([
    'http://login.example.com/authorize',
    'https://169.254.169.254/authorize',
    'https://10.0.0.1:1/authorize?a=https://login.example.com',
    'javascript:alert(1)',
    'data:text/html,hello',
    'https://somebody:word@127.0.0.1/authorize',
  ])('cannot send the browser to %s', async authorization_endpoint => {
    await using scene = await openScene();
    const { metadata, metadataPath } = scene.server;
    scene.server.answer(metadataPath, () => ({ body: { ...metadata(), authorization_endpoint } }));
    // The server of this test is on loopback, and such a server may name private addresses.
    if (authorization_endpoint.includes('10.0.0.1')) await scene.logins.begin('docs');
    else await assert.rejects(scene.logins.begin('docs'), failed);
  });

  test.for(['token_endpoint', 'registration_endpoint'])(
    'cannot give link-local or plain addresses as its %s',
    async member => {
      for (const address of ['https://169.254.169.254/x', 'http://login.example.com/x']) {
        await using scene = await openScene();
        const { metadata, metadataPath } = scene.server;
        scene.server.answer(metadataPath, () => ({ body: { ...metadata(), [member]: address } }));
        const login = async () => {
          const { url } = await scene.logins.begin('docs');
          await scene.logins.finish(scene.server.grant(url));
        };
        await assert.rejects(login(), failed);
        assert.equal((await scene.logins.status('docs')).state, 'none');
      }
    },
  );

  test('cannot give a link-local address for its metadata in a challenge: the default one is used', async () => {
    await using scene = await openScene();
    const resourceMetadataUrl = 'https://169.254.169.254/latest/meta-data';
    const refused = scene.tokens.renew(undefined, { resourceMetadataUrl });
    await assert.rejects(refused, { code: 'HUB_LOGIN_REQUIRED' });
    const { url } = await scene.logins.begin('docs');
    assert.equal(new URL(url).origin, scene.server.issuer);
  });

  test.for([
    ['another issuer', { issuer: 'https://elsewhere.example' }],
    ['no PKCE', { code_challenge_methods_supported: ['plain'] }],
  ] as const)('cannot use an authorization server with %s', async ([, changes]) => {
    await using scene = await openScene();
    const { metadata, metadataPath } = scene.server;
    scene.server.answer(metadataPath, () => ({ body: { ...metadata(), ...changes } }));
    await assert.rejects(scene.logins.begin('docs'), failed);
  });

  test.for([
    ['for another resource', { resource: 'https://elsewhere.example/mcp' }],
    ['of 300 kB', { more: 'x'.repeat(300_000) }],
    ['without sense', { resource: 7 }],
  ] as const)('cannot redirect a login by metadata %s', async ([, changes]) => {
    await using scene = await openScene();
    await using other = await openScene();
    const { url: resource, resourcePath } = scene.server;
    const authorization_servers = [other.server.issuer];
    const body = { resource, authorization_servers, ...changes };
    scene.server.answer(resourcePath, () => ({ body }));
    const begun = await scene.logins.begin('docs').catch(() => undefined); // Rejects, or uses the server's own endpoints (MCP 2025-03-26).
    assert.equal(begun && new URL(begun.url).origin, begun && scene.server.issuer);
    assert.deepEqual(other.server.of('/register'), []);
  });

  test('does not get a configured secret by giving another authorization server', async () => {
    await using scene = await openScene({ clientId: 'agenthub', clientSecret: 'kept' });
    await using other = await openScene();
    await scene.logIn();
    const sent = scene.server.of('/token')[0];
    assert.match(
      JSON.stringify([sent?.headers, [...(sent?.form ?? [])]]),
      /kept|YWdlbnRodWI6a2VwdA/,
    );
    scene.server.answer(scene.server.resourcePath, () => ({
      body: { resource: scene.server.url, authorization_servers: [other.server.issuer] },
    }));
    await assert.rejects(scene.logins.begin('docs'), /authorization server changed/);
    assert.equal(other.server.of('/token').length, 0);
    // After a logout, the owner accepts the other authorization server with a new login.
    await scene.logins.logout('docs');
    await scene.logins.begin('docs');
  });
});

test('tokens are not sent to a server without https, so it cannot have a login', async () => {
  await using scene = await openScene();
  scene.place.url = 'http://mcp.example.com/mcp';
  await assert.rejects(
    scene.logins.begin('docs'),
    /leads to http:\/\/mcp\.example\.com\/mcp, and a login needs https/,
  );
});

test('a login to a server without an address is refused', async () => {
  await using scene = await openScene();
  const refusal = {
    code: 'HUB_REQUEST_INVALID',
    message:
      'files has no "url" in the config, and only servers with one have logins. Write keys of other servers into "env", as ${secret:NAME}',
    data: { server: 'files' },
  };
  await assert.rejects(scene.logins.begin('files'), refusal);
  await assert.rejects(scene.logins.logout('files'), refusal);
});
