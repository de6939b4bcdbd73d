import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { PolicyRule } from '#config';
import { isObject } from '#core';
import { startHub } from '#helpers/hub';
import { byLength } from '#helpers/length';
import type { Principal } from '#policy';
import { openAsked } from './asking.ts';
import { openModern } from './modern.ts';
import { createTestAccess } from './test-access.ts';

const policies = byLength({ short: 500, long: 2_000 });
const callsOfEach = 4;
const seed = 16;

/** Returns a generator of pseudorandom numbers from 0 to 1 (mulberry32). */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const random = randomOf(seed);
const pick = <T>(from: readonly T[]): T =>
  from[Math.floor(random() * from.length)] ?? assert.fail('nothing to pick');
const maybe = <T>(share: number, make: () => T): T | undefined =>
  random() < share ? make() : undefined;
const some = (from: readonly string[]) =>
  Array.from({ length: 1 + Math.floor(random() * 2) }, () => pick(from));

/** Item of a fixture with the fields that the reference evaluator needs, copied from the fixture by hand. */
type Item = {
  readonly server: string;
  readonly kind: 'tool' | 'resource' | 'template' | 'prompt';
  readonly own: string;
  readonly name: string;
  readonly hints?: Readonly<Record<string, boolean>>;
};

const destroys = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};
const hints: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  read_file: { ...destroys, readOnlyHint: true, destructiveHint: false, openWorldHint: false },
  write_file: destroys,
  move_file: { ...destroys, destructiveHint: false, idempotentHint: true },
  search: { ...destroys, readOnlyHint: true, destructiveHint: false },
};
const uris = ['file:///public/a', 'file:///secret/b'];
const template = 'file:///{folder}/{name}';

const items: readonly Item[] = ['files', 'notes'].flatMap((server): readonly Item[] => {
  // Both servers list the same URIs, so those of the second server get its name as a prefix.
  const prefix = server === 'files' ? '' : 'notes+';
  const uri = (kind: 'resource' | 'template', own: string): Item => ({
    server,
    kind,
    own,
    name: `${prefix}${own}`,
  });
  return [
    ...Object.entries(hints).map(([own, said]): Item => ({
      server,
      kind: 'tool',
      own,
      name: `${server}_${own}`,
      hints: said,
    })),
    ...uris.map(own => uri('resource', own)),
    uri('template', template),
    ...['plan', 'review'].map((own): Item => ({
      server,
      kind: 'prompt',
      own,
      name: `${server}_${own}`,
    })),
  ];
});

const clients = ['cursor', 'claude', 'local', 'agent:ada'];
const patterns = {
  clients: [...clients, 'c*', 'agent:*', '*'],
  servers: ['files', 'notes', '*s', 'no*', '*'],
  tools: ['files_*', '*_read_file', 'notes_search', '*_*e', 'files_write_file', '*'],
  resources: ['file:///public/*', '*secret*', 'notes+*', template, '*{*}', '*'],
  prompts: ['files_plan', '*_review', '*'],
  methods: ['tools/call', 'tools/*', 'resources/*', 'prompts/get', '*/list', '*'],
};

function randomRule(): PolicyRule {
  const lists = Object.entries(patterns).flatMap(([key, from]) => {
    const share = key === 'clients' || key === 'servers' ? 0.4 : 0.25;
    const names = maybe(share, () => some(from));
    return names ? [[key, names] as const] : [];
  });
  const annotations = maybe(0.15, () =>
    Object.fromEntries([[pick(Object.keys(destroys)), random() < 0.5]]),
  );
  return {
    ...Object.fromEntries(lists),
    ...(annotations && { annotations }),
    action: random() < 0.6 ? 'deny' : 'allow',
  };
}

