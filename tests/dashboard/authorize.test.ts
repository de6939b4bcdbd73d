import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createAuthorization } from '#access';
import { type DashboardAnswer, textOf } from '#dashboard';
import { systemClock } from '#core';
import { createRecordingLog } from '#helpers/recording-log';
import { authorizePages } from '../../hub/dashboard/authorize.ts';
import { requestOf } from './request.ts';

type Scene = {
  readonly isOffered?: boolean;
  readonly taken?: readonly string[];
  readonly rules?: number;
};

function open({ isOffered = true, taken = [], rules = 2 }: Scene = {}) {
  const authorization = createAuthorization(
    { secret: Buffer.alloc(32, 1) },
    {
      clients: {
        create: async () => assert.fail('nothing is exchanged'),
        revoke: async () => {},
        whyNotByLogin: name => (taken.includes(name) ? `${name} has a token already` : undefined),
      },
      clock: systemClock,
      log: createRecordingLog().log,
      audit() {},
    },
  );
  const pages = authorizePages({
    hub: { authorization: { ...authorization, isOffered: () => isOffered } },
    router: { policy: { rules: () => Array.from({ length: rules }) } },
  });
  const urlOf = (name: string, more = {}) => {
    const redirect = 'http://127.0.0.1:4000/callback';
    const registered = authorization.register(
      { client_name: name, redirect_uris: [redirect] },
      'http://localhost:9090',
    );
    const query = new URLSearchParams({
      client_id: 'client_id' in registered ? registered.client_id : '',
      redirect_uri: redirect,
      response_type: 'code',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      state: `"><script>alert(1)</script>`,
      ...more,
    });
    return `/dashboard/authorize?${query.toString()}`;
  };
  return { pages, urlOf };
}

const mainOf = (answer: DashboardAnswer) =>
  'page' in answer ? textOf(answer.page.main) : assert.fail('no page');
const idIn = (text: string) => /name="id" value="([\w-]+)"/.exec(text)?.[1] ?? '';

describe('the page on which a program asks for a login', () => {
  test('shows what the program claims, where its answer goes and what it may do', async () => {
    const { pages, urlOf } = open();
    const text = mainOf(await pages.askForProgram(requestOf({ url: urlOf('Claude Code (hub)') })));
    assert.match(text, /Allow Claude Code \(hub\)\?/);
    assert.match(text, /its own claim/);
    assert.match(text, /<code>http:\/\/127\.0\.0\.1:4000\/callback<\/code>/);
    assert.match(text, /\(2 rules\)/);
    assert.match(text, /administer the hub/);
    assert.match(text, /name="name" value="claude-code"/);
  });

  test('says that the program may use everything if there is no policy', async () => {
    const { pages, urlOf } = open({ rules: 0 });
    const text = mainOf(await pages.askForProgram(requestOf({ url: urlOf('Any') })));
    assert.match(text, /everything that this hub offers/);
  });

  test.each(['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', 'javascript:alert(1)'])(
    'shows a name as text: %s',
    async name => {
      const { pages, urlOf } = open();
      const answer = await pages.askForProgram(requestOf({ url: urlOf(name) }));
      assert.doesNotMatch(mainOf(answer), /<script|<img|href="javascript/);
    },
  );

  test.each(['cross-site', 'same-site'])(
    'has no form at first for a browser that came from another page: %s',
    async site => {
      const { pages, urlOf } = open();
      const headers = { 'sec-fetch-site': site };
      const text = mainOf(await pages.askForProgram(requestOf({ url: urlOf('Any'), headers })));
      assert.match(text, /A page led you here/);
      assert.doesNotMatch(text, /<form/);
    },
  );

  test('redirects a wrong request with the error, or nowhere if its redirect URI is wrong', async () => {
    const { pages, urlOf } = open();
    const wrong = await pages.askForProgram(
      requestOf({ url: urlOf('Any', { code_challenge_method: 'plain' }) }),
    );
    assert.ok('page' in wrong);
    assert.match(wrong.page.leadsTo ?? '', /^http:\/\/127\.0\.0\.1:4000.*error=invalid_request/);
    const evil = await pages.askForProgram(
      requestOf({ url: urlOf('Any', { redirect_uri: 'http://evil.example/' }) }),
    );
    assert.equal(evil.status, 400);
    assert.ok('failure' in evil);
  });

  test('does not exist if programs cannot log in', async () => {
    const { pages, urlOf } = open({ isOffered: false });
    assert.equal((await pages.askForProgram(requestOf({ url: urlOf('Any') }))).status, 404);
    assert.equal((await pages.decideOnProgram(requestOf())).status, 404);
  });
});

describe('the answer of the owner', () => {
  test('redirects with a code, and works once', async () => {
    const { pages, urlOf } = open();
    const url = urlOf('Claude Code');
    const id = idIn(mainOf(await pages.askForProgram(requestOf({ url }))));
    const form = { id, name: ' claude-code ', decision: 'allow' };
    const answer = await pages.decideOnProgram(requestOf({ form }));
    assert.ok('page' in answer);
    const back = new URL(answer.page.leadsTo ?? '');
    assert.match(back.searchParams.get('code') ?? '', /^[\w-]{43}$/);
    assert.equal(back.searchParams.get('state'), '"><script>alert(1)</script>');
    await assert.rejects(pages.decideOnProgram(requestOf({ form })), /answered already/);
  });

  test.each(['allow', 'deny'])(
    'is remembered: %s, and then Back shows what to do',
    async decision => {
      const { pages, urlOf } = open();
      const url = urlOf('Claude Code');
      const id = idIn(mainOf(await pages.askForProgram(requestOf({ url }))));
      await pages.decideOnProgram(requestOf({ form: { id, name: 'claude-code', decision } }));
      const back = await pages.askForProgram(requestOf({ url }));
      assert.equal(back.status, 409);
      assert.match(mainOf(back), /answered this request already.*log in again in the program/);
      const next = urlOf('Claude Code', { state: 'another' });
      assert.equal((await pages.askForProgram(requestOf({ url: next }))).status, 200);
    },
  );

  test('with a name that is in use asks again, and offers another one first', async () => {
    const { pages, urlOf } = open({ taken: ['claude-code'] });
    const url = urlOf('Claude Code');
    const text = mainOf(await pages.askForProgram(requestOf({ url })));
    assert.match(text, /value="claude-code-2"/);
    const form = { id: idIn(text), name: 'claude-code', decision: 'allow' };
    const again = await pages.decideOnProgram(requestOf({ form }));
    assert.equal(again.status, 409);
    assert.match(mainOf(again), /Choose another name: claude-code has a token already/);
    const allowed = await pages.decideOnProgram(
      requestOf({ form: { ...form, name: 'claude-code-2' } }),
    );
    assert.ok('page' in allowed && allowed.page.leadsTo?.includes('code='));
  });

  test.each(['deny', '', 'Allow'])('that is not "allow" denies: %j', async decision => {
    const { pages, urlOf } = open();
    const id = idIn(mainOf(await pages.askForProgram(requestOf({ url: urlOf('Any') }))));
    const answer = await pages.decideOnProgram(requestOf({ form: { id, decision } }));
    assert.ok('page' in answer);
    assert.match(answer.page.leadsTo ?? '', /error=access_denied/);
  });
});
