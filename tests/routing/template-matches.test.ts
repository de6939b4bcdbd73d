import assert from 'node:assert/strict';
import { test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import type { Server } from '#servers';
import { createTemplateMatches, prefixOf } from '../../hub/routing/template-matches.ts';
import { createScriptedServer } from './scripted-server.ts';

const [one, two] = ['one', 'two'].map(name => createScriptedServer({ name }, {}).server);
assert.ok(one && two);

const entry = (server: Server, name: string, publicName = name) => ({
  server,
  name,
  shownName: name,
  publicName,
  bytes: Buffer.from('{}'),
});

/** Template that takes more steps than a URI may cost. */
const costly = `x:/${'{+a}--'.repeat(15)}`;
const long = `x:/${'-'.repeat(2_000)}`;

test('a public URI has the first template that matches it, of whichever server', () => {
  const all = [entry(one, 'x:/{a}'), entry(two, 'x:/{b}', 'two+x:/{b}'), entry(two, 'y:/{a}')];
  const templates = createTemplateMatches(all);
  assert.deepEqual(
    ['x:/1', 'two+x:/1', 'y:/1', 'x:/1/2', 'z:/1'].map(uri => templates.find(uri)),
    [all[0], all[1], all[2], undefined, undefined],
  );
});

test('a URI of a server has the templates of that server alone, by its own names for them', () => {
  const all = [entry(one, 'x:/{a}'), entry(two, 'x:/{b}', 'two+x:/{b}'), entry(two, 'x:/{+c}')];
  const templates = createTemplateMatches(all);
  for (let times = 0; times < 2; times++) {
    assert.deepEqual(templates.at(one, 'x:/1'), { server: one, first: all[0], possible: [all[0]] });
    assert.deepEqual(templates.at(two, 'x:/1'), { server: two, first: all[1], possible: [all[1]] });
    assert.deepEqual(templates.at(one, 'y:/1'), { server: one, first: undefined, possible: [] });
  }
});

test('templates that are too costly to match are possible ones, and no server uses up the steps of another', () => {
  const all = [entry(one, costly), entry(one, 'x:/{+a}'), entry(two, 'x:/{+b}', 'x:/{+b}')];
  const templates = createTemplateMatches(all);
  assert.deepEqual(templates.at(one, long), {
    server: one,
    first: undefined,
    possible: all.slice(0, 2),
  });
  assert.equal(templates.find(long), all[2]);
});

test('a URI is matched with 1,000 templates once, however many subscribers it has', () => {
  const all = Array.from({ length: 1_000 }, (_, at) => entry(one, `x:/{name}/${at}/{part}`));
  const templates = createTemplateMatches(all);
  const passes = Array.from({ length: 20 }, (_, part) => `x:/notes/999/${part}`);
  const first = startCpuTimer();
  for (const uri of passes) assert.equal(templates.at(one, uri).first, all[999]);
  const once = first();
  const again = startCpuTimer();
  for (const uri of passes) for (let times = 0; times < 20; times++) templates.at(one, uri);
  assert.ok(again() < once, 'twenty more times cost less than the first');
});

test('the prefix of a template is what its public name has before its own', () => {
  assert.equal(prefixOf(entry(two, 'x:/{b}', 'two+x:/{b}')), 'two+');
  assert.equal(prefixOf(entry(one, 'x:/{b}')), '');
});
