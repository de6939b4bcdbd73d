import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type PolicyConfig, type Use, createPolicy, hasPolicy, hintsOf, unmatched } from '#policy';

type Rules = NonNullable<PolicyConfig['policy']>;

const tool = (name: string, annotations?: object): Use => ({
  method: 'tools/call',
  server: name.split('_')[0],
  item: {
    kind: 'tool',
    name,
    ownName: name.split('_').slice(1).join('_'),
    hints: () => hintsOf(annotations),
  },
});
const resource = (name: string, ownName = name): Use => ({
  method: 'resources/read',
  server: 'files',
  item: { kind: 'resource', name, ownName, hints: () => assert.fail('only tools have hints') },
});

const decide = (policy: Rules, use: Use, client = 'cursor') =>
  createPolicy({ policy, servers: [] }).decide(use, client);

test('without rules there is no policy', () => {
  assert.equal(hasPolicy({ servers: [] }), false);
  assert.equal(hasPolicy({ servers: [{ name: 'a', tools: { path: 'p' } }] }), false);
  assert.equal(hasPolicy({ servers: [{ name: 'a', tools: { path: 'p', deny: [] } }] }), true);
  assert.equal(hasPolicy({ servers: [], policy: [{ action: 'deny' }] }), true);
});

test('the first matching rule decides, and without one everything is allowed', () => {
  const rules: Rules = [
    { tools: ['files_read'], action: 'allow' },
    { tools: ['files_*'], action: 'deny', reason: 'read only' },
  ];
  assert.deepEqual(decide(rules, tool('files_read')), { action: 'allow', rule: 'policy[0]' });
  assert.deepEqual(decide(rules, tool('files_write')), {
    action: 'deny',
    rule: 'policy[1]',
    reason: 'read only',
  });
  assert.equal(decide(rules, tool('mail_send')), unmatched);
});

describe('a rule matches by', () => {
  test.each<
    readonly [what: string, rule: Omit<Rules[number], 'action'>, Use, client: string, boolean]
  >([
    ['the client', { clients: ['cursor'] }, tool('files_read'), 'cursor', true],
    ['no other client', { clients: ['cursor'] }, tool('files_read'), 'owner', false],
    ['a pattern of clients', { clients: ['agent:*'] }, tool('files_read'), 'agent:ada', true],
    ['the server', { servers: ['files'] }, tool('files_read'), 'x', true],
    ['no other server', { servers: ['files'] }, tool('mail_send'), 'x', false],
    ['no server for a method of the hub', { servers: ['*'] }, { method: 'x/y' }, 'x', false],
    ['the method', { methods: ['resources/*'] }, resource('x:y'), 'x', true],
    ['no other method', { methods: ['resources/*'] }, tool('files_read'), 'x', false],
    ['tools only', { tools: ['*'] }, resource('x:y'), 'x', false],
    ['items only', { tools: ['*'] }, { method: 'x/y', server: 'files' }, 'x', false],
    ['one of several kinds', { tools: ['a'], resources: ['x:*'] }, resource('x:y'), 'x', true],
    ['a URI without its prefix', { resources: ['x:y'] }, resource('files+x:y', 'x:y'), 'x', true],
    ['a URI with its prefix', { resources: ['files+*'] }, resource('files+x:y', 'x:y'), 'x', true],
    ['a hint', { annotations: { readOnlyHint: false } }, tool('files_write'), 'x', true],
    [
      'all of its hints',
      { annotations: { readOnlyHint: false, destructiveHint: false } },
      tool('files_write'),
      'x',
      false,
    ],
    ['hints of tools only', { annotations: { readOnlyHint: false } }, resource('x:y'), 'x', false],
    ['everything', {}, { method: 'x/y' }, 'x', true],
    [
      'no housekeeping without methods',
      { clients: ['x'] },
      { method: 'logging/setLevel', isHousekeeping: true },
      'x',
      false,
    ],
    [
      'housekeeping by its method',
      { methods: ['logging/*'] },
      { method: 'logging/setLevel', isHousekeeping: true },
      'x',
      true,
    ],
  ])('%s', (_what, rule, use, client, matches) => {
    const decision = decide([{ ...rule, action: 'deny' }], use, client);
    assert.equal(decision.action === 'deny', matches);
  });
});

describe('the tools of a server', () => {
  const path = 'servers.files.tools';
  const of = (tools: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }) =>
    createPolicy({
      servers: [{ name: 'files', tools: { path, ...tools } }],
      policy: [{ action: 'allow' }],
    });

  test.each([
    [{ deny: ['write*'] }, 'files_write', `${path}.deny`],
    [{ deny: ['write*'] }, 'files_read', 'policy[0]'],
    [{ allow: ['read'] }, 'files_write', `${path}.allow`],
    [{ allow: ['read'] }, 'files_read', 'policy[0]'],
    [{ allow: ['*'], deny: ['read'] }, 'files_read', `${path}.deny`],
    [{ deny: ['*'] }, 'mail_send', 'policy[0]'],
  ])('%j decides before the policy about %s', (tools, name, rule) => {
    assert.equal(of(tools).decide(tool(name), 'owner').rule, rule);
  });

  test('do not apply to resources', () => {
    assert.equal(of({ deny: ['*'] }).decide(resource('x:y'), 'owner').rule, 'policy[0]');
  });
});

test('a rule counts its calls, also after a reload that moves it', () => {
  const rule = { tools: ['a'], action: 'deny' } as const;
  const first = createPolicy({ policy: [rule], servers: [] });
  const [one] = first.rules;
  assert.ok(one);
  first.count(one.decision);
  first.count(one.decision);
  const second = createPolicy({ policy: [{ action: 'allow' }, rule], servers: [] }, first);
  assert.deepEqual(
    second.rules.map(({ path, decision }) => [path, second.countOf(decision)]),
    [
      ['policy[0]', 0],
      ['policy[1]', 2],
    ],
  );
  assert.equal(second.ruleOf(one.decision), undefined);
});
