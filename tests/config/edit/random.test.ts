import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isObject } from '#core';
import { documentOf, parseText } from '../../../hub/config/document.ts';
import { editableText } from '../../../hub/config/edit/text.ts';

// Tests edits of random files: the edited text is parsed again and compared.

/** Returns random choices that are the same in every run. */
function createChoices(seed: number) {
  let state = seed;
  const upTo = (count: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % count;
  };
  const pick = (...texts: readonly string[]) => texts[upTo(texts.length)] ?? '';
  return { upTo, pick };
}
type Choices = ReturnType<typeof createChoices>;

function randomJson({ upTo, pick }: Choices): string {
  const gap = () => pick('', ' ', '\n', '\n  ', '  ', ' // c\n', '/* x */', '\n\n\t');
  const count = 1 + upTo(3);
  const servers = Array.from({ length: count }, (_, index) => {
    const comma = index < count - 1 || upTo(3) === 0 ? `,${gap()}` : '';
    const value = pick(
      '{"image":"a:1"}',
      '{ "image": "a:1", /* in */ "tags": [ ] }',
      '{\n "image": "b:1" // t\n}',
    );
    return `"s${index}":${gap()}${value}${gap()}${comma}`;
  });
  return `{${gap()}"servers"${pick(':', ' : ')}{${gap()}${servers.join('')}}${gap()}${pick('', ',"naming":{}', ',')}${gap()}}${gap()}`;
}

function randomYaml({ upTo, pick }: Choices): string {
  const tail = () => pick('', '', ' # tail');
  const one = pick('  ', '    ', ' ');
  const two = one + pick('  ', '   ', '    ');
  const servers = Array.from({ length: 1 + upTo(3) }, (_, index) => {
    const above = pick('', `${one}# about\n`, '\n', '# about\n');
    const value = pick(
      `${tail()}\n${two}image: "a:1"${tail()}\n${two}args:${tail()}\n${two}- x${tail()}\n`,
      ` {image: "a:1"}${tail()}\n`,
      `\n${two}image: "x:1"\n${two}description: |-\n${two}  t # no\n\n${two}  u\n`,
      `\n${two}image: >-\n${two}  x:1\n${two}# deep\n`,
    );
    return `${above}${one}s${index}:${value}`;
  });
  const text = `${pick('', '# about\n\n', '---\n')}servers:${tail()}\n${servers.join('')}${pick('', '\n', `${one}# about\n`, 'naming: {}\n', '# about\nnaming: {}')}`;
  return upTo(4) === 0 ? text.replace(/\n+$/, '') : text;
}

async function valueOf(text: string, format: 'json' | 'yaml') {
  const { root, problems } = await parseText({ file: 'hub', text }, format);
  assert.ok(root && problems.length === 0, JSON.stringify(text));
  const { value } = documentOf(root);
  assert.ok(isObject(value) && isObject(value['servers']));
  return { whole: value, servers: value['servers'] };
}

const remarks = (text: string) => text.match(/# about/g)?.length ?? 0;

test.for(['json', 'yaml'] as const)('edits of random %s change only their entry', async format => {
  const choices = createChoices(20);
  for (let round = 0; round < 400; round++) {
    const made = format === 'json' ? randomJson(choices) : randomYaml(choices);
    const text = choices.upTo(3) === 0 ? made.replaceAll('\n', '\r\n') : made;
    const { whole, servers } = await valueOf(text, format);
    const editable = await editableText(text, format);
    const entry = { image: 'n:1', env: { KEY: '# "x"' } };
    const expected: (readonly [string, typeof entry | null | undefined])[] = [['new', entry]];
    for (const name of Object.keys(servers))
      expected.push([name, undefined], [name, entry], [name, null]);
    for (const [name, next] of expected) {
      const edited = editable.with(name, next) ?? assert.fail(JSON.stringify(text));
      const wanted = Object.entries({ ...servers, [name]: next });
      assert.deepEqual(
        (await valueOf(edited, format)).whole,
        {
          ...whole,
          servers: Object.fromEntries(wanted.filter(([, value]) => value !== undefined)),
        },
        JSON.stringify([text, edited]),
      );
      assert.equal(remarks(edited), remarks(text), JSON.stringify([text, edited]));
      if (name !== 'new') continue;
      const back = (await editableText(edited, format)).with('new', undefined);
      assert.equal(back, text, 'added and removed again');
    }
  }
});
