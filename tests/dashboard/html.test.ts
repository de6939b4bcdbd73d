import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'vitest';
import { html, textOf } from '#dashboard';

const hostile = `<script>alert("x")</script>' onload='y' &amp;`;
const harmless =
  '&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39; onload=&#39;y&#39; &amp;amp;';

describe('html', () => {
  test('escapes every text, in a list and in an attribute too', () => {
    assert.equal(textOf(html`<p>${hostile}</p>`), `<p>${harmless}</p>`);
    assert.equal(
      textOf(html`<a title="${hostile}">${[hostile, 'b']}</a>`),
      `<a title="${harmless}">${harmless}b</a>`,
    );
  });

  test('leaves markup as it is, however deep it stands', () => {
    const inner = html`<b>${'<'}</b>`;
    assert.equal(textOf(html`<p>${[[inner], inner]}</p>`), '<p><b>&lt;</b><b>&lt;</b></p>');
  });

  test('shows numbers, and nothing for undefined values', () => {
    assert.equal(textOf(html`${0}${-1.5}${undefined}${false}${''}${[]}`), '0-1.5');
  });

  test('refuses an object that looks like markup', () => {
    const forged: unknown = JSON.parse('{"markup":"<b>"}');
    assert.throws(() => html`${forged as never}`, TypeError);
  });
});

test('no view has an unquoted attribute value, an inline script or an inline style', () => {
  const files = globSync('hub/dashboard/*.ts').filter(file =>
    readFileSync(file, 'utf8').includes('html`'),
  );
  assert.ok(files.length > 10);
  for (const file of files) {
    const source = readFileSync(file, 'utf8');
    assert.doesNotMatch(source, /[\w-]=\$\{/, `${file}: write ="\${value}"`);
    assert.doesNotMatch(source, /<[a-z][^>]*\s(?:style|on[a-z]+)=/, file);
    assert.doesNotMatch(source, /<style|<script(?! src="\$\{assets\[)|javascript:|hx-on/, file);
    assert.doesNotMatch(
      source,
      /https?:\/\/(?!example\.com|www\.w3\.org|localhost:9090)/,
      `${file}: a foreign address`,
    );
  }
});
