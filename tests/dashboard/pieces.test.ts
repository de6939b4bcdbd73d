import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { html, textOf } from '#dashboard';
import {
  actionButton,
  facts,
  failurePage,
  loginLink,
  optionsOf,
  ownersOnly,
  payload,
  serverLink,
  table,
} from '../../hub/dashboard/pieces.ts';

test('a fact without a value is omitted, but 0 is shown', () => {
  const shown = textOf(
    facts([
      ['None', undefined],
      ['No', false],
      ['Empty', ''],
      ['Zero', 0],
      ['Name', '<b>'],
    ]),
  );
  assert.equal(
    shown,
    '<dl class="facts"><div><dt>Zero</dt><dd>0</dd></div><div><dt>Name</dt><dd>&lt;b&gt;</dd></div></dl>',
  );
});

describe('a table', () => {
  const shown = textOf(
    table(
      'Things',
      [{ name: 'a', size: 1 }],
      [
        ['Name', ({ name }) => name],
        ['Size', ({ size }) => size, 'number'],
      ],
    ),
  );

  test('has the first column as the header of each row, and labels the other cells', () => {
    assert.match(
      shown,
      /<tr role="row"><th role="rowheader" scope="row">a<\/th><td role="cell" data-title="Size" class="number">1<\/td><\/tr>/,
    );
  });

  test('marks the columns of numbers in its head as well', () => {
    assert.match(
      shown,
      /<th role="columnheader" scope="col">Name<\/th><th role="columnheader" scope="col" class="number">Size<\/th>/,
    );
  });
});

describe('content that only the owner may see or use', () => {
  test.each([
    ['owner', ''],
    ['viewer', '<a class="button" id="x" href="/dashboard/login">Log in</a>'],
    ['closed', ''],
  ] as const)('has a login link for a visitor who is %s: %s', (rights, expected) => {
    assert.equal(textOf(html`${loginLink(rights, 'Log in', 'x')}`), expected);
  });

  test("is replaced by a text that it is the owner's, or that there is no owner", () => {
    assert.match(textOf(ownersOnly('viewer', 'The log')), /only to the owner.*\/dashboard\/login/);
    assert.match(textOf(ownersOnly('closed', 'The log')), /administration of this hub is off/);
  });
});

test('a button has a label for screen readers that names its subject, if one is given', () => {
  const action = { label: 'Stop', path: '/stop', id: 'stop' };
  assert.match(
    textOf(actionButton({ ...action, about: 'a "b"', tone: 'danger' })),
    /<button id="stop" class="danger" aria-label="Stop a &quot;b&quot;">Stop<\/button>/,
  );
  assert.match(textOf(actionButton(action)), /<button id="stop" class="">Stop<\/button>/);
});

test('a link to a server has an id only where one is given', () => {
  assert.equal(textOf(serverLink('a b')), '<a href="/dashboard/servers/a%20b">a b</a>');
  assert.match(textOf(serverLink('a', 'row-a')), / id="row-a">a</);
});

test('the selected option is marked', () => {
  assert.equal(
    textOf(html`${optionsOf(['a', 'b'], 'b')}`),
    '<option>a</option><option selected>b</option>',
  );
});

test('an empty text is shown as empty', () => {
  assert.match(textOf(payload('', 'Log')), /Nothing was recorded/);
  assert.match(textOf(payload('<b>', 'Log')), /aria-label="Log">&lt;b&gt;<\/pre>/);
});

test('a failure is shown with its code if there is one', () => {
  const failure = { title: 'Not found', message: 'no <b>' };
  assert.match(
    textOf(failurePage({ ...failure, code: 'HUB_CALL_UNKNOWN' })),
    /no &lt;b&gt;[^]*<code>HUB_CALL_UNKNOWN<\/code>/,
  );
  assert.doesNotMatch(textOf(failurePage(failure)), /Error code/);
});
