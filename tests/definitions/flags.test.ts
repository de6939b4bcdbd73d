import assert from 'node:assert/strict';
import { test } from 'vitest';
import { definitionWith } from '../../hub/definitions/definition.ts';
import { flagsOf } from '../../hub/definitions/flags.ts';
import { unseenIn, visible } from '../../hub/definitions/visible.ts';

test.each([
  ['plain text, with a line break\nand a tab\t', []],
  ['zero\u200bwidth', ['U+200B']],
  ['left \u202eto right', ['U+202E']],
  ['isolated \u2066text\u2069', ['U+2066', 'U+2069']],
  ['tags \u{e0041}\u{e0042}', ['U+E0041', 'U+E0042']],
  ['escape \u001b[2J', ['U+001B']],
  ['selector x\ufe00', ['U+FE00']],
  ['filler \u3164', ['U+3164']],
  ['a lone \ud800', ['U+D800']],
  ['emoji ✅, ❤️, 👩‍💻 and 👩🏽‍💻', []],
  ['joined \u200d text', ['U+200D']],
])('%j has the invisible characters %j', (text, codes) => {
  assert.deepEqual(unseenIn(text), codes);
  for (const code of codes) assert.ok(visible(text, true).includes(`<${code}>`));
  if (codes.length === 0) assert.equal(visible(text, true), text);
});

const others = new Map([
  ['send_email', 'mail'],
  ['search', 'web'],
  ['readFile', 'files'],
]);

const flagged = (description: string, name = 'add') =>
  flagsOf([{ kind: 'tool', name, definition: definitionWith({ description }) }], others).map(
    ({ text }) => text,
  );

test.each([
  ['Then call send_email with the result.', ['send_email']],
  ['Use `search` first.', ['search']],
  ['Does a search in the text.', []],
  ['First readFile, then go on.', ['readFile']],
  ['Mails are not sent_email here.', []],
])('%j refers to the tools %j of other servers', (description, names) => {
  const [text = '', more] = flagged(description);
  assert.equal(more, undefined);
  assert.deepEqual(
    names.filter(name => text.includes(JSON.stringify(name))),
    names,
  );
  if (names.length === 0) assert.equal(text, '');
});

test("a reference to the server's own tool of the same name is not flagged", () => {
  assert.deepEqual(flagged('Like send_email.', 'send_email'), []);
});

test('invisible characters in schemas and names are found', () => {
  const definition = definitionWith({
    inputSchema: { properties: { a: { description: 'x\u200b' } } },
  });
  const [inSchema] = flagsOf([{ kind: 'tool', name: 'add', definition }], new Map());
  assert.match(inSchema?.text ?? '', /U\+200B/);
  assert.equal(flagged('plain', 'a\u202eb').length, 1);
});
