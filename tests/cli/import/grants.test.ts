import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'vitest';
import { createIo } from '#cli';
import type { ImportItem, ImportPlan } from '#clients';
import { createManualClock } from '#helpers/clock';
import { configOf } from '#helpers/hub';
import { collectGrants, mountGrants } from '../../../hub/cli/import/grants.ts';
import { createNeeds } from '../run.ts';

type Setting = Extract<ImportItem, { readonly action: 'add' }>['loosenings'][number];

const network: Setting = {
  name: 'network:bridge',
  kind: 'network',
  message: 'It can.',
  needsConfirmation: true,
};
const read: Setting = { ...network, name: 'mount:ro', kind: 'mount', needsConfirmation: false };
const write: Setting = { ...network, name: 'mount:rw', kind: 'mount' };
const build: Setting = { ...network, name: 'build:/p', kind: 'build' };
const root: Setting = { ...network, name: 'user:0:0', kind: 'user' };

function itemOf(
  name: string,
  scope: 'user' | 'workspace',
  ...loosenings: readonly Setting[]
): ImportItem {
  const source = { file: 'a.json', text: '', format: 'json' } as const;
  return {
    found: { client: 'cursor', source, path: [], name, entry: {}, scope, folder: undefined },
    action: 'add',
    name,
    entry: {},
    server: configOf({ name }),
    loosenings,
    dropped: [],
    hints: [],
  };
}

const plan: ImportPlan = {
  items: [
    itemOf('a', 'user', network, read),
    itemOf('b', 'user', write, root),
    itemOf('p', 'workspace', network),
    itemOf('c', 'user'),
    itemOf('d', 'user', build),
  ],
  variables: [],
};

type Given = {
  readonly values?: Readonly<Record<string, unknown>>;
  /** Answers of the user, in order; undefined without a terminal. */
  readonly answers?: readonly string[];
};

async function grantedBy({ values = {}, answers }: Given) {
  const asked: string[] = [];
  const streams = {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
  };
  const ask = async (question: string) => {
    asked.push(question);
    return answers?.[asked.length - 1] ?? assert.fail(`not expected: ${question}`);
  };
  const run = {
    ...createIo(streams, new AbortController().signal, createManualClock()),
    values,
    isJson: values['json'] === true,
    needs: createNeeds({ ask: answers && ask }),
  };
  const { isAllowed, writing } = await collectGrants(plan, run);
  const all = plan.items.flatMap(item =>
    item.action === 'add' ? item.loosenings.map(one => ({ server: item.name, one })) : [],
  );
  const allowed = all
    .filter(({ server, one }) => isAllowed(server, one))
    .map(({ server, one }) => `${server}/${one.name}`);
  return { allowed, asked, writing: [...writing] };
}

describe('a server of the user', () => {
  test('is asked about once, and Enter allows only what it needs', async () => {
    const { allowed, asked } = await grantedBy({ answers: ['', '', '', ''] });
    assert.deepEqual(allowed, ['a/network:bridge', 'a/mount:ro', 'd/build:/p']);
    assert.deepEqual(asked, [
      'Allow it? [Y]es, [w]rite to its folders too, [s]ingly, [n]o: ',
      'Allow it? [y]es, [s]ingly, [N]o: ',
      'Allow network:bridge for p? [y/N] ',
      'Allow it? [Y]es, [n]o: ',
    ]);
  });

  test.for([
    [['n', 'y', 'y', 'n'], ['b/mount:rw', 'b/user:0:0', 'p/network:bridge'], []],
    [['w', 'n', 'n', 'n'], ['a/network:bridge', 'a/mount:ro'], ['a']],
    [['s', 'n', 'y', 's', 'y', 'n', '', 'n'], ['a/mount:ro', 'b/mount:rw'], []],
  ] as const)('answers %j allow %j', async ([answers, allowed, writing]) => {
    const found = await grantedBy({ answers });
    assert.deepEqual([found.allowed, found.writing], [allowed, writing]);
    assert.equal(found.asked.length, answers.length);
  });
});

test.for([
  [{ yes: true }, []],
  [{ yes: true, allow: ['needed'] }, ['a/network:bridge', 'a/mount:ro', 'd/build:/p']],
  [{ yes: true, allow: ['b/mount:rw'] }, ['b/mount:rw']],
  [{ yes: true, allow: ['network:bridge'] }, ['a/network:bridge', 'p/network:bridge']],
  [{ yes: true, write: ['b'] }, ['b/mount:rw']],
  [{ yes: true, write: ['all'] }, ['a/mount:ro', 'b/mount:rw']],
  [{ yes: true, mount: ['a=/x'] }, ['a/mount:ro']],
  [{ 'dry-run': true }, []],
  [{ json: true }, []],
] as const)('without questions, %j allows %j', async ([values, allowed]) => {
  assert.deepEqual((await grantedBy({ values, answers: [] })).allowed, allowed);
});

test.for([
  [{ allow: ['z'] }, /no server of this import asks for "z"\. They ask for a\/network:bridge, a\//],
  [{ allow: ['c/mount:ro'] }, /asks for "c\/mount:ro"/],
  [{ write: ['z'] }, /"z" is not a server of this import: a, b, p, c, d/],
  [{ mount: ['z=/x'] }, /"z" is not a server/],
] as const)('%j is refused', async ([values, message]) => {
  await assert.rejects(grantedBy({ values, answers: [] }), { code: 'HUB_USAGE', message });
});

test('mounts are granted to the servers that the command line names', () => {
  const { mayWrite, mountsOf } = mountGrants({ write: ['a'], mount: ['b=/x:rw', 'b=/y'] });
  assert.deepEqual(['a', 'b'].map(mayWrite), [true, false]);
  assert.deepEqual(['a', 'b'].map(mountsOf), [[], ['/x:rw', '/y']]);
  assert.throws(() => mountGrants({ mount: ['/x'] }), {
    code: 'HUB_USAGE',
    message: /--mount: "\/x" is not allowed: write SERVER=FOLDER/,
  });
});
