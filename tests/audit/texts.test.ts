import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createTexts } from '../../hub/audit/texts.ts';

test('a text is redacted once, until the texts are forgotten', () => {
  const asked: string[] = [];
  const texts = createTexts(text => {
    asked.push(text);
    return text.replace('secret', '***');
  });
  for (let time = 0; time < 3; time++)
    assert.equal(texts.member('name', 'a "secret"'), String.raw`,"name":"a \"***\""`);
  assert.deepEqual(asked, ['a "secret"']);
  texts.forget();
  texts.member('name', 'a "secret"');
  assert.equal(asked.length, 2);
});

test('long texts are cut after redaction, and very long ones are replaced by their length', () => {
  const texts = createTexts(text => text.replace('secret', '***'));
  const valueOf = (text: string): string => JSON.parse(`{"a":1${texts.member('name', text)}}`).name;
  assert.equal(valueOf(`${'x'.repeat(297)}secret${'y'.repeat(100)}`), `${'x'.repeat(297)}***`);
  assert.equal(valueOf('x'.repeat(300_000)), '(300000 characters)');
});

test('a text that is undefined adds no member', () => {
  assert.equal(createTexts(text => text).member('name', undefined), '');
});
