import assert from 'node:assert/strict';
import { test } from 'vitest';
import { linksIn } from '../links-in.ts';
import {
  code,
  counted,
  link,
  plainText,
  tagOf,
} from '../../../hub/documentation/notes/markdown.ts';

test.each([
  ['a snake_case_name is kept', 'a snake_case_name is kept'],
  [
    'see [[Other note]] and [x](http://a.b)',
    String.raw`see \[\[Other note\]\] and \[x\](http:` + '\u200b//a.b)',
  ],
  ['<script>x</script>', '&lt;script>x&lt;/script>'],
  ['#tag and # number', String.raw`\#tag and # number`],
  ['![[secret.png]]', String.raw`!\[\[secret.png\]\]`],
  ['%%hidden%% ==marked== _it_', String.raw`%\%hidden%\% =\=marked=\= \_it\_`],
  ['- not a list\n> nor a quote', String.raw`\- not a list > nor a quote`],
  ['code `a_b[0]` stays', 'code `a_b[0]` stays'],
  ['`= this.file` and `$= dv.pages()`', '`\u200b= this.file` and `$\u200b= dv.pages()`'],
  ['`<% tp.system %>`', '`<\u200b% tp.system %>`'],
])('plain text of %j', (text, expected) => {
  assert.equal(plainText(text), expected);
});

test('code with backquotes is in a longer fence', () => {
  assert.equal(code('a `b` c'), '`` a `b` c ``');
  assert.equal(code('a ```b'), '```` a ```b ````');
  assert.equal(code('  '), '');
});

test('links are found by name, but not in code', () => {
  const note = `---\ntitle: "[[no]]"\n---\n${link('app - a', 'a|b]')} and [[Other#Heading|shown]] and \`[[code]]\`\n\n\`\`\`mermaid\n[[no]]\n\`\`\`\n${plainText('[[escaped]]')}`;
  assert.deepEqual(linksIn(note), ['app - a', 'Other']);
});

test('the name of a folder in a link is on one line, and cannot run a plugin', () => {
  assert.equal(
    link('app - x', 'x\n```dataviewjs\nrun()\n```\n<% y %> %%z%%'),
    '[[app - x|x ---dataviewjs run() --- -- y -- --z--]]',
  );
  assert.equal(link('app - x', 'src/my_module-1.2'), '[[app - x|src/my_module-1.2]]');
});

test.each([
  ['My Project!', 'my-project'],
  ['C#', 'c-sharp'],
  ['C++', 'cpp'],
  ['2026', 'n2026'],
  ['größe', 'größe'],
])('the tag of %j is %s', (text, tag) => {
  assert.equal(tagOf(text), tag);
});

test('numbers are followed by their noun', () => {
  assert.deepEqual([counted(1, 'file'), counted(2_000, 'file')], ['1 file', '2,000 files']);
});
