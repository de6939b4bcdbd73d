import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'vitest';
import { createAuthorization, digestOf } from '#access';
import { HubError } from '#core';
import { createRecordingLog } from '#helpers/recording-log';
import { openScratchClients, plainClient } from '../scratch.ts';

const verifier = 'a-verifier-of-43-characters-or-more-as-rfc-7636-says';
const challenge = createHash('sha256').update(verifier).digest('base64url');
const redirect = 'http://127.0.0.1:4000/callback';
const issuer = 'http://localhost:9090';

async function open(config: Parameters<typeof openScratchClients>[0] = {}) {
  const scratch = await openScratchClients(config);
  const clients = await scratch.open();
  let at = 0;
  const lines: string[] = [];
  const authorization = createAuthorization(
    { secret: Buffer.alloc(32, 1) },
    {
      clients,
      clock: { ...scratch.clock, monotonic: () => at },
      log: createRecordingLog().log,
      audit: ({ action, principal = 'the program', target }) =>
        void lines.push(`${action} ${target} by ${principal}`),
    },
  );

  function register(name = 'Claude Code (agenthub)', redirects = [redirect]) {
    const answer = authorization.register({ client_name: name, redirect_uris: redirects }, issuer);
    assert.ok('client_id' in answer);
    return answer.client_id;
  }

  function ask(clientId: string) {
    const read = authorization.read(
      new URLSearchParams({
        client_id: clientId,
        redirect_uri: redirect,
        response_type: 'code',
        code_challenge: challenge,
        code_challenge_method: 'S256',
      }),
    );
    assert.ok(read.kind === 'asked');
    return { id: authorization.ask(read.request), request: read.request };
  }

  /** Allows a program under a name as the owner does. Returns the form with which the program exchanges its code. */
  function allow(clientId: string, name?: string) {
    const { id, request } = ask(clientId);
    const url = authorization.allow(id, name ?? authorization.suggestName(request), 'owner');
    return {
      grant_type: 'authorization_code',
      code: new URL(url).searchParams.get('code') ?? '',
      redirect_uri: redirect,
      client_id: clientId,
      code_verifier: verifier,
    };
  }

  const exchange = async (form: Readonly<Record<string, string>>) =>
    await authorization.exchange(new URLSearchParams(form));
  async function logIn(clientId: string, name?: string): Promise<string> {
    const answer = await exchange(allow(clientId, name));
    assert.ok('access_token' in answer, JSON.stringify(answer));
    return answer.access_token;
  }
  const nameOf = (token: string) => {
    const known = clients.find({ digest: digestOf(token) });
    return known?.principal ? known.name : 'nobody';
  };
  const pass = (ms: number) => void (at += ms);
  return {
    scratch,
    clients,
    authorization,
    lines,
    register,
    ask,
    allow,
    exchange,
    logIn,
    nameOf,
    pass,
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  };
}

describe('a login of a program', () => {
  test('makes it a client by the name that the owner chose, and only its digest is kept', async () => {
    await using scene = await open();
    const token = await scene.logIn(scene.register());
    assert.equal(scene.nameOf(token), 'claude-code');
    const text = await scene.scratch.text();
    assert.ok(!text.includes(token));
    assert.ok(text.includes(digestOf(token).toString('hex')));
    assert.deepEqual(scene.lines, [
      'client_login_allowed claude-code by owner',
      'token_created claude-code by the program',
    ]);
  });

  test('replaces the earlier token of the same program, while another program gets a name of its own', async () => {
    await using scene = await open();
    const id = scene.register();
    const first = await scene.logIn(id);
    const second = await scene.logIn(id);
    assert.deepEqual([scene.nameOf(first), scene.nameOf(second)], ['nobody', 'claude-code']);
    const other = await scene.logIn(scene.register(undefined, [redirect, 'http://localhost/']));
    assert.deepEqual([scene.nameOf(second), scene.nameOf(other)], ['claude-code', 'claude-code-2']);
  });

  test.each([
    ['of a token that a person made', 'made', /made has a token already/],
    ['of a token in the config', 'listed', /listed has a token already/],
    ['of a client that administers', 'boss', /a login must not grant that/],
    ['of one that may administer when allowed', 'held', /a login must not grant that/],
    ['of the hub itself', 'owner', /owner/],
    ['that is none', 'a b', /1 to 32/],
  ])('cannot have the name %s', async (_, name, why) => {
    await using scene = await open({
      clients: [
        plainClient('listed', { tokenDigest: 'a'.repeat(64) }),
        plainClient('boss', { administer: true }),
        plainClient('held', { heldBack: 'it waits' }),
      ],
    });
    await scene.clients.create('made');
    const { id, request } = scene.ask(scene.register());
    assert.match(scene.authorization.whyNot(request, name) ?? '', why);
    assert.throws(() => scene.authorization.allow(id, name, 'owner'), HubError);
    // The refused approval leaves the request pending.
    scene.authorization.allow(id, 'free', 'owner');
  });

  test('never administers, whatever the config says later', async () => {
    await using scene = await open();
    await scene.logIn(scene.register(), 'boss');
    scene.scratch.set({ clients: [plainClient('boss', { administer: true })] });
    await scene.clients.refresh();
    assert.equal(scene.clients.principalOf('boss')?.grants.administer, false);
  });

  test('ends after 90 days, and then also ends open connections and is unknown to later runs', async () => {
    await using scene = await open();
    const token = await scene.logIn(scene.register());
    scene.scratch.pass(90 * 86_400_000 - 1);
    assert.equal(scene.nameOf(token), 'claude-code');
    scene.scratch.pass(1);
    assert.equal(scene.nameOf(token), 'nobody');
    const ended: string[] = [];
    using _listening = scene.clients.ended(({ principal }) => void ended.push(principal.name));
    await scene.clients.refresh();
    assert.deepEqual(ended, ['claude-code']);
    const next = await scene.scratch.open();
    const known = next.find({ digest: digestOf(token) });
    assert.deepEqual([known?.name, known?.principal], ['claude-code', undefined]);
  });

  test('is answered once, and within ten minutes', async () => {
    await using scene = await open();
    const { id } = scene.ask(scene.register());
    const url = new URL(scene.authorization.deny(id, 'owner'));
    assert.equal(url.searchParams.get('error'), 'access_denied');
    assert.throws(() => scene.authorization.allow(id, 'claude-code', 'owner'), /answered already/);
    assert.throws(() => scene.authorization.pending(''), HubError);
    const late = scene.ask(scene.register());
    scene.pass(10 * 60_000);
    assert.throws(() => scene.authorization.allow(late.id, 'free', 'owner'), /ten minutes/);
    assert.deepEqual(scene.lines, ['client_login_denied claude-code by owner']);
  });

  test('requests are 20 at most: the oldest is dropped', async () => {
    await using scene = await open();
    const client = scene.register();
    const first = scene.ask(client);
    for (let count = 0; count < 20; count++) scene.ask(client);
    assert.throws(() => scene.authorization.pending(first.id), HubError);
  });
});

