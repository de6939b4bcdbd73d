import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';
import { run } from '../run.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub([]);
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const link = /^http:\/\/127\.0\.0\.1:\d+\/dashboard\/login\?code=[\w-]{43}$/;

describe('open', () => {
  test('opens the dashboard in the browser, logged in, and does not print the link', async () => {
    const opened: string[] = [];
    const findHub = async () => hub.place;
    const browser = async (url: string) => opened.push(url) > 0;
    const { code, out } = await run(['open'], { findHub, openBrowser: browser });
    assert.equal(code, 0);
    assert.match(out, /^The dashboard opens in your browser\./);
    assert.doesNotMatch(out, /code=/);
    assert.match(opened[0] ?? '', link);
    const answer = await fetch(opened[0] ?? '');
    assert.match(answer.headers.get('set-cookie') ?? '', /=administer\./);
  });

  test('prints the link where there is no browser, and with --print and --json', async () => {
    const findHub = async () => hub.place;
    const none = await run(['open'], { findHub, openBrowser: async () => false });
    assert.match(none.out, link);
    assert.match((await run(['open', '--print'], { findHub })).out, link);
    const { url, expires_in_seconds: seconds } = JSON.parse(
      (await run(['open', '--json'], { findHub })).out,
    );
    assert.match(url, link);
    assert.equal(seconds, 600);
  });

  test('without the key gets no link', async () => {
    const findHub = async () => ({ url: hub.url, token: undefined });
    const { code, err } = await run(['open', '--print'], { findHub });
    assert.notEqual(code, 0);
    assert.doesNotMatch(err, /code=/);
  });
});

describe('key', () => {
  test('prints the key, for scripts', async () => {
    const findOwnerKey = async () => 'the-key';
    assert.deepEqual(await run(['key'], { findOwnerKey }), { code: 0, out: 'the-key', err: '' });
  });

  test('prints what to do if there is no key', async () => {
    const { code, err } = await run(['key'], { findOwnerKey: async () => undefined });
    assert.equal(code, 2);
    assert.match(err, /^no hub has created its key here\. Run this in the folder/);
  });
});
