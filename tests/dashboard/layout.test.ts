import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { html, textOf } from '#dashboard';
import { type Page, type Visitor, layout, loadAssets } from '../../hub/dashboard/layout.ts';

const assets = await loadAssets();

const shown = (page: Partial<Page> = {}, visitor: Partial<Visitor> = {}) =>
  textOf(
    layout(
      { title: 'Title', main: html`<p>main</p>`, ...page },
      { rights: 'owner', isLoggedIn: false, ...visitor },
      { version: '1.2.3', badges: { approvals: html`<b>7</b>` } },
      assets.urls,
    ),
  );

describe('the frame of a page', () => {
  test('has the number of waiting items beside its link', () => {
    assert.match(shown(), /href="\/dashboard\/approvals">Approvals<b>7<\/b><\/a>/);
  });

  test('marks the current page in the navigation', () => {
    const current = (text: string) =>
      Array.from(text.matchAll(/href="([^"]+)" aria-current="page"/g), ([, href]) => href);
    assert.deepEqual(current(shown({ at: 'jobs' })), ['/dashboard/jobs']);
    assert.deepEqual(current(shown()), []);
  });

  test.each<readonly [visitor: Visitor, hasLogin: boolean, hasLogout: boolean]>([
    [{ rights: 'owner', isLoggedIn: true }, false, true],
    [{ rights: 'owner', isLoggedIn: false }, false, false],
    [{ rights: 'viewer', isLoggedIn: false }, true, false],
    [{ rights: 'viewer', isLoggedIn: true }, true, true],
    [{ rights: 'closed', isLoggedIn: false }, false, false],
  ])('for the visitor %j has the login %s, and the logout %s', (visitor, hasLogin, hasLogout) => {
    const text = shown({}, visitor);
    assert.equal(text.includes('id="log-in"'), hasLogin);
    assert.equal(text.includes('action="/dashboard/logout"'), hasLogout);
  });

  test('reloads and redirects if the page says so', () => {
    assert.doesNotMatch(shown(), /http-equiv/);
    assert.match(
      shown({ reloadSeconds: 5 }),
      /<noscript><meta http-equiv="refresh" content="5"><\/noscript>/,
    );
    assert.match(
      shown({ leadsTo: '/dashboard?a="b' }),
      /\n<meta http-equiv="refresh" content="0;url=\/dashboard\?a=&quot;b">/,
    );
  });

  test('escapes the title, and shows the notice and the events of the page', () => {
    const text = shown({
      title: '<b>',
      events: '/dashboard/events?server=a&b',
      notice: html`<p>done</p>`,
    });
    assert.match(text, /<title>&lt;b&gt; · AgentHub<\/title>/);
    assert.match(text, /<body data-events="\/dashboard\/events\?server=a&amp;b">/);
    assert.match(text, /<div id="notice" role="status"><p>done<\/p><\/div>/);
    assert.match(text, /AgentHub 1\.2\.3/);
  });

  test('configures htmx to evaluate no code', () => {
    const [, content = ''] = /name="htmx-config" content="([^"]*)"/.exec(shown()) ?? [];
    const config = JSON.parse(content.replaceAll('&quot;', '"'));
    assert.deepEqual([config.allowEval, config.includeIndicatorStyles], [false, false]);
  });
});

test('an asset is found only by its name with the hash', () => {
  for (const [name, url] of Object.entries(assets.urls)) {
    const file = url.slice('/dashboard/assets/'.length);
    assert.match(file, /^[\w-]+\.[0-9a-f]{12}\.\w+$/);
    assert.ok((assets.find(file)?.body.length ?? 0) > 100);
    assert.equal(assets.find(name), undefined);
  }
  for (const file of ['../layout.ts', '__proto__', '']) assert.equal(assets.find(file), undefined);
});