const globs = (names: readonly string[], text: string) =>
  names.some(name => {
    const parts = name.split('*').map(part => part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
    return new RegExp(`^${parts.join('.*')}$`).test(text);
  });

/** Grants of the agent `ada`, which narrow down what the rules allow. */
const granted = { tools: ['*_read_file', 'files_write_file'], servers: ['notes'] };

/** Reference evaluator of the policy. Returns true if the rules and grants allow the client to use the item. */
function allows(rules: readonly PolicyRule[], client: string, method: string, item: Item): boolean {
  const { kind, server, name } = item;
  if (
    client === 'agent:ada' &&
    (kind !== 'tool' || !(server === 'notes' || globs(granted.tools, name)))
  )
    return false;
  for (const rule of rules) {
    if (rule.clients && !globs(rule.clients, client)) continue;
    if (rule.servers && !globs(rule.servers, item.server)) continue;
    if (rule.methods && !globs(rule.methods, method)) continue;
    if (rule.tools || rule.resources || rule.prompts) {
      const isUri = item.kind === 'resource' || item.kind === 'template';
      const names = isUri ? rule.resources : item.kind === 'tool' ? rule.tools : rule.prompts;
      if (!names) continue;
      if (!globs(names, item.name) && !(isUri && globs(names, item.own))) continue;
    }
    const wanted = Object.entries(rule.annotations ?? {});
    if (wanted.some(([hint, value]) => item.hints?.[hint] !== value)) continue;
    return rule.action === 'allow';
  }
  return true;
}

const methods = {
  tool: { list: 'tools/list', use: 'tools/call', member: 'tools', key: 'name' },
  resource: { list: 'resources/list', use: 'resources/read', member: 'resources', key: 'uri' },
  template: {
    list: 'resources/templates/list',
    use: 'resources/read',
    member: 'resourceTemplates',
    key: 'uriTemplate',
  },
  prompt: { list: 'prompts/list', use: 'prompts/get', member: 'prompts', key: 'name' },
} as const;

test(
  `${policies} random policies list and allow the same as a reference evaluator`,
  { timeout: 300_000 },
  async () => {
    const fixtures = [{ name: 'files' }, { name: 'notes', file: 'files.mjs' }];
    const { access, change } = createTestAccess(fixtures);
    await using hub = await startHub(fixtures, {
      access: Object.assign(access, { grantsOf: () => granted }),
    });
    const principalOf = (client: string): Principal => {
      const grants = { administer: false };
      if (client === 'agent:ada') return { kind: 'agent', name: 'ada', grants };
      return { kind: client === 'local' ? 'local' : 'client', name: client, grants };
    };
    const places = await Promise.all(
      clients.flatMap(client =>
        (['all', 'files', 'notes'] as const).flatMap(where => {
          const endpoint = where === 'all' ? where : hub.server(where);
          const principal = principalOf(client);
          const modern = openModern(hub, endpoint, {}, undefined, principal);
          const legacy = openAsked(hub, endpoint, undefined, principal);
          return [
            Promise.resolve({ client, where, ask: modern.ask }),
            legacy.initialize({}).then(() => ({ client, where, ask: legacy.ask })),
          ];
        }),
      ),
    );
    let deniedCalls = 0;
    for (let at = 0; at < policies; at++) {
      const policy = Array.from({ length: 1 + Math.floor(random() * 5) }, randomRule);
      change({ policy });
      const { client, where, ask } = pick(places);
      const about = `policy ${at} ${JSON.stringify(policy)} for ${client} at ${where}`;
      const seen = items.filter(({ server }) => where === 'all' || server === where);
      const nameOf = ({ own, name }: Item) => (where === 'all' ? name : own);
      const listed = (item: Item) =>
        allows(policy, client, methods[item.kind].list, item) &&
        allows(policy, client, methods[item.kind].use, item);
      for (const [kind, { list, member, key }] of Object.entries(methods)) {
        const { result } = await ask(list);
        const found = isObject(result) && Array.isArray(result[member]) ? result[member] : [];
        const names = found
          .map((one: unknown) => (isObject(one) ? String(one[key]) : ''))
          .filter(name => name !== 'hub://servers');
        const expected = seen.filter(item => item.kind === kind && listed(item)).map(nameOf);
        assert.deepEqual(names, expected, `${list}: ${about}`);
      }
      const callable = seen.filter(({ kind }) => kind !== 'template');
      for (let call = 0; call < callsOfEach; call++) {
        const item = pick(callable);
        const { use, key } = methods[item.kind];
        const { error } = await ask(use, { [key]: nameOf(item) });
        const isAllowed = allows(policy, client, use, item);
        const code = isObject(error) && isObject(error['data']) ? error['data']['code'] : error;
        assert.equal(code, isAllowed ? undefined : 'HUB_POLICY_DENIED', `${item.name}: ${about}`);
        // A client may use every item that its lists show.
        if (listed(item)) assert.ok(isAllowed, `${item.name}: ${about}`);
        if (!isAllowed) deniedCalls++;
      }
    }
    assert.ok(deniedCalls > policies, `${deniedCalls} calls were denied`);
  },
);
