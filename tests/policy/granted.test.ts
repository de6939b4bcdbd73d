import { expect, test } from 'vitest';
import { type Use, createPolicy, hintsOf, restrictToGrants } from '#policy';

const tool = (server: string, name: string): Use => ({
  method: 'tools/call',
  server,
  item: { kind: 'tool', name: `${server}_${name}`, ownName: name, hints: () => hintsOf(undefined) },
});
const resource: Use = {
  method: 'resources/read',
  server: 'memory',
  item: { kind: 'resource', name: 'x:y', ownName: 'x:y', hints: () => hintsOf(undefined) },
};
const isClosed = (server: string) => server === 'agents';
const base = createPolicy({
  policy: [{ clients: ['agent:ada'], tools: ['memory_delete'], action: 'deny' }],
  servers: [],
});
const granted = restrictToGrants(
  { tools: ['time_now', '*_read'], servers: ['memory'] },
  base,
  isClosed,
);
const action = (use: Use) => granted.decide(use, 'agent:ada').action;

test.each([
  ['a tool by its name', tool('time', 'now'), 'allow'],
  ['a tool by a pattern', tool('files', 'read'), 'allow'],
  ['every tool of a server', tool('memory', 'create'), 'allow'],
  ['no tool that the config denies', tool('memory', 'delete'), 'deny'],
  ['no other tool', tool('files', 'write'), 'deny'],
  ['no tool of the hub itself', tool('agents', 'read'), 'deny'],
  ['no resource', resource, 'deny'],
  ['no method without an item', { method: 'logging/setLevel', server: 'memory' }, 'deny'],
] as const)('grants allow %s', (_what, use, expected) => {
  expect(action(use)).toBe(expected);
});

test('without grants and without a policy nothing is allowed', () => {
  const none = restrictToGrants({ tools: [], servers: [] }, undefined, isClosed);
  expect(none.decide(tool('time', 'now'), 'agent:ada')).toMatchObject({
    action: 'deny',
    rule: 'grants',
  });
});

test('the refusal of a tool of the hub itself does not recommend a grant', () => {
  const all = restrictToGrants({ tools: ['*'], servers: ['agents'] }, base, isClosed);
  expect(all.decide(tool('agents', 'read'), 'agent:ada').reason).toBe(
    'no agent can use the tools of the hub itself, also with a grant',
  );
});
