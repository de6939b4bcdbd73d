import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'vitest';

const doors = globSync('hub/**/index.ts').sort();
const roomOf = (door: string) =>
  door.replaceAll('\\', '/').slice('hub/'.length, -'/index.ts'.length);
const rooms = doors.map(roomOf).toSorted((a, b) => b.length - a.length);
/** Returns the innermost room of a file; undefined for the process entry. */
const roomOfFile = (file: string) =>
  rooms.find(room => file.replaceAll('\\', '/').startsWith(`hub/${room}/`));

/** Returns the names that a door exports. */
function exportsOf(door: string): readonly string[] {
  const lists = readFileSync(door, 'utf8').matchAll(/^export (?:type )?\{([^}]*)\} from/gm);
  return [...lists].flatMap(([, list = '']) =>
    namesIn(list).map(
      ({ text, name }) =>
        text
          .split(' as ')
          .at(-1)
          ?.replace(/^type /, '') ?? name,
    ),
  );
}

/** Parses an import or export list in braces. Returns the entries, and their names in the file that they come from. */
const namesIn = (list: string) =>
  list
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '')
    .map(text => ({
      text,
      name:
        text
          .replace(/^type /, '')
          .split(/ as |:/)[0]
          ?.trim() ?? text,
    }));

/** Returns the file that an import names; undefined for a package. */
function fileOf(name: string, importer: string): string | undefined {
  if (name.startsWith('.')) return join(dirname(importer), name);
  if (/^#(?:fixtures|helpers)\//.test(name)) return join('tests', `${name.slice(1)}.ts`);
  return name.startsWith('#') ? join('hub', name.slice(1), 'index.ts') : undefined;
}

/**
 * Returns what files import from others, as `file name`, by static and dynamic imports. `file *` stands for the whole
 * module, `undefined name` for a package or a computed path.
 */
function importedNames(): ReadonlySet<string> {
  const found = new Set<string>();
  const statement = /^(?:import|export) (?:type )?(?:\{([^}]*)\}|\* as \w+) from '([^']+)'/gm;
  const dynamic =
    /(?:\{([^{}]*)\} = await )?import\((?:'([^']+)'\))?(?:\)?\s*\.(?:then\(\(\{([^}]*)\}|(?!then\b)(\w+)))?/g;
  for (const file of globSync(['hub/**/*.ts', 'tests/**/*.ts', 'scripts/*.mjs'])) {
    const text = readFileSync(file, 'utf8');
    for (const pattern of [statement, dynamic])
      for (const [, list, name = '', awaited, member] of text.matchAll(pattern)) {
        const names = namesIn(list ?? awaited ?? member ?? '*');
        for (const each of names) found.add(`${fileOf(name, file)} ${each.name}`);
      }
  }
  return found;
}

test('two types that files of different rooms export never share a name', () => {
  const declared = /^export (?:type|interface|class) (\w+)/gm;
  const roomsOf = new Map<string, Set<string>>();
  for (const file of globSync('hub/*/**/*.ts')) {
    const room = roomOfFile(file) ?? '';
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(declared))
      roomsOf.set(name, (roomsOf.get(name) ?? new Set()).add(room));
  }
  assert.ok(roomsOf.size > 300, 'types are found');
  const shared = [...roomsOf].filter(([, { size }]) => size > 1);
  assert.deepEqual(
    shared.map(([name, places]) => `${name}: ${[...places].join(', ')}`),
    [],
  );
});

test('doors export what others import, and nothing else', () => {
  const imported = importedNames();
  const unused = doors.flatMap(door =>
    exportsOf(door)
      .map(name => `${door} ${name}`)
      .filter(name => !imported.has(name)),
  );
  assert.deepEqual(unused, []);
});

test('files export what others import, and nothing else', () => {
  const imported = importedNames();
  const declared = /^export (?:async )?(?:type|interface|class|const|function\*?) (\w+)/gm;
  // The peers of the benchmarks are installed below tests/bench.
  const exclude = ['**/node_modules'];
  const files = globSync(['hub/**/*.ts', 'tests/**/*.ts'], { exclude }).filter(
    file => !imported.has(`${file} *`),
  );
  const unused = files.flatMap(file =>
    [...readFileSync(file, 'utf8').matchAll(declared)]
      .map(([, name]) => name)
      .filter(name => !imported.has(`${file} ${name}`) && !imported.has(`undefined ${name}`))
      .map(name => `${file} ${name}`),
  );
  assert.deepEqual(unused, []);
});

test('each decision has a number of its own, which is also in its title', () => {
  const files = globSync('*.md', { cwd: 'hub/decisions' }).sort();
  const numbers = files.map(file => file.slice(0, 4));
  assert.deepEqual(numbers, [...new Set(numbers)]);
  for (const [at, file] of files.entries())
    assert.ok(readFileSync(`hub/decisions/${file}`, 'utf8').startsWith(`# ${numbers[at]}: `), file);
});
