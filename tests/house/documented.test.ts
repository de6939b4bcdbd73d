import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { describe, expect, test } from 'vitest';
import { loadConfig, schemaJson } from '#config';
import { blocksOf } from '#helpers/documented';
import { optionTypes } from '../../hub/cli/command.ts';
import { loadCommand } from '../../hub/cli/loaders.ts';

const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...globSync('docs/*.md')];
const textOf = (page: string) => readFileSync(page, 'utf8');
/** Splits a shell command into words. */
const wordsOf = (line: string): readonly string[] =>
  [...line.matchAll(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g)].map(([word]) =>
    word.replaceAll(/['"]/g, ''),
  );

/** Returns the `agenthub` commands that a page tells readers to type, from code blocks and inline code. */
function commandsOf(page: string): readonly string[] {
  const lines = blocksOf(page, 'sh').flatMap(block => block.replaceAll(/\\\n\s*/g, '').split('\n'));
  const inline = [...textOf(page).matchAll(/`((?:npx )?agenthub [a-z][^`\n]*)`/g)].map(
    ([, command = '']) => command,
  );
  return [...lines, ...inline].flatMap(line => {
    const [, rest] = /^(?:\$ )?(?:\w+=\S+ )*(?:npx )?agenthub (.*)$/.exec(line.trim()) ?? [];
    return rest === undefined ? [] : [rest.replace(/(?:^| )#.*$/, '').split(/ [|<>]/)[0] ?? ''];
  });
}

describe('README.md', () => {
  test('is short', () => {
    const words = textOf('README.md').split(/\s+/).length;
    assert.ok(words <= 900, `${words} words`);
  });
});

test.each(pages)('%s names files that exist', page => {
  const linked = [...textOf(page).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)].map(
    ([, file = '']) => file,
  );
  for (const file of linked)
    expect(globSync(join(dirname(page), file)), `${page} names ${file}`).not.toEqual([]);
});

test.each(pages)('%s has only commands that the command line accepts', async page => {
  for (const line of commandsOf(page)) {
    const [name = '', ...words] = wordsOf(line);
    if (name === 'version' || name.startsWith('-')) continue;
    const command = await loadCommand(name);
    assert.ok(command, `${page}: agenthub ${name} is no command`);
    const parse = () =>
      parseArgs({ args: words, options: optionTypes(command), allowPositionals: true });
    assert.doesNotThrow(parse, `${page}: agenthub ${line}`);
    const { length } = command.positionals ?? [];
    const isList = command.positionals?.at(-1)?.count?.match(/some|any/);
    if (!isList) assert.ok(parse().positionals.length <= length, `${page}: agenthub ${line}`);
  }
});

const topKeys = new Set(Object.keys(JSON.parse(schemaJson()).properties));

/** Returns the code blocks of a page that are config files, whole or in part. */
const configsOf = (page: string) =>
  blocksOf(page, 'json').flatMap(text => {
    // Documentation often shows sections of the file without its braces.
    for (const candidate of [text, `{${text}}`]) {
      try {
        const keys = Object.keys(JSON.parse(candidate));
        if (keys.length > 0 && keys.every(key => topKeys.has(key))) return [candidate];
      } catch {
        continue;
      }
    }
    return [];
  });

test.each(pages.filter(page => configsOf(page).length > 0))(
  '%s has only configs that the hub accepts',
  async page => {
    const folder = mkdtempSync(join(tmpdir(), 'agenthub-documented-'));
    try {
      for (const [at, text] of configsOf(page).entries()) {
        const file = join(folder, `${at}.json`);
        const { servers = {}, ...rest } = JSON.parse(text);
        writeFileSync(file, JSON.stringify({ ...rest, servers }));
        await assert.doesNotReject(
          loadConfig(file, { env: {}, home: '/home/user' }),
          `${page}: ${text}`,
        );
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);
