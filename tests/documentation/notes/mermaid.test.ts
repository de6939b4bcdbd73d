import assert from 'node:assert/strict';
import { test } from 'vitest';
import { faultOfMermaid } from '../../../hub/documentation/notes/check-mermaid.ts';
import { drawModules } from '../../../hub/documentation/notes/mermaid.ts';
import type { CodeModule } from '../../../hub/documentation/project/project-types.ts';

const module = (folder: string, uses: readonly string[] = [], isTests = false): CodeModule => ({
  folder,
  isTests,
  files: [],
  summary: undefined,
  uses: new Map(uses.map(target => [target, [`${folder}/x.ts`]])),
  usedBy: [],
  packages: [],
});

test('few modules are drawn one by one, without tests', () => {
  const drawing = drawModules([module('a', ['b/c']), module('b/c'), module('tests', ['a'], true)]);
  assert.equal(drawing?.text, 'flowchart LR\n  m0["a"]\n  m1["b/c"]\n  m0 --> m1');
});

test('many modules are drawn by their parent folders', () => {
  const many = Array.from({ length: 60 }, (_, at) =>
    module(`p${at % 6}/m${at}`, [`p${(at + 1) % 6}/m${(at + 1) % 60}`]),
  );
  const drawing = drawModules(many);
  assert.deepEqual(drawing?.groups, ['p0', 'p1', 'p2', 'p3', 'p4', 'p5']);
});

test('modules of one top folder are drawn one by one, the most connected ones only', () => {
  const many = Array.from({ length: 60 }, (_, at) =>
    module(`hub/m${at}`, at === 0 ? [] : ['hub/m0']),
  );
  const drawing = drawModules([module('bin', ['scripts']), module('scripts'), ...many]);
  assert.ok(drawing?.groups.includes('hub/m0') && drawing.groups.length === 24);
});

test('arrows to the most used modules are left out if there are too many', () => {
  const users = (count: number) =>
    Array.from({ length: count }, (_, at) =>
      module(`m${at}`, ['core', ...[1, 2, 3].map(step => `m${(at + step) % count}`)]),
    );
  const many = drawModules([...users(20), module('core')]);
  assert.deepEqual([many?.common, many?.groups.includes('core')], [['core'], false]);
  assert.equal(many?.omittedEdges, 20);
  const few = drawModules([...users(8), module('core')]);
  assert.deepEqual([few?.common, few?.groups.includes('core')], [[], true]);
});

test('a drawing is valid whatever the names of folders are, and bounded', () => {
  const odd = [
    'end',
    'a"b',
    '<x>',
    '[y]',
    '`z`',
    'click',
    'größe',
    '日本',
    '.',
    'a(b)',
    'x%%y',
    "it's",
    'a;b',
  ];
  const all = [...odd, ...Array.from({ length: 100 }, (_, at) => `top/m${at}`)];
  const modules = all.map((folder, at) =>
    module(
      folder,
      all.filter((_, other) => (at * other) % 7 === 1),
    ),
  );
  const drawing = drawModules(modules);
  assert.ok(drawing && drawing.groups.length <= 24);
  assert.equal(faultOfMermaid(drawing.text), undefined, drawing.text);
  const few = drawModules(
    odd.map((folder, at) => module(folder, [odd[(at + 1) % odd.length] ?? ''])),
  );
  assert.equal(faultOfMermaid(few?.text ?? ''), undefined, few?.text);
});

test('nothing is drawn if no module uses another', () => {
  assert.equal(drawModules([module('a'), module('b')]), undefined);
});