describe('the exchange of a code', () => {
  test.each([
    ['with another verifier', { code_verifier: 'x'.repeat(43) }, 'invalid_grant'],
    ['without a verifier', { code_verifier: '' }, 'invalid_grant'],
    ['for another redirect', { redirect_uri: 'http://127.0.0.1:4001/callback' }, 'invalid_grant'],
    ['for another server', { resource: 'http://other.example/mcp' }, 'invalid_target'],
    ['by a client that is none', { client_id: 'forged' }, 'invalid_client'],
    ['by another grant', { grant_type: 'refresh_token' }, 'unsupported_grant_type'],
    ['that is guessed', { code: 'x'.repeat(43) }, 'invalid_grant'],
  ])('%s is refused', async (_, changes, error) => {
    await using scene = await open();
    const answer = await scene.exchange({ ...scene.allow(scene.register()), ...changes });
    assert.ok('error' in answer);
    assert.equal(answer.error, error);
    assert.deepEqual(scene.clients.list(), []);
  });

  test('without a redirect_uri gives a token too, as OAuth 2.1 omits the parameter', async () => {
    await using scene = await open();
    const { redirect_uri: _, ...form } = scene.allow(scene.register());
    const answer = await scene.exchange(form);
    assert.ok('access_token' in answer, JSON.stringify(answer));
  });

  test('by another client is refused, and uses the code up', async () => {
    await using scene = await open();
    const form = scene.allow(scene.register());
    const thief = scene.register('Thief');
    const stolen = await scene.exchange({ ...form, client_id: thief });
    assert.ok('error' in stolen && /another client/.test(stolen.error_description));
    assert.ok('error' in (await scene.exchange(form)));
  });

  test('a second time is refused, and revokes the token, also at once', async () => {
    await using scene = await open();
    const form = scene.allow(scene.register());
    const [first, second] = await Promise.all([scene.exchange(form), scene.exchange(form)]);
    assert.ok('access_token' in first && 'error' in second);
    assert.equal(scene.nameOf(first.access_token), 'nobody');
  });

  test('a second time after a minute revokes nothing', async () => {
    await using scene = await open();
    const form = scene.allow(scene.register());
    const first = await scene.exchange(form);
    scene.pass(60_000);
    assert.ok('error' in (await scene.exchange(form)));
    assert.ok('access_token' in first && scene.nameOf(first.access_token) === 'claude-code');
  });

  test('after a minute is refused', async () => {
    await using scene = await open();
    const form = scene.allow(scene.register());
    scene.pass(60_000);
    const answer = await scene.exchange(form);
    assert.ok('error' in answer && /has expired/.test(answer.error_description));
  });

  test('with a parameter twice is refused', async () => {
    await using scene = await open();
    const form = new URLSearchParams(scene.allow(scene.register()));
    form.append('code', 'other');
    const answer = await scene.authorization.exchange(form);
    assert.ok('error' in answer && answer.error === 'invalid_request');
  });

  test('for a name that was taken meanwhile is refused', async () => {
    await using scene = await open();
    const form = scene.allow(scene.register());
    await scene.clients.create('claude-code');
    const answer = await scene.exchange(form);
    assert.ok('error' in answer && /has a token already/.test(answer.error_description));
  });

  test('leaves no file after a thousand registrations', async () => {
    await using scene = await open();
    for (let count = 0; count < 1_000; count++) scene.register(`Program ${count}`);
    assert.deepEqual(scene.clients.list(), []);
    assert.deepEqual(scene.lines, []);
  });
});
